"""Finds a chunk's counterpart at the same path of another version, in the store and not in the ranking."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from codequarry.search_api.answers.comparison import Change
from codequarry.search_api.ranking.declarations import MIN_LIKENESS, likeness
from codequarry.search_api.search.files import join_lines
from codequarry.search_api.search.moves import Counterparts, container_of
from codequarry.search_api.versions.views import View
from codequarry.shared.model import Chunk, Filters
from codequarry.shared.store.port import RowReader

# Maximum number of chunks in one lookup by names or hashes; a few hundred hits need far fewer.
MAX_LOOKED_UP = 1_000
# Maximum number of files read from one version. The hits are in 200 files at most; the rest is for candidates of moves.
MAX_READ = 500


@dataclass(slots=True)
class Side:
    """One version of one repository, with a cache of what was read from it."""

    store: RowReader
    view: View
    hidden: frozenset[int]
    _chunks: dict[str, list[Chunk]] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)
    _blocks: dict[str, str] = field(default_factory=dict)
    _lines: dict[str, Counter[str]] = field(default_factory=dict)

    def chunks(self, path: str) -> Sequence[Chunk]:
        """Return the chunks that hold a file's text, or none if it does not exist."""
        if path not in self._chunks:
            found = self.store.chunks(self.view.snapshot(self.hidden), path, self.view.repo)
            self._chunks[path] = [chunk for chunk in found if not chunk.is_summary]
        return self._chunks[path]

    def text(self, path: str) -> str:
        """Return the text of a file, or an empty string if it does not exist."""
        if path not in self._texts:
            self._texts[path] = "".join(join_lines(self.chunks(path)))
        return self._texts[path]

    def has(self, path: str) -> bool:
        """Return whether the version has text at a path."""
        return bool(self.chunks(path))

    def may_read(self, path: str) -> bool:
        """Return whether a file may be read: only so many are read for one comparison."""
        return path in self._chunks or len(self._chunks) < MAX_READ

    def lines(self, path: str) -> Counter[str]:
        """Return how often a file has each line, without indentation and empty lines."""
        if path not in self._lines:
            lines = Counter(line.strip() for line in self.text(path).split("\n"))
            del lines[""]
            self._lines[path] = lines
        return self._lines[path]

    def holds(self, chunk: Chunk) -> bool:
        """Return whether the file at the chunk's path has its lines as one block, whatever the chunk boundaries."""
        return self.holds_at(chunk.path, chunk)

    def holds_at(self, path: str, chunk: Chunk) -> bool:
        """Return whether a file has the chunk's lines as one block."""
        if path not in self._blocks:
            self._blocks[path] = _as_lines(self.text(path))
        return _as_lines(chunk.text) in self._blocks[path]

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


def same_place(chunk: Chunk, other: Side, path: str = "") -> Chunk | None:
    """Return the counterpart in the same file of the other version: the same symbol, or the most similar text.

    ``path`` is the file's path there, if it has another.
    """
    there = other.chunks(path or chunk.path)
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


def change_of(pieces: Counterparts, after: Side) -> Change:
    """Return what happened to a piece of code that has another path or name now, or none at all."""
    old, new = pieces.before, pieces.after
    if old.path != new.path:
        return "moved"
    if not (old.symbol_name and new.symbol_name) or old.qualified_name == new.qualified_name:
        return "changed"
    if old.symbol_name != new.symbol_name:
        is_part = old.symbol_name in new.defines or new.symbol_name in old.defines
        return "moved" if is_part else "renamed"
    # In the same file, a method moved to another class, or its class has another name now.
    container = container_of(old)
    return "moved" if not container or _declares_name(after.chunks(new.path), container) else "changed"


def _declares_name(chunks: Iterable[Chunk], name: str) -> bool:
    return any(name in (chunk.qualified_name, *chunk.defines) for chunk in chunks)


def is_absent(chunk: Chunk, version: Side) -> bool:
    """Return whether a version has neither the chunk's text nor its counterpart at its path."""
    return not version.holds(chunk) and same_place(chunk, version) is None
