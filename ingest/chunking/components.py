"""Cuts components of Vue and Svelte: script and style by their own languages, the markup around them by indentation."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from codequarry.ingest.chunking.code import code_pieces
from codequarry.ingest.chunking.grammar import SPECS
from codequarry.ingest.chunking.grammars.ecmascript import TSX
from codequarry.ingest.chunking.language_spec import LanguageSpec
from codequarry.ingest.chunking.pieces import Piece, Sizes
from codequarry.ingest.chunking.text import SourceText
from codequarry.shared.relations import shifted

COMPONENT_LANGUAGES = frozenset({"vue", "svelte"})
"""Languages whose files hold markup, a script and a style sheet."""

MarkupCutter = Callable[[SourceText, Sizes], list[Piece]]
"""Cuts markup without a grammar."""

_SECTION = re.compile(
    r"<!--.*?(?:-->|\Z)|^[ \t]*<(?P<tag>script|style)\b(?P<attributes>(?:[^>\"']|\"[^\"]*\"|'[^']*')*)>(?P<body>.*?)"
    r"</(?P=tag)\s*>[ \t]*\r?$",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_LANG = re.compile(r"""\blang\s*=\s*["']?([\w-]+)""")
_TEMPLATE = re.compile(r"^\s*<template\b", re.MULTILINE)
_USED = re.compile(r"<([A-Z]\w*|[a-z]+(?:-[a-z0-9]+)+)[\s/>]")
_SCRIPTS = {"ts": "typescript", "typescript": "typescript"}
_STYLES = {"scss": "scss"}
# Style sheets in other languages are cut like markup.
_UNREAD_STYLES = {"sass", "less", "stylus", "styl", "postcss"}
_MAX_USED = 100


@dataclass(frozen=True, slots=True)
class _Section:
    """Rows ``start`` to ``end`` (exclusive), with the rules of their language, or None for markup."""

    start: int
    end: int
    spec: LanguageSpec | None


def component_pieces(path: str, text: SourceText, sizes: Sizes, cut_markup: MarkupCutter) -> list[Piece]:
    """Cut a component into pieces that cover every row, with the symbols of its script and style sheet."""
    return [piece for section in _sections(text) for piece in _section_pieces(section, path, text, sizes, cut_markup)]


def _sections(text: SourceText) -> Iterator[_Section]:
    """Yield the sections of a component; sections that share a row belong to the first of them."""
    source = text.data.decode("utf-8", "surrogatepass")
    found: list[_Section] = []
    for match in _SECTION.finditer(source):
        spec = _spec(match) if match["tag"] else None
        start, end = source.count("\n", 0, match.start()), source.count("\n", 0, match.end()) + 1
        end = next((row for row in range(end, text.rows) if not text.is_blank(row)), text.rows)
        if spec is not None and start >= (found[-1].end if found else 0):
            found.append(_Section(start, min(end, text.rows), spec))
    ends = [_Section(0, 0, None), *found, _Section(text.rows, text.rows, None)]
    for before, section in pairwise(ends):
        if before.end < section.start:
            yield _Section(before.end, section.start, None)
        if section.end > section.start:
            yield section


def _spec(match: re.Match[str]) -> LanguageSpec | None:
    given = _LANG.search(match["attributes"] or "")
    lang = given[1].lower() if given else ""
    if match["tag"].lower() == "style":
        return None if lang in _UNREAD_STYLES else SPECS[_STYLES.get(lang, "css")]
    return TSX if lang == "tsx" else SPECS[_SCRIPTS.get(lang, "javascript")]


def _section_pieces(
    section: _Section, path: str, text: SourceText, sizes: Sizes, cut_markup: MarkupCutter
) -> list[Piece]:
    part = SourceText.of(text.between(section.start, section.end))
    pieces = None
    spec = section.spec
    if spec is not None:
        inner = spec.prepare
        own = replace(spec, prepare=lambda data: inner(_without_tags(data)))
        pieces = code_pieces(own, path, part, sizes)
    if pieces is None:
        pieces = [_markup(piece, part) for piece in cut_markup(part, sizes)]
    offset = text.byte_starts[section.start]
    return [
        replace(
            piece,
            start=piece.start + section.start,
            end=piece.end + section.start,
            body_byte=None if piece.body_byte is None else piece.body_byte + offset,
            relations=shifted(piece.relations, section.start),
        )
        for piece in pieces
    ]


def _markup(piece: Piece, part: SourceText) -> Piece:
    """Return a piece of markup with the components that it uses."""
    body = part.between(piece.start, piece.end)
    used = tuple(dict.fromkeys(_USED.findall(body)))[:_MAX_USED]
    kind = "template" if used or _TEMPLATE.search(body) or "<" in body else None
    return replace(piece, type="block", kind=kind, references=used)


def _without_tags(data: bytes) -> bytes:
    """Blank out the tags around a script or style sheet, without changing offsets."""
    opening = re.match(rb"\s*<\w+(?:[^>\"']|\"[^\"]*\"|'[^']*')*>", data)
    closing = re.search(rb"</\w+\s*>\s*\Z", data)
    begin = opening.end() if opening else 0
    end = closing.start() if closing else len(data)
    return _blank(data[:begin]) + data[begin:end] + _blank(data[end:])


def _blank(data: bytes) -> bytes:
    return re.sub(rb"[^\r\n]", b" ", data)
