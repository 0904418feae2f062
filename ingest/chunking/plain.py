"""Cuts any text into pieces near the target size, at blank rows and little indented ones."""

from dataclasses import replace

from codequarry.ingest.chunking.languages import CONFIG_LANGUAGES, PROSE_LANGUAGES
from codequarry.ingest.chunking.pieces import Piece, Sizes, cut_rows
from codequarry.ingest.chunking.text import SourceText
from codequarry.shared.model import SymbolType

# A part begins with a blank row only if no other border is within reach.
_BLANK = 1_000
# A closing row belongs to the rows before it.
_CLOSING = 40
_CLOSERS = ("}", "]", ")", "</", "end", "fi", "done", "esac", "else", "elif")
_MAX_INDENT = 40
_TAB_WIDTH = 4


def plain_pieces(language: str, text: SourceText, sizes: Sizes) -> list[Piece]:
    """Cut any text into pieces near the target size."""
    symbol = _symbol_type(language)
    if text.tokens(0, text.rows) <= sizes.target:
        return [Piece(0, text.rows, "file" if symbol == "block" else symbol)]
    costs = [row_cost(text, row) for row in range(text.rows)]
    cuts = cut_rows(text, 0, text.rows, near_target(sizes), costs.__getitem__, overlap=False)
    return [Piece(start, end, symbol) for start, end in cuts]


def parts_of(piece: Piece, text: SourceText, sizes: Sizes) -> list[Piece]:
    """Return a piece as it is, or in numbered parts if it is too large."""
    cuts = cut_rows(text, piece.start, piece.end, sizes, lambda row: row_cost(text, row), overlap=False)
    if len(cuts) == 1:
        return [piece]
    return [
        replace(piece, start=start, end=end, part=f"{index}/{len(cuts)}") for index, (start, end) in enumerate(cuts, 1)
    ]


def near_target(sizes: Sizes) -> Sizes:
    """Return sizes for parts of a text without symbols: near the target rather than up to the maximum, no overlap."""
    return Sizes(sizes.target, max(sizes.target, (sizes.target + sizes.maximum) // 2), 0)


def row_cost(text: SourceText, row: int) -> int:
    """Return the cost of beginning a part at a row, by its indentation and the row above it."""
    # Only the start of a row counts: expanding the tabs of a row as long as a file takes long.
    line = text.lines[row][: _MAX_INDENT + 1].expandtabs(_TAB_WIDTH)
    stripped = line.strip()
    if not stripped and text.is_blank(row):
        return _BLANK
    indent = min(len(line) - len(line.lstrip()), _MAX_INDENT)
    after_blank = row == 0 or text.is_blank(row - 1)
    return 2 * indent + (not after_blank) + _CLOSING * stripped.startswith(_CLOSERS)


def _symbol_type(language: str) -> SymbolType:
    if language in CONFIG_LANGUAGES:
        return "config"
    return "documentation" if language in PROSE_LANGUAGES else "block"
