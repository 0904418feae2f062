"""Finds a chunk's counterpart in another version (unchanged, changed, moved or gone) in the store, not the ranking."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from codequarry.search_api.ranking.declarations import MIN_LIKENESS, likeness
from codequarry.search_api.search.files import join_lines
from codequarry.search_api.versions.views import View
from codequarry.shared.model import Chunk, Filters
from codequarry.shared.store.port import RowReader

# A text or name that many chunks share is weak evidence of a move, so only the first chunks are considered.
MAX_COPIES = 50
# Maximum number of chunks in one lookup by names or hashes; a few hundred hits need far fewer.
MAX_LOOKED_UP = 1_000


@dataclass(slots=True)
class Side:
    """One version of one repository, with a cache of what was read from it."""

    store: RowReader
    view: View
    hidden: frozenset[int]
    _chunks: dict[str, list[Chunk]] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)

    def chunks(self, path: str) -> Sequence[Chunk]:
        """Return the chunks of a file, or none if it does not exist."""
        if path not in self._chunks:
            self._chunks[path] = self.store.chunks(self.view.snapshot(self.hidden), path, self.view.repo)
        return self._chunks[path]

    def text(self, path: str) -> str:
        """Return the text of a file, or an empty string if it does not exist."""
        if path not in self._texts:
            self._texts[path] = "".join(join_lines(self.chunks(path)))
        return self._texts[path]

    def holds(self, chunk: Chunk) -> bool:
        """Return whether the file at the chunk's path has its lines as one block, whatever the chunk boundaries."""
        return _as_lines(chunk.text) in _as_lines(self.text(chunk.path))

    def with_values(self, name: str, values: Iterable[str]) -> list[Chunk]:
        """Return up to ``MAX_LOOKED_UP`` chunks whose field ``name`` has one of ``values``."""
        wanted = tuple(sorted(set(values)))
        if not wanted:
            return []
        filters = Filters(terms=(("repo", (self.view.repo,)), (name, wanted)))
        return self.store.find(self.view.snapshot(self.hidden), filters, MAX_LOOKED_UP)


def _as_lines(text: str) -> str:
    """Return a text in a form in which a substring of the same form matches only whole lines."""
    lines = text.strip("\n")
    return f"\n{lines}\n" if lines else ""


def is_unchanged(chunk: Chunk, other: Side) -> bool:
    """Return whether the other version has the chunk's text at the same path, on any lines."""
    return other.holds(chunk)


def same_place(chunk: Chunk, other: Side) -> Chunk | None:
    """Return the counterpart at the same path in the other version: the same symbol, or the most similar text."""
    there = other.chunks(chunk.path)
    if chunk.qualified_name:
        return _named(chunk, there)
    if names := set(chunk.defines):
        shared = [(len(names & set(near.defines)), -near.ordinal, near) for near in there if names & set(near.defines)]
        return max(shared, key=lambda item: item[:2])[2] if shared else None
    alike = [
        (likeness(chunk.text, near.text), -near.ordinal, near)
        for near in there
        if near.symbol_type == chunk.symbol_type and not near.qualified_name
    ]
    best = max(alike, default=None, key=lambda item: item[:2])
    return best[2] if best and best[0] >= MIN_LIKENESS else None


def _named(chunk: Chunk, there: Iterable[Chunk]) -> Chunk | None:
    """Return the chunk of the same declaration, or the most similar part if it was split."""
    fitting = [other for other in there if _declares(other, chunk)]
    # A changed declaration is split at different lines, so its parts are matched by text, not by number.
    return max(fitting, key=lambda other: (likeness(chunk.text, other.text), -other.ordinal), default=None)


def _declares(other: Chunk, chunk: Chunk) -> bool:
    if other.qualified_name:
        return (other.qualified_name, other.symbol_type) == (chunk.qualified_name, chunk.symbol_type)
    # Small neighbours share a chunk, which then defines the symbol.
    return chunk.symbol_name is not None and chunk.symbol_name in other.defines


def moved_from(chunks: Sequence[Chunk], here: Side, there: Side) -> Mapping[str, Chunk]:
    """Return, by id, the counterpart of each chunk of ``here`` that moved to another path in ``there``.

    The counterpart has the same text or declaration, and ``here`` lacks it at that path. A name that both versions have
    at that path, such as ``main``, did not move.
    """
    texts = there.with_values("content_hash", (chunk.content_hash for chunk in chunks))
    names = there.with_values("qualified_name", (chunk.qualified_name for chunk in chunks if chunk.qualified_name))
    moved: dict[str, Chunk] = {}
    for chunk in chunks:
        same_text = [other for other in texts if other.content_hash == chunk.content_hash]
        same_name = [
            other
            for other in names
            if (other.qualified_name, other.symbol_type, other.language, other.symbol_part)
            == (chunk.qualified_name, chunk.symbol_type, chunk.language, chunk.symbol_part)
        ]
        copies = [other for other in (*same_text, *same_name)[:MAX_COPIES] if other.path != chunk.path]
        if absent := [other for other in copies if _is_absent(other, here)]:
            moved[chunk.id] = absent[0]
    return moved


def _is_absent(chunk: Chunk, version: Side) -> bool:
    """Return whether a version has neither the chunk's text nor its declaration at its path."""
    return not version.holds(chunk) and (not chunk.qualified_name or _named(chunk, version.chunks(chunk.path)) is None)
