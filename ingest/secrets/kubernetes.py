"""Finds Kubernetes secrets: the values of ``data`` and ``stringData`` in documents of kind Secret."""

import base64
import re
from collections.abc import Iterator
from itertools import pairwise

from codequarry.ingest.secrets.values import is_password, is_placeholder, is_token

RULE = "kubernetes-secret"

_KIND = re.compile(rb"^[ \t]*kind:[ \t]*[\"']?Secret[\"']?[ \t]*\r?$", re.M)
_DOCUMENT_END = re.compile(rb"^---", re.M)
_DATA = re.compile(rb"^([ \t]*)(?:data|stringData):[ \t]*\r?$", re.M)
_KEY = rb"""[ \t]*(?:[\w.-]+|["'][^"'\r\n]+["']):[ \t]*"""
_LINE = re.compile(_KEY + rb"""([|>][+-]?)?[ \t]*["']?([^"'`\r\n]*)["'`]?,?[ \t]*$""")
SHORTEST = 4


def find_kubernetes_values(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield the rule, start and end of every secret value."""
    if b"Secret" not in data or not _KIND.search(data):
        return
    starts = [0, *(match.end() for match in _DOCUMENT_END.finditer(data)), len(data)]
    for start, end in pairwise(starts):
        if _KIND.search(data, start, end):
            for block in _DATA.finditer(data, start, end):
                yield from _values(data, block.end() + 1, end, len(block.group(1)))


def _values(data: bytes, start: int, end: int, depth: int) -> Iterator[tuple[str, int, int]]:
    """Yield the values of a block; the first line that is neither a key with a value nor block text ends it."""
    block = -1
    for line in data[start:end].splitlines(keepends=True):
        stripped = line.strip()
        indent = len(line) - len(line.lstrip(b" "))
        found = _LINE.match(line.rstrip(b"\r\n"))
        is_text = 0 <= block < indent
        if stripped and (indent <= depth or not (found or is_text)):
            return
        if stripped and is_text:
            first = line.find(stripped)
            span = (first, first + len(stripped))
        elif found:
            block = indent if found.group(1) else -1
            span = found.span(2)
        else:
            span = (0, 0)
        if _is_value(line[slice(*span)]):
            yield RULE, start + span[0], start + span[1]
        start += len(line)


def _is_value(value: bytes) -> bool:
    """Return whether a value, decoded from base64 if possible, is a secret."""
    text = value.decode("utf-8", "replace")
    if len(text) < SHORTEST or text.startswith("#") or is_placeholder(text):
        return False
    try:
        inside = base64.b64decode(text, validate=True)
    except ValueError:
        return is_password(text) or is_token(text)
    # Plain words are valid base64 too, but decode to bytes that are not text.
    return not is_placeholder(inside.decode()) if inside.isascii() else is_password(text) or is_token(text)
