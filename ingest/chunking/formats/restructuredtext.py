"""Cuts reStructuredText into pieces by heading."""

import re

from codequarry.ingest.chunking.pieces import Piece, Sizes
from codequarry.ingest.chunking.sections import (
    BLANK_ROW,
    LIST_ITEM,
    LITERAL_ROW,
    MAX_TITLE_CHARACTERS,
    PARAGRAPH_ROW,
    TABLE_ROW,
    Heading,
    Label,
    SectionedText,
    last_parts,
    section_pieces,
)
from codequarry.ingest.chunking.text import SourceText

_ADORNMENTS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
# A title is shorter than its adornment, except that writers forget a character or two; wide characters count double.
_FORGOTTEN = 2
# A shorter row of dots or dashes is more often part of the text.
_SHORTEST_ADORNMENT = 2

_ITEM = re.compile(r"(?:[-*+•]|\w{1,4}[.)]|\(\w{1,4}\)|#\.)[ \t]")
_TABLE = re.compile(r"(?:\+[-=+]|\||={2,}[ =])")
# Link targets, substitutions, citations.
_TARGET = re.compile(r"\.\. (?:_(?:`([^`]+)`|([^:`\\]+)):|\|([^|]+)\|[ \t]|\[([A-Za-z][\w.-]*)\])")
_OBJECT = re.compile(
    r"\.\. (?:\w+:)?(?:function|method|class|module|attribute|data|exception|option|envvar|setting|type|macro|member"
    r"|staticmethod|classmethod|property|decorator|confval|automodule|autoclass|autofunction|automethod)::[ \t]+"
    r"([^\s(]+)"
)
# ``name`` and :role:`name`, perhaps with a title before it. The bounds keep rows of colons from taking quadratic time.
_LITERAL = re.compile(
    r"``([A-Za-z_][\w.:]{0,200})(?:\(\))?``"
    r"|:[\w+-]{1,40}(?::[\w+-]{1,40}){0,2}:`(?:[^`<]{0,200}<)?[~!]?\.?([A-Za-z_][\w.:]{0,200})(?:\(\))?>?`"
)
_MARKUP = re.compile(r":[\w:+-]+:`([^`<]*?)(?:\s*<[^`]*>)?`|[`*]|_+(?=\s|$)")


def restructuredtext_pieces(text: SourceText, sizes: Sizes) -> list[Piece]:
    """Cut a reStructuredText file at its headings."""
    rows = [line.rstrip() for line in text.lines]
    return section_pieces(SectionedText(_headings(rows), _row_costs(rows), _mentions, _labels(rows)), text, sizes)


def _mentions(text: str) -> list[str]:
    return last_parts([literal or role for literal, role in _LITERAL.findall(text)])


def _labels(rows: list[str]) -> list[Label]:
    """Return the names of link targets, substitutions, citations and described objects."""
    labels = []
    for index, row in enumerate(rows):
        stripped = row.lstrip()
        if stripped.startswith(".. ") and (found := _TARGET.match(stripped) or _OBJECT.match(stripped)):
            labels.append(Label(index, next(filter(None, found.groups()))[:MAX_TITLE_CHARACTERS]))
    return labels


def _headings(rows: list[str]) -> list[Heading]:
    """Return the headings; their levels follow from the order in which their styles first appear."""
    levels: dict[str, int] = {}
    headings: list[Heading] = []
    index = 0
    while index < len(rows) - 1:
        overlined = _is_overlined(rows, index)
        if overlined or _is_underlined(rows, index):
            title, adornment = (rows[index + 1], rows[index][0] * 2) if overlined else (rows[index], rows[index + 1][0])
            level = levels.setdefault(adornment, len(levels) + 1)
            headings.append(Heading(index, level, _plain(title)))
            index += 3 if overlined else 2
        else:
            index += 1
    return headings


def _plain(title: str) -> str:
    return _MARKUP.sub(r"\1", title.strip()[:MAX_TITLE_CHARACTERS]).replace("\\", "").strip()


def _is_overlined(rows: list[str], index: int) -> bool:
    if index + 2 >= len(rows) or not _is_adornment(rows[index]):
        return False
    title, below = rows[index + 1], rows[index + 2]
    return below == rows[index] and bool(title.strip()) and _fits(title.strip(), below) and not _is_adornment(title)


def _is_underlined(rows: list[str], index: int) -> bool:
    title, below = rows[index], rows[index + 1]
    blank_above = index == 0 or not rows[index - 1] or rows[index - 1].startswith("..")
    # An indented title is a quoted or a literal row.
    is_title = bool(title) and not title[0].isspace() and not _is_adornment(title)
    return is_title and blank_above and _is_adornment(below) and _fits(title, below)


def _is_adornment(row: str) -> bool:
    return len(row) >= _SHORTEST_ADORNMENT and row[0] in _ADORNMENTS and not row.strip(row[0])


def _fits(title: str, adornment: str) -> bool:
    return len(title) <= len(adornment) + _FORGOTTEN


def _row_costs(rows: list[str]) -> list[int]:
    costs: list[int] = []
    for index, row in enumerate(rows):
        above = rows[index - 1] if index else ""
        costs.append(_row_cost(row, above) if row else BLANK_ROW)
    return costs


def _row_cost(row: str, above: str) -> int:
    """Return the cost of a row; an indented row belongs to a directive, a quote or an item above."""
    stripped = row.lstrip()
    if len(stripped) < len(row):
        return LITERAL_ROW + PARAGRAPH_ROW * bool(above)
    if _TABLE.match(row) and above:
        return TABLE_ROW
    if _ITEM.match(row):
        return LIST_ITEM
    return PARAGRAPH_ROW if above else 0
