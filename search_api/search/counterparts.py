"""What became of a chunk in another version: still there, changed, moved, or gone. Asked of the store, not of ranks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from codequarry.search_api.search.files import join_lines
from codequarry.search_api.versions.views import View
from codequarry.shared.model import Chunk, Filters
from codequarry.shared.store.port import RowReader

# Chunks that no name tells apart are the same piece of a file in two versions when so many of their lines are the same.
MIN_LIKENESS = 0.25
# Texts and names that many chunks share are no sign of a move; of these the first are looked at.
MAX_COPIES = 50
# Chunks that one lookup by names or hashes returns at most; those of some hundred hits are far fewer.
MAX_LOOKED_UP = 1_000


@dataclass(slots=True)
class Side:
    """One version of one repository, with what was looked up in it."""

    store: RowReader
    view: View
    hidden: frozenset[int]
    _chunks: dict[str, list[Chunk]] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)

    def chunks(self, path: str) -> Sequence[Chunk]:
        """Return the chunks of a file, none where it is not there."""
        if path not in self._chunks:
            self._chunks[path] = self.store.chunks(self.view.snapshot(self.hidden), path, self.view.repo)
        return self._chunks[path]

    def text(self, path: str) -> str:
        """Return the text of a file, empty where it is not there."""
        if path not in self._texts:
            self._texts[path] = "".join(join_lines(self.chunks(path)))
        return self._texts[path]

    def holds(self, chunk: Chunk) -> bool:
        """Tell whether the file has the chunk's lines, one after the other, however it was cut."""
        return _as_lines(chunk.text) in _as_lines(self.text(chunk.path))

    def with_values(self, name: str, values: Iterable[str]) -> list[Chunk]:
        """Return the chunks of this version whose field ``name`` has one of ``values``, the first of very many."""
        wanted = tuple(sorted(set(values)))
        if not wanted:
            return []
        filters = Filters(terms=(("repo", (self.view.repo,)), (name, wanted)))
        return self.store.find(self.view.snapshot(self.hidden), filters, MAX_LOOKED_UP)


def _as_lines(text: str) -> str:
    """Return a text in which only whole lines of another are found."""
    lines = text.strip("\n")
    return f"\n{lines}\n" if lines else ""


def is_unchanged(chunk: Chunk, other: Side) -> bool:
    """Tell whether the other version has the chunk's text at its path, on whatever lines and however cut."""
    return other.holds(chunk)


def same_place(chunk: Chunk, other: Side) -> Chunk | None:
    """Return what stands in the other version at the chunk's path for it: its symbol, or the text most like it."""
    there = other.chunks(chunk.path)
    if chunk.qualified_name:
        return _named(chunk, there)
    if names := set(chunk.defines):
        shared = [(len(names & set(one.defines)), -one.ordinal, one) for one in there if names & set(one.defines)]
        return max(shared, key=lambda item: item[:2])[2] if shared else None
    alike = [
        (_likeness(chunk.text, one.text), -one.ordinal, one)
        for one in there
        if one.symbol_type == chunk.symbol_type and not one.qualified_name
    ]
    best = max(alike, default=None, key=lambda item: item[:2])
    return best[2] if best and best[0] >= MIN_LIKENESS else None


def _named(chunk: Chunk, there: Iterable[Chunk]) -> Chunk | None:
    """Return the chunk of the same declaration, the part most like it where it was split."""
    fitting = [one for one in there if _declares(one, chunk)]
    # Parts of a split declaration are cut anew when it changes: the text, not the number, tells which is which.
    return max(fitting, key=lambda one: (_likeness(chunk.text, one.text), -one.ordinal), default=None)


def _declares(one: Chunk, chunk: Chunk) -> bool:
    if one.qualified_name:
        return (one.qualified_name, one.symbol_type) == (chunk.qualified_name, chunk.symbol_type)
    # Small neighbours are grouped: the group defines it then.
    return chunk.symbol_name is not None and chunk.symbol_name in one.defines


def _likeness(one: str, other: str) -> float:
    """Return how many of the lines of both texts are the same, 0 to 1: in time that grows with the texts alone."""
    lines, others = ({line.strip() for line in text.split("\n")} - {""} for text in (one, other))
    return len(lines & others) / max(1, len(lines | others))


def moved_from(chunks: Sequence[Chunk], here: Side, there: Side) -> Mapping[str, Chunk]:
    """Return for each chunk (by id) that moved what it is in the other version, at the path that it has there.

    It has the same text, or is the same declaration, at a path where this version has it no more: a name that still
    stands where it stood, as ``main`` does, did not move.
    """
    texts = there.with_values("content_hash", (chunk.content_hash for chunk in chunks))
    names = there.with_values("qualified_name", (chunk.qualified_name for chunk in chunks if chunk.qualified_name))
    moved: dict[str, Chunk] = {}
    for chunk in chunks:
        same_text = [one for one in texts if one.content_hash == chunk.content_hash]
        same_name = [
            one
            for one in names
            if (one.qualified_name, one.symbol_type, one.language, one.symbol_part)
            == (chunk.qualified_name, chunk.symbol_type, chunk.language, chunk.symbol_part)
        ]
        left = [one for one in (*same_text, *same_name)[:MAX_COPIES] if one.path != chunk.path and _left(one, here)]
        if left:
            moved[chunk.id] = left[0]
    return moved


def _left(chunk: Chunk, version: Side) -> bool:
    """Tell whether a version has neither the chunk's text nor its declaration at its path."""
    return not version.holds(chunk) and (not chunk.qualified_name or _named(chunk, version.chunks(chunk.path)) is None)
