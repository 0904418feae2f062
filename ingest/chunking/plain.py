"""Any text to pieces, by lines: blank lines and shallow indentation are the borders."""

from codequarry.ingest.chunking.packing import Sizes, cut_rows
from codequarry.ingest.chunking.pieces import Piece
from codequarry.ingest.chunking.text import SourceText
from codequarry.ingest.files.languages import CONFIG_LANGUAGES, PROSE_LANGUAGES
from codequarry.shared.model import SymbolType

# A part never begins with a blank row while another border is in reach.
_BLANK = 1_000
# A row that closes what others opened belongs to them.
_CLOSING = 40
_CLOSERS = ("}", "]", ")", "</", "end", "fi", "done", "esac", "else", "elif")
_MAX_INDENT = 40
_TAB_WIDTH = 4


def plain_pieces(language: str, text: SourceText, sizes: Sizes) -> list[Piece]:
    """Cut any text into pieces near the target size."""
    symbol = _symbol_type(language)
    if text.tokens(0, text.rows) <= sizes.target:
        return [Piece(0, text.rows, "file" if symbol == "block" else symbol)]
    costs = [_cost(text, row) for row in range(text.rows)]
    smaller = Sizes(sizes.target, max(sizes.target, (sizes.target + sizes.maximum) // 2), 0)
    cuts = cut_rows(text, 0, text.rows, smaller, costs.__getitem__, overlap=False)
    return [Piece(start, end, symbol) for start, end in cuts]


def _symbol_type(language: str) -> SymbolType:
    if language in CONFIG_LANGUAGES:
        return "config"
    return "documentation" if language in PROSE_LANGUAGES else "block"


def _cost(text: SourceText, row: int) -> int:
    """Say how bad it is to begin a piece at a row."""
    line = text.lines[row].expandtabs(_TAB_WIDTH)
    stripped = line.strip()
    if not stripped:
        return _BLANK
    indent = min(len(line) - len(line.lstrip()), _MAX_INDENT)
    after_blank = row == 0 or text.is_blank(row - 1)
    return 2 * indent + (not after_blank) + _CLOSING * stripped.startswith(_CLOSERS)
