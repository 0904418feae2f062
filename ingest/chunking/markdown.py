"""Cuts Markdown into pieces by heading, keeping code blocks, lists and tables whole."""

import re
from dataclasses import dataclass, replace

from codequarry.ingest.chunking.pieces import Piece, Sizes, cut_rows
from codequarry.ingest.chunking.text import SourceText

# A section with fewer tokens may share a chunk with its neighbour.
_SMALL_SECTION = 60
_MAX_REFERENCES = 100

# Costs of beginning a part at a row; the start of a paragraph costs nothing.
_PARAGRAPH_ROW = 50
_LIST_ITEM = 100
_LIST_ROW = 200
_TABLE_ROW = 400
_FENCED_ROW = 500
_BLANK_ROW = 1_000

_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-{2,})[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_PARAGRAPH = re.compile(r"^ {0,3}[^\s#>|`~*+-]")
_CODE_SPAN = re.compile(r"`([A-Za-z_][\w.:]*)(?:\(\))?`")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading with the rows down to the next heading; level 0 is the text before the first heading."""

    row: int
    level: int = 0
    title: str = ""
    path: tuple[str, ...] = ()


def markdown_pieces(text: SourceText, sizes: Sizes) -> list[Piece]:
    """Cut a Markdown file at its headings."""
    rows = [line.rstrip("\r\n") for line in text.lines]
    costs = _row_costs(rows)
    groups = _grouped(_sections(rows, costs), text, sizes)
    ends = [group.row for group in groups[1:]] + [text.rows]
    return [piece for group, end in zip(groups, ends, strict=True) for piece in _pieces(group, end, text, sizes, costs)]


def _pieces(section: _Section, end: int, text: SourceText, sizes: Sizes, costs: list[int]) -> list[Piece]:
    whole = Piece(
        section.row,
        end,
        "documentation",
        kind="section" if section.title else None,
        name=section.title or None,
        qualified=" > ".join((*section.path, section.title)) if section.title else None,
        context=" > ".join(section.path),
    )
    cuts = cut_rows(text, section.row, end, sizes, costs.__getitem__, overlap=True)
    parts = [
        replace(whole, start=start, end=until, part=f"{index}/{len(cuts)}" if len(cuts) > 1 else None)
        for index, (start, until) in enumerate(cuts, 1)
    ]
    return [replace(part, references=_mentions(text.between(part.start, part.end))) for part in parts]


def _mentions(text: str) -> tuple[str, ...]:
    """Return the names in code spans, without qualifiers."""
    names = (re.split(r"[.:]+", found)[-1] for found in _CODE_SPAN.findall(text))
    return tuple(dict.fromkeys(name for name in names if name))[:_MAX_REFERENCES]


def _sections(rows: list[str], costs: list[int]) -> list[_Section]:
    """Return the sections, split at headings outside code blocks, each with the titles above it."""
    sections: list[_Section] = []
    above: list[_Section] = []
    for index, row in enumerate(rows):
        found = _heading(rows, index, row) if costs[index] < _TABLE_ROW else None
        if found is None:
            continue
        level, title = found
        above = [section for section in above if section.level < level]
        sections.append(_Section(index, level, title, tuple(section.title for section in above)))
        above.append(sections[-1])
    if not sections or sections[0].row > 0:
        sections.insert(0, _Section(0))
    return sections


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


def _row_costs(rows: list[str]) -> list[int]:
    costs: list[int] = []
    fence = ""
    in_list = False
    for index, row in enumerate(rows):
        blank_above = index == 0 or not rows[index - 1].strip()
        if fence:
            costs.append(_FENCED_ROW)
            fence = "" if _closes(row, fence) else fence
            continue
        if not row.strip():
            costs.append(_BLANK_ROW)
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
        return _LIST_ITEM if first or _ITEM.match(row) else _LIST_ROW
    if row.lstrip().startswith("|") and above.lstrip().startswith("|"):
        return _TABLE_ROW
    return 0 if blank_above else _PARAGRAPH_ROW
