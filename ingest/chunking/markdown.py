"""Cuts Markdown into pieces by heading, keeping code blocks, lists and tables whole."""

import re

from codequarry.ingest.chunking.pieces import Piece, Sizes
from codequarry.ingest.chunking.sections import (
    BLANK_ROW,
    LIST_ITEM,
    LIST_ROW,
    LITERAL_ROW,
    PARAGRAPH_ROW,
    TABLE_ROW,
    Heading,
    SectionedText,
    last_parts,
    section_pieces,
)
from codequarry.ingest.chunking.text import SourceText

_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-{2,})[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_PARAGRAPH = re.compile(r"^ {0,3}[^\s#>|`~*+-]")
_CODE_SPAN = re.compile(r"`([A-Za-z_][\w.:]*)(?:\(\))?`")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


def markdown_pieces(text: SourceText, sizes: Sizes) -> list[Piece]:
    """Cut a Markdown file at its headings."""
    rows = [line.rstrip("\r\n") for line in text.lines]
    costs = _row_costs(rows)
    return section_pieces(SectionedText(_headings(rows, costs), costs, _mentions), text, sizes)


def _mentions(text: str) -> list[str]:
    """Return the names in code spans, without qualifiers."""
    return last_parts(_CODE_SPAN.findall(text))


def _headings(rows: list[str], costs: list[int]) -> list[Heading]:
    """Return the headings outside code blocks."""
    found = ((index, _heading(rows, index, row)) for index, row in enumerate(rows) if costs[index] < TABLE_ROW)
    return [Heading(index, *heading) for index, heading in found if heading]


def _heading(rows: list[str], index: int, row: str) -> tuple[int, str] | None:
    """Return the level and title of a heading, underlined or not, that begins at a row."""
    if found := _HEADING.match(row):
        return len(found[1]), _plain(found[2] or "")
    below = _UNDERLINE.match(rows[index + 1]) if index + 1 < len(rows) else None
    starts_block = index == 0 or not rows[index - 1].strip()
    if below and starts_block and _PARAGRAPH.match(row) and not _ITEM.match(row):
        return 1 if below[1].startswith("=") else 2, _plain(row)
    return None


def _plain(title: str) -> str:
    return re.sub(r"[`*]|</?\w+[^>]*>|\{#[^}]*\}", "", _LINK.sub(r"\1", title)).strip()


def _row_costs(rows: list[str]) -> list[int]:
    costs: list[int] = []
    fence = ""
    in_list = False
    for index, row in enumerate(rows):
        blank_above = index == 0 or not rows[index - 1].strip()
        if fence:
            costs.append(LITERAL_ROW)
            fence = "" if _closes(row, fence) else fence
            continue
        if not row.strip():
            costs.append(BLANK_ROW)
            continue
        opening = _FENCE.match(row)
        fence = opening[1] if opening else ""
        in_list = bool(_ITEM.match(row)) or (in_list and (row[:1] in " \t" or not blank_above))
        costs.append(_open_row_cost(row, rows[index - 1] if index else "", in_list=in_list, blank_above=blank_above))
    return costs


def _closes(row: str, fence: str) -> bool:
    stripped = row.strip()
    return len(stripped) >= len(fence) and not stripped.strip(fence[0])


def _open_row_cost(row: str, above: str, *, in_list: bool, blank_above: bool) -> int:
    if in_list:
        first = blank_above and not above.strip() and bool(_ITEM.match(row))
        return LIST_ITEM if first or _ITEM.match(row) else LIST_ROW
    if row.lstrip().startswith("|") and above.lstrip().startswith("|"):
        return TABLE_ROW
    return 0 if blank_above else PARAGRAPH_ROW
