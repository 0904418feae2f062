"""Looks in the store for moved and renamed code: where a removed or added piece may be in the other version."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product

from codequarry.search_api.search.counterparts import Side, is_absent, same_place
from codequarry.search_api.search.likeness import shared_lines
from codequarry.search_api.search.moves import CERTAIN, MIN_LIKENESS, Counterparts, Prints, alike_pieces, pair_up
from codequarry.shared.model import Chunk

# A text or name that many chunks share is weak evidence of a move, so only the first chunks are considered.
MAX_COPIES = 50
# A renamed file is recognised by so many of its chunks, the longest ones, and only so many files are looked at.
MOST_SAMPLES = 8
MOST_FILES = 50
# Pairs of removed and added files that are compared.
MOST_FILE_PAIRS = 300


def find_moves(removed: Sequence[Chunk], added: Sequence[Chunk], before: Side, after: Side) -> list[Counterparts]:
    """Return the counterparts of pieces that are gone from their place in ``after``, or new to it since ``before``.

    One of the two is among ``removed`` or ``added``; the other may be any chunk of its version.
    """
    prints = Prints()
    renamed = renamed_files(removed, added, before, after)
    names_before = {new: old for old, new in renamed.items()}
    ids = {chunk.id for chunk in removed}, {chunk.id for chunk in added}

    def is_real(pieces: Counterparts) -> bool:
        old, young = pieces.before, pieces.after
        is_gone = old.id in ids[0] or _is_absent(old, after) or _lacks_name(after, young, old)
        return is_gone and (young.id in ids[1] or _is_absent(young, before) or _lacks_name(before, old, young))

    named = [
        *(Counterparts(*pair) for pair in _by_name(removed, renamed, after)),
        *(Counterparts(*reversed(pair)) for pair in _by_name(added, names_before, before)),
    ]
    certain = pair_up(named, renamed, is_real, prints, CERTAIN)
    # Comparing code with code is slower, so it is left for what no text or name has found.
    known = {chunk.id for pieces in certain for chunk in (pieces.before, pieces.after)}
    gone, new = ([chunk for chunk in chunks if chunk.id not in known] for chunks in (removed, added))
    alike = [
        *named,
        *alike_pieces(gone, new, prints),
        *(Counterparts(*pair) for pair in _alike_in_file(gone, renamed, before, after, prints)),
        *(Counterparts(*reversed(pair)) for pair in _alike_in_file(new, names_before, after, before, prints)),
    ]
    left = (pieces for pieces in alike if known.isdisjoint((pieces.before.id, pieces.after.id)))
    found = certain + pair_up(left, renamed, is_real, prints)
    known = {chunk.id for pieces in found for chunk in (pieces.before, pieces.after)}
    gone, new = ([chunk for chunk in chunks if chunk.id not in known] for chunks in (removed, added))
    found += (Counterparts(chunk, other) for chunk, other in _in_renamed_file(gone, renamed, after))
    found += (Counterparts(other, chunk) for chunk, other in _in_renamed_file(new, names_before, before))
    return found


def _lacks_name(version: Side, piece: Chunk, holder: Chunk) -> bool:
    """Return whether ``holder`` declares the name of ``piece``, among others, and its file in ``version`` does not.

    Small neighbours share a chunk, which may be in both versions, with and without the piece.
    """
    name = piece.symbol_name
    if name is None or name not in holder.defines or not version.may_read(holder.path):
        return False
    others = (chunk for chunk in version.chunks(holder.path) if chunk.id != piece.id)
    return not any(name in (chunk.symbol_name, *chunk.defines) for chunk in others)


def _is_absent(chunk: Chunk, version: Side) -> bool:
    return version.may_read(chunk.path) and is_absent(chunk, version)


def _by_name(chunks: Sequence[Chunk], renamed: Mapping[str, str], there: Side) -> Iterator[tuple[Chunk, Chunk]]:
    """Yield chunks with those of the other version that have the same text or declare the same name elsewhere."""
    found = _Lookup(there, chunks)
    for chunk in chunks:
        others = (other for other in found.like(chunk) if other.path != chunk.path)
        yield from ((chunk, other) for other in islice(others, MAX_COPIES))
        if target := renamed.get(chunk.path):
            yield from ((chunk, other) for other in there.chunks(target) if _is_same(chunk, other))


def _is_same(chunk: Chunk, other: Chunk) -> bool:
    return chunk.qualified_name == other.qualified_name if chunk.qualified_name else chunk.text == other.text


class _Lookup:
    """Chunks of a version by text and by the names that they declare, looked up at once for many chunks."""

    def __init__(self, there: Side, chunks: Sequence[Chunk]) -> None:
        self._by_value: dict[tuple[str, str], list[Chunk]] = defaultdict(list)
        wanted = {field: {value for chunk in chunks for value in _values(chunk, field)} for field in _FIELDS}
        for field, values in wanted.items():
            for other in there.with_values(field, values):
                for value in values.intersection(_values(other, field)):
                    self._by_value[field, value].append(other)

    def like(self, chunk: Chunk) -> Iterator[Chunk]:
        """Yield the chunks with the same text, then those with the same full name, then with any of the same names."""
        for field in _FIELDS:
            for value in _values(chunk, field):
                yield from self._by_value.get((field, value), ())


_FIELDS = ("content_hash", "qualified_name", "defines")


def _values(chunk: Chunk, field: str) -> tuple[str, ...]:
    match field:
        case "content_hash":
            return (chunk.content_hash,)
        case "qualified_name":
            return (chunk.qualified_name,) if chunk.qualified_name else ()
        case _:
            return chunk.defines


def _in_renamed_file(chunks: Sequence[Chunk], renamed: Mapping[str, str], there: Side) -> Iterator[tuple[Chunk, Chunk]]:
    """Yield chunks of renamed files with their counterparts, found as in a file that kept its path."""
    for chunk in chunks:
        target = renamed.get(chunk.path)
        if target and (other := same_place(chunk, there, target)):
            yield chunk, other


def _alike_in_file(
    chunks: Sequence[Chunk], renamed: Mapping[str, str], here: Side, there: Side, prints: Prints
) -> Iterator[tuple[Chunk, Chunk]]:
    """Yield chunks with the likeliest new ones of the same file, which may have another path in the other version."""
    by_path: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        by_path[chunk.path].append(chunk)
    for path, pieces in by_path.items():
        for target in {path, renamed.get(path, path)}:
            others = [other for other in there.chunks(target) if not here.holds_at(path, other)]
            yield from ((pair.before, pair.after) for pair in alike_pieces(pieces, others, prints))


def renamed_files(removed: Sequence[Chunk], added: Sequence[Chunk], before: Side, after: Side) -> dict[str, str]:
    """Return old and new paths of renamed files: at least half of their text is the same, as in git."""
    gone, new = _missing(removed, after), _missing(added, before)
    pairs = {
        **dict.fromkeys((old, young) for old, young in _by_samples(gone, before, after) if not before.has(young)),
        **dict.fromkeys((old, young) for young, old in _by_samples(new, after, before) if not after.has(old)),
        **dict.fromkeys((old, young) for old, young in product(gone, new) if _suffix(old) == _suffix(young)),
    }
    alike = (
        (shared_lines(before.lines(old), after.lines(young)), old, young)
        for old, young in islice(pairs, MOST_FILE_PAIRS)
    )
    renamed: dict[str, str] = {}
    for strength, old, young in sorted(alike, key=lambda item: (-item[0], item[1], item[2])):
        if strength >= MIN_LIKENESS and old not in renamed and young not in renamed.values():
            renamed[old] = young
    return renamed


def _missing(chunks: Iterable[Chunk], there: Side) -> list[str]:
    """Return the paths of chunks that the other version does not have."""
    paths = dict.fromkeys(chunk.path for chunk in chunks)
    return list(islice((path for path in paths if not there.has(path)), MOST_FILES))


def _by_samples(paths: Sequence[str], here: Side, there: Side) -> Iterator[tuple[str, str]]:
    """Yield paths with those of the other version that have some of the same pieces, the likeliest first."""
    samples = {path: sorted(here.chunks(path), key=lambda chunk: -len(chunk.text))[:MOST_SAMPLES] for path in paths}
    found = _Lookup(there, [chunk for chunks in samples.values() for chunk in chunks])
    for path, chunks in samples.items():
        votes: dict[str, int] = defaultdict(int)
        for chunk in chunks:
            for target in {other.path for other in islice(found.like(chunk), MAX_COPIES)}:
                votes[target] += len(chunk.text)
        likeliest = sorted(votes, key=lambda target: (-votes[target], target))
        readable = (target for target in likeliest if here.may_read(target) and there.may_read(target))
        yield from ((path, target) for target in islice(readable, 3))


def _suffix(path: str) -> str:
    return path.rpartition(".")[2]
