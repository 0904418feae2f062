"""Cuts rows into pieces of the right size."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codequarry.ingest.chunking.text import SourceText

if TYPE_CHECKING:  # the processes that read files load no settings
    from codequarry.shared.settings.config import ChunkingSettings

from codequarry.shared.model import SymbolType

# A part is not made shorter than this share of the target to end at a better border.
_SMALLEST_PART = 0.4
# Borders whose costs differ by no more than this are on the same level.
_SAME_LEVEL = 3

Cut = tuple[int, int]
"""First row and end row (exclusive)."""

BorderCost = Callable[[int], int]
"""Returns the cost of beginning a part at a row; 0 is best."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The size settings made consistent: the overlap is at most half of the target, the target at most the maximum."""

    target: int
    maximum: int
    overlap: int

    @classmethod
    def of(cls, settings: "ChunkingSettings") -> "Sizes":
        """Return the configured sizes."""
        target = min(settings.target_tokens, settings.max_tokens)
        return cls(target, settings.max_tokens, min(settings.overlap_tokens, target // 2))


def cut_rows(text: SourceText, start: int, end: int, sizes: Sizes, cost: BorderCost, *, overlap: bool) -> list[Cut]:
    """Cut rows into parts of at most the maximum, at the cheapest borders near the target; a longer row stays whole.

    With ``overlap``, every part but the first begins up to ``sizes.overlap`` tokens earlier, at a border about as good.
    """
    cuts: list[Cut] = []
    at = start
    while at < end:
        begin = _overlap_start(text, cuts[-1][0], at, sizes, cost) if overlap and cuts else at
        until = _part_end(text, begin, at, end, sizes, cost)
        if text.tokens(begin, until) > sizes.maximum:
            begin = at
        cuts.append((begin, until))
        at = until
    return cuts


def _part_end(text: SourceText, begin: int, at: int, end: int, sizes: Sizes, cost: BorderCost) -> int:
    """Return the end row of the part that begins at ``begin``, with overlap before ``at``."""
    if text.tokens(begin, end) <= sizes.maximum:
        return end
    furthest = at + 1
    while furthest < end and text.tokens(begin, furthest + 1) <= sizes.maximum:
        furthest += 1
    least = _SMALLEST_PART * sizes.target
    candidates = [row for row in range(at + 1, furthest + 1) if text.tokens(begin, row) >= least] or [furthest]
    return min(candidates, key=lambda row: (cost(row) if row < end else 0, abs(text.tokens(begin, row) - sizes.target)))


def _overlap_start(text: SourceText, lowest: int, at: int, sizes: Sizes, cost: BorderCost) -> int:
    """Return the earliest good border within the overlap before ``at``, or ``at`` itself."""
    own = cost(at)
    begin = at
    for row in range(at - 1, lowest, -1):
        if text.tokens(row, at) > sizes.overlap:
            break
        if cost(row) <= own + _SAME_LEVEL and not text.is_blank(row):
            begin = row
    return begin


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows ``start`` to ``end`` (exclusive), and the fields of their chunk.

    ``text`` and ``language`` are set if they differ from the file's: in a notebook, for example.
    """

    start: int
    end: int
    type: SymbolType
    kind: str | None = None
    name: str | None = None
    qualified: str | None = None
    signature: str | None = None
    exported: bool | None = None
    body_byte: int | None = None
    part: str | None = None
    context: str = ""
    doc: str = ""
    package: str | None = None
    defines: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    complexity: float | None = None
    symbols: tuple[str, ...] = ()
    relations: str = ""
    text: str | None = None
    language: str | None = None
