"""Finds secrets in columns named like secrets, in CSV files, document tables and SQL inserts, in linear time."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from codequarry.ingest.secrets.engine import compiled
from codequarry.ingest.secrets.values import is_password, is_token

RULE = "column"
KEYWORDS = (b"pass", b"pwd", b"secret", b"token", b"key")
DELIMITED_SUFFIXES = (".csv", ".tsv", ".psv")

_NAME = re.compile(
    rb"^(?:[\w .-]*[_ .-])?(passw(?:or)?d|passphrase|pwd|pass|secret|token|(?:api|access|secret|private|auth)[_ -]?key)"
    rb"(?:[_ -](?:hash|plain|text|value|old|new|[0-9]))?$",
    re.I,
)
_PASSWORDS = ("pass", "pwd")
_DELIMITERS = (b"\t", b";", b"|", b",")
# The line below the header of a Markdown table.
_RULE_OF_TABLE = rb"^[ \t>#/*]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$"
_AROUND = b" \t\"'`*_"
_INSERT = rb"(?i)\b(?:insert|replace)\s+into\s+[\w.\"`\[\]]+\s*\(([^()]+)\)\s*values\s*"
_BLANK = b" \t\r\n"

Span = tuple[int, int]


def find_columns(data: bytes, lowered: bytes, path: str) -> Iterator[Span]:
    """Yield the byte spans of secrets in columns; ``lowered`` is the text in lower case."""
    if not any(keyword in lowered for keyword in KEYWORDS):
        return
    if PurePosixPath(path.lower()).suffix in DELIMITED_SUFFIXES:
        yield from _in_delimited(data)
    if b"|" in data and b"--" in data:
        yield from _in_tables(data)
    if b"insert" in lowered or b"replace" in lowered:
        yield from _in_inserts(data)


def _in_delimited(data: bytes) -> Iterator[Span]:
    lines = list(_lines(data))
    if not lines:
        return
    head = data[slice(*lines[0])]
    delimiter = max(_DELIMITERS, key=head.count)
    wanted = _secret_columns([head[slice(*cell)] for cell in _cells(head, delimiter)])
    if wanted:
        for line in lines[1:]:
            yield from _picked(data, line, delimiter, wanted)


def _in_tables(data: bytes) -> Iterator[Span]:
    head: bytes | None = None
    wanted: dict[int, str] = {}
    for line in _lines(data):
        text = data[slice(*line)]
        if b"|" not in text:
            head, wanted = None, {}
        elif head is not None and compiled(_RULE_OF_TABLE).match(text):
            wanted = _secret_columns([head[slice(*cell)] for cell in _cells(head, b"|")])
        elif wanted:
            yield from _picked(data, line, b"|", wanted)
        else:
            head = text


def _picked(data: bytes, line: Span, delimiter: bytes, wanted: dict[int, str]) -> Iterator[Span]:
    for at, (start, end) in enumerate(_cells(data[slice(*line)], delimiter)):
        if at in wanted and _is_secret(wanted[at], data[line[0] + start : line[0] + end]):
            yield line[0] + start, line[0] + end


def _secret_columns(names: list[bytes]) -> dict[int, str]:
    """Return the secret word in the name of each secret column, by column number."""
    found = {at: _NAME.match(name.strip(_AROUND)) for at, name in enumerate(names)}
    return {at: match.group(1).decode().lower() for at, match in found.items() if match}


def _is_secret(kind: str, value: bytes) -> bool:
    text = value.decode("utf-8", "replace")
    if kind.startswith(_PASSWORDS):
        return is_password(text) or is_token(text)
    return is_token(text)


def _lines(data: bytes) -> Iterator[Span]:
    start = 0
    for line in data.splitlines(keepends=True):
        yield start, start + len(line.rstrip(b"\r\n"))
        start += len(line)


def _cells(line: bytes, delimiter: bytes) -> Iterator[Span]:
    """Yield the stripped cells of a line; a delimiter within quotes does not count."""
    start, quoted = 0, False
    for at in range(len(line) + 1):
        character = line[at : at + 1]
        if character == b'"':
            quoted = not quoted
        elif at == len(line) or (character == delimiter and not quoted):
            yield _stripped(line, start, at)
            start = at + 1


def _stripped(text: bytes, start: int, end: int) -> Span:
    while start < end and text[start] in _AROUND:
        start += 1
    while end > start and text[end - 1] in _AROUND:
        end -= 1
    return start, end


def _in_inserts(data: bytes) -> Iterator[Span]:
    done = 0
    for match in compiled(_INSERT).finditer(data):
        columns = _secret_columns((match.group(1) or b"").split(b","))
        # Text that earlier rows covered is skipped, so the time stays linear in the text.
        if columns and match.start() >= done:
            values, done = _values(data, match.end())
            yield from ((start, end) for at, start, end in values if _is_wanted(columns, at, data[start:end]))


def _is_wanted(columns: dict[int, str], at: int, value: bytes) -> bool:
    return at in columns and _is_secret(columns[at], value)


def _values(data: bytes, position: int) -> tuple[list[tuple[int, int, int]], int]:
    """Return the column, start and end of each quoted value in the rows from ``position``, and where the rows end."""
    found = []
    depth, column = 0, 0
    while position < len(data):
        character = data[position : position + 1]
        if character == b"'":
            end = _end_of_string(data, position + 1)
            found.append((column, position + 1, end))
            position = end
        elif character == b"(":
            depth += 1
            column = 0 if depth == 1 else column
        elif character == b")":
            depth -= 1
        elif character == b"," and depth == 1:
            column += 1
        elif depth <= 0 and character not in b"," + _BLANK:
            break
        position += 1
    return found, position


def _end_of_string(data: bytes, position: int) -> int:
    """Return where an SQL string ends; a doubled or escaped quote is part of it."""
    while position < len(data):
        character = data[position : position + 1]
        if character == b"\\" or data[position : position + 2] == b"''":
            position += 2
            continue
        if character == b"'":
            return position
        position += 1
    return len(data)
