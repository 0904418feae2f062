"""Cuts documents into pieces by section, whatever their markup; small sections may share a chunk."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from codequarry.ingest.chunking.pieces import Piece, Sizes, cut_rows
from codequarry.ingest.chunking.text import SourceText

# A section with fewer tokens may share a chunk with its neighbour.
_SMALL_SECTION = 60
_MAX_REFERENCES = 100
MAX_TITLE_CHARACTERS = 200

# Costs of beginning a part at a row; the start of a paragraph costs nothing.
PARAGRAPH_ROW = 50
LIST_ITEM = 100
LIST_ROW = 200
TABLE_ROW = 400
LITERAL_ROW = 500
BLANK_ROW = 1_000

Mentions = Callable[[str], Sequence[str]]
"""Returns the names that a text mentions as code, in order."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A title and the row at which its section begins; a lower level is further out."""

    row: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Label:
    """A name that a document gives to a place in it, such as an anchor."""

    row: int
    name: str


@dataclass(frozen=True, slots=True)
class SectionedText:
    """What a markup says about a document: its headings and labels in order, and the cost of a part at each row."""

    headings: Sequence[Heading]
    costs: Sequence[int]
    mentions: Mentions
    labels: Sequence[Label] = ()


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading with the rows down to the next heading; level 0 is the text before the first heading."""

    row: int
    level: int = 0
    title: str = ""
    path: tuple[str, ...] = ()


def section_pieces(document: SectionedText, text: SourceText, sizes: Sizes) -> list[Piece]:
    """Cut a document at its headings, and long sections at paragraphs."""
    groups = _grouped(_sections(document.headings), text, sizes)
    ends = [group.row for group in groups[1:]] + [text.rows]
    names = _names_by_row(document)
    return [
        piece
        for group, end in zip(groups, ends, strict=True)
        for piece in _pieces(group, end, text, sizes, document, names)
    ]


def _names_by_row(document: SectionedText) -> dict[int, list[str]]:
    """Return titles and labels by their rows."""
    names: dict[int, list[str]] = {}
    for heading in document.headings:
        names.setdefault(heading.row, []).append(heading.title[:MAX_TITLE_CHARACTERS])
    for label in document.labels:
        names.setdefault(label.row, []).append(label.name)
    return names


def _pieces(
    section: _Section, end: int, text: SourceText, sizes: Sizes, document: SectionedText, names: dict[int, list[str]]
) -> list[Piece]:
    whole = Piece(
        section.row,
        end,
        "documentation",
        kind="section" if section.title else None,
        name=section.title or None,
        qualified=" > ".join((*section.path, section.title)) if section.title else None,
        context=" > ".join(section.path),
    )
    cuts = cut_rows(text, section.row, end, sizes, document.costs.__getitem__, overlap=True)
    parts = [
        replace(whole, start=start, end=until, part=f"{index}/{len(cuts)}" if len(cuts) > 1 else None)
        for index, (start, until) in enumerate(cuts, 1)
    ]
    return [_filled(part, text, document.mentions, names) for part in parts]


def _filled(part: Piece, text: SourceText, mentions: Mentions, names: dict[int, list[str]]) -> Piece:
    """Return a part with the names that its text mentions, and those of small sections and places inside it."""
    references = tuple(dict.fromkeys(mentions(text.between(part.start, part.end))))[:_MAX_REFERENCES]
    inside = (name for row in range(part.start, part.end) for name in names.get(row, ()))
    defined = dict.fromkeys(name for name in inside if name and name != part.name)
    return replace(part, references=references, defines=tuple(defined)[:_MAX_REFERENCES])


def _sections(headings: Sequence[Heading]) -> list[_Section]:
    """Return the sections, each with the titles above it."""
    sections: list[_Section] = []
    above: list[_Section] = []
    for heading in headings:
        while above and above[-1].level >= heading.level:
            above.pop()
        title = heading.title[:MAX_TITLE_CHARACTERS]
        sections.append(_Section(heading.row, heading.level, title, tuple(section.title for section in above)))
        above.append(sections[-1])
    if not sections or sections[0].row > 0:
        sections.insert(0, _Section(0))
    return sections


def _grouped(sections: list[_Section], text: SourceText, sizes: Sizes) -> list[_Section]:
    """Join small sections with neighbours that follow at the same level or deeper."""
    ends = [section.row for section in sections[1:]] + [text.rows]
    kept: list[_Section] = []
    for section, end in zip(sections, ends, strict=True):
        if kept:
            last = kept[-1]
            small = min(text.tokens(last.row, section.row), text.tokens(section.row, end)) < _SMALL_SECTION
            if small and section.level >= last.level and text.tokens(last.row, end) <= sizes.target:
                kept[-1] = last if last.title else replace(section, row=last.row)
                continue
        kept.append(section)
    return kept


def last_parts(names: Sequence[str]) -> list[str]:
    """Return names without qualifiers: ``read`` for ``Reader.read`` and ``io::read``."""
    parts = (re.split(r"[.:]+", name.rstrip(".:"))[-1] for name in names)
    return [part for part in parts if part]
