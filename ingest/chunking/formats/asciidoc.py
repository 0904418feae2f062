"""Cuts AsciiDoc into pieces by heading, keeping delimited blocks whole."""

import re

from codequarry.ingest.chunking.pieces import Piece, Sizes
from codequarry.ingest.chunking.sections import (
    BLANK_ROW,
    LIST_ITEM,
    LITERAL_ROW,
    MAX_TITLE_CHARACTERS,
    PARAGRAPH_ROW,
    Heading,
    Label,
    SectionedText,
    last_parts,
    section_pieces,
)
from codequarry.ingest.chunking.text import SourceText

_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
_UNDERLINE_LEVELS = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}
_SHORTEST_UNDERLINE = 3
# The old style of a heading allows a difference of two characters.
_DIFFERENCE = 2
# Listing, literal, passthrough and comment blocks, whose rows are no markup, then other blocks and tables.
_VERBATIM = re.compile(r"(?:-{4,}|\.{4,}|\+{4,}|/{4,}|`{3,}\w*)$")
_BLOCK = re.compile(r"(?:={4,}|\*{4,}|_{4,}|--|[|,:!]={3,})$")
_ITEM = re.compile(r"(?:[-*.]{1,5}|\d{1,4}\.|<\d{1,3}>)[ \t]|\S[^\n]{0,80}::(?:[ \t]|$)")
_ANCHOR = re.compile(r"\[\[([\w:.-]+)[\],]|\[#([\w:-]+)[\],.%]|\[(?:[\w ]{1,30},)?id=\"?([\w:.-]+)\"?[\],]")
_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?:[ \t]|$)")
_CODE = re.compile(r"[`+]{1,2}([A-Za-z_][\w.:]*)(?:\(\))?[`+]{1,2}")
_MARKUP = re.compile(r"[`*]|\[\[[^\]]*\]\]|\{[\w-]+\}|(?:link|xref):[^\s\[]*\[([^\]]*)\]|<<[^,>]*,?([^>]*)>>")


def asciidoc_pieces(text: SourceText, sizes: Sizes) -> list[Piece]:
    """Cut an AsciiDoc file at its headings."""
    rows = [line.rstrip() for line in text.lines]
    costs = _row_costs(rows)
    labels = _labels(rows, costs)
    headings = _with_attributes(_headings(rows, costs), rows)
    return section_pieces(SectionedText(headings, costs, _mentions, labels), text, sizes)


def _mentions(text: str) -> list[str]:
    return last_parts(_CODE.findall(text))


def _labels(rows: list[str], costs: list[int]) -> list[Label]:
    """Return anchors and the attributes that the document sets."""
    labels = []
    for index, row in enumerate(rows):
        if costs[index] == LITERAL_ROW:
            continue
        for found in _ANCHOR.finditer(row) if "[" in row else ():
            labels.append(Label(index, found[1] or found[2] or found[3]))
        if attribute := _ATTRIBUTE.match(row):
            labels.append(Label(index, attribute[1].strip("!")))
    return labels


def _headings(rows: list[str], costs: list[int]) -> list[Heading]:
    headings = []
    for index, row in enumerate(rows):
        if costs[index] == LITERAL_ROW:
            continue
        if found := _HEADING.match(row):
            headings.append(Heading(index, len(found[1]), _plain(found[2])))
        elif level := _underlined_level(rows, index):
            headings.append(Heading(index, level, _plain(row)))
    return headings


def _with_attributes(headings: list[Heading], rows: list[str]) -> list[Heading]:
    """Begin a section with the rows of attributes right above its heading."""
    moved = []
    last = -1
    for heading in headings:
        row = heading.row
        while row - 1 > last and rows[row - 1].startswith("[") and rows[row - 1].endswith("]"):
            row -= 1
        moved.append(Heading(row, heading.level, heading.title))
        last = heading.row
    return moved


def _underlined_level(rows: list[str], index: int) -> int:
    """Return the level of a title with a row of characters below it, or 0."""
    row, below = rows[index], rows[index + 1] if index + 1 < len(rows) else ""
    if len(below) < _SHORTEST_UNDERLINE or below.strip(below[0]) or abs(len(below) - len(row)) > _DIFFERENCE:
        return 0
    blank_above = index == 0 or not rows[index - 1] or rows[index - 1].startswith("[")
    is_title = blank_above and row[:1].isalnum()
    return _UNDERLINE_LEVELS.get(below[0], 0) if is_title else 0


def _plain(title: str) -> str:
    return _MARKUP.sub(r"\1\2", title[:MAX_TITLE_CHARACTERS]).strip(" =#")


def _row_costs(rows: list[str]) -> list[int]:
    costs: list[int] = []
    verbatim = ""
    inside: list[str] = []
    for index, row in enumerate(rows):
        above = rows[index - 1] if index else ""
        if verbatim:
            costs.append(LITERAL_ROW)
            verbatim = "" if row == verbatim else verbatim
        elif not row:
            costs.append(BLANK_ROW)
        elif _VERBATIM.match(row) and not (index and _underlined_level(rows, index - 1)):
            verbatim = row if row[0] != "`" else "```"
            costs.append(_block_cost(inside, above))
        elif _BLOCK.match(row):
            costs.append(_block_cost(inside, above))
            _toggle(inside, row)
        else:
            costs.append(_row_cost(row, above) + PARAGRAPH_ROW * min(len(inside), 4))
    return costs


def _toggle(inside: list[str], delimiter: str) -> None:
    if inside and inside[-1] == delimiter:
        inside.pop()
    else:
        inside.append(delimiter)


def _block_cost(inside: list[str], above: str) -> int:
    return PARAGRAPH_ROW * bool(above) + PARAGRAPH_ROW * min(len(inside), 4)


def _row_cost(row: str, above: str) -> int:
    if row[0].isspace() or row in {"+", "]"} or row.startswith("|"):
        return LIST_ITEM * 2
    if above == "+":
        return LIST_ITEM * 2
    if _ITEM.match(row):
        return LIST_ITEM
    return PARAGRAPH_ROW if above and not above.startswith("[") else 0
