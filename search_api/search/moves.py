"""Decides which removed piece of code is which added one: moved, renamed, or only edited. Pure.

The caller finds candidates in the index; here every pair of pieces gets a strength, and the strongest pairs are made
first, so that each piece has one counterpart.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from codequarry.search_api.search.likeness import Fingerprint, containment, fingerprint_of, likeness
from codequarry.shared.model import Chunk

# As git's default for renamed files: pieces at different places with less in common are not the same piece.
MIN_LIKENESS = 0.5
# A declaration with the same full name, in a class or in a file that moved, may have been edited more than that.
MIN_LIKENESS_OF_SAME = 0.3
# Without the same name, the code itself must say more.
MIN_LIKENESS_RENAMED = 0.6
# Shared words, other than those of any code, that a renamed piece needs; a shorter one could be any getter or stub.
MIN_WORDS_RENAMED = 3
# The strength of a pair that no comparison with other code could outdo: equal code, or the same name and similar code.
CERTAIN = 1.25
# A piece that lies in a larger one, because small neighbours share a chunk.
MIN_CONTAINMENT = 0.8
# Only the likeliest candidates of a piece among all pieces of the other side are compared with it in full.
MOST_COMPARED = 5
# A token pair that so many pieces have says little about any of them.
MOST_OWNERS = 20


@dataclass(frozen=True, slots=True)
class Counterparts:
    """A piece of code in both versions."""

    before: Chunk
    after: Chunk


@dataclass(slots=True)
class Prints:
    """The fingerprints of chunks, made once each."""

    _known: dict[str, Fingerprint] = field(default_factory=dict)

    def of(self, chunk: Chunk) -> Fingerprint:
        """Return the fingerprint of a chunk."""
        if chunk.id not in self._known:
            self._known[chunk.id] = fingerprint_of(chunk)
        return self._known[chunk.id]


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two pieces and how strongly they belong together; each side that may hold further pieces can be shared."""

    strength: float
    pieces: Counterparts
    shares_before: bool = False
    shares_after: bool = False

    @property
    def order(self) -> tuple[float, str, int, str, int]:
        before, after = self.pieces.before, self.pieces.after
        return -self.strength, before.path, before.ordinal, after.path, after.ordinal


def pair_up(
    candidates: Iterable[Counterparts],
    renamed_files: Mapping[str, str],
    is_real: Callable[[Counterparts], bool],
    prints: Prints,
    least: float = 0.0,
) -> list[Counterparts]:
    """Return the counterparts among ``candidates``, strongest first; each piece has one, unless it is part of a larger.

    ``renamed_files`` maps old to new paths. ``is_real`` tells whether the older piece is gone and the newer one is new.
    Pairs that are weaker than ``least`` are left out.
    """
    unique = {(pieces.before.id, pieces.after.id): pieces for pieces in candidates}
    pairs = [
        pair for pieces in unique.values() if (pair := _pair(pieces, renamed_files, prints)) and pair.strength >= least
    ]
    made: list[Counterparts] = []
    taken: tuple[set[str], set[str]] = set(), set()
    for pair in sorted(pairs, key=lambda pair: pair.order):
        before, after = pair.pieces.before.id, pair.pieces.after.id
        is_free = before not in taken[0] and after not in taken[1]
        is_part = (before not in taken[0] or pair.shares_before) and (after not in taken[1] or pair.shares_after)
        is_known = before in taken[0] and after in taken[1]
        if (is_free or (is_part and not is_known)) and is_real(pair.pieces):
            made.append(pair.pieces)
            taken[0].add(before)
            taken[1].add(after)
    return made


def _pair(pieces: Counterparts, renamed_files: Mapping[str, str], prints: Prints) -> _Pair | None:
    """Return how strongly two pieces belong together, or None if they do not."""
    before, after = pieces.before, pieces.after
    same_file = before.path == after.path or renamed_files.get(before.path) == after.path
    one, other = prints.of(before), prints.of(after)
    alike, bonus = likeness(one, other), same_file / 4
    if before.text.strip() == after.text.strip():
        return _Pair(3 + bonus, pieces)
    if _share_a_name(before, after) and containment(one, other) >= MIN_CONTAINMENT:
        is_larger = len(one.tokens) > len(other.tokens)
        return _Pair(1.5 + alike + bonus, pieces, is_larger, not is_larger)
    if not _may_be_one(before, after):
        return None
    rank, least = _rank(before, after, same_file)
    if alike < least or (rank == 0 and not _is_telling(one, other, alike == 1 and same_file)):
        return None
    # The parts of a split declaration are cut differently in each version.
    return _Pair(rank + alike + bonus, pieces, bool(after.symbol_part), bool(before.symbol_part))


def _rank(before: Chunk, after: Chunk, same_file: bool) -> tuple[float, float]:
    """Return how much the names of two pieces tell, and how alike their code must be."""
    if before.qualified_name and before.qualified_name == after.qualified_name:
        return 1.0, MIN_LIKENESS_OF_SAME if same_file or container_of(before) else MIN_LIKENESS
    if before.symbol_name and before.symbol_name == after.symbol_name:
        return 0.5, MIN_LIKENESS
    if not (before.symbol_name or after.symbol_name):
        return 0.25, MIN_LIKENESS_OF_SAME if same_file else MIN_LIKENESS
    return 0.0, MIN_LIKENESS_RENAMED


def _is_telling(one: Fingerprint, other: Fingerprint, is_equal: bool) -> bool:
    """Return whether two pieces with different names share enough words to be one; a getter is like any other."""
    return len(one.words & other.words) >= (1 if is_equal else MIN_WORDS_RENAMED)


_CALLABLE = ("function", "method")


def _may_be_one(before: Chunk, after: Chunk) -> bool:
    """Return whether two pieces are of kinds that code keeps when it moves; a function may become a method."""
    kinds = (before.symbol_type, after.symbol_type)
    return (
        kinds[0] == kinds[1]
        or all(kind in _CALLABLE for kind in kinds)
        or not (before.qualified_name and after.qualified_name)
    )


def _share_a_name(before: Chunk, after: Chunk) -> bool:
    """Return whether one piece declares the other, or small neighbours of both are the same declarations."""
    own = [{chunk.symbol_name} if chunk.symbol_name else set(chunk.defines) for chunk in (before, after)]
    return bool((own[0] & own[1]) or own[0].intersection(after.defines) or own[1].intersection(before.defines))


def container_of(chunk: Chunk) -> str:
    """Return the full name of what encloses a declaration, or "" at the top level."""
    name, full = chunk.symbol_name or "", chunk.qualified_name or ""
    return full.removesuffix(name).rstrip(".:#/\\") if name else ""


def alike_pieces(removed: Sequence[Chunk], added: Sequence[Chunk], prints: Prints) -> Iterator[Counterparts]:
    """Yield, for each removed piece, the few added pieces that share the most rare token pairs with it."""
    owners: dict[tuple[str, str], list[int]] = defaultdict(list)
    for position, chunk in enumerate(added):
        for pair in prints.of(chunk).pairs:
            owners[pair].append(position)
    for chunk in removed:
        shared = Counter(
            position
            for pair in prints.of(chunk).pairs
            if len(owners.get(pair, ())) <= MOST_OWNERS
            for position in owners.get(pair, ())
        )
        for position, _ in shared.most_common(MOST_COMPARED):
            yield Counterparts(chunk, added[position])
