"""Which files changed in the same commits as a file, by the history that its chunks hold."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from codequarry.search_api.graph.definitions import FilePlace
from codequarry.search_api.search.relations.places import place_of
from codequarry.search_api.search.relations.request_parts import GLOBS_PER_REQUEST, in_parts
from codequarry.shared.filters import literal_glob, path_matches
from codequarry.shared.model import Chunk, FileHistory, Filters, PathGlobs, Snapshot
from codequarry.shared.store.port import RowReader

# Two hundred chunks a file; of larger files, those that come first by path are enough to show that they exist.
_MAX_CHUNKS = 20_000
_NO_HISTORY = FileHistory(commits=0)


@dataclass(frozen=True, slots=True)
class CoChange:
    """A file and another of the same repository, and the number of commits that changed both.

    ``share`` is that of the commits of ``source`` which changed ``to`` as well.
    """

    source: FilePlace
    to: FilePlace
    commits: int
    share: float


class CoChanges:
    """The files of a snapshot that changed together; both files of a pair are visible in it."""

    def __init__(self, store: RowReader, snapshot: Snapshot) -> None:
        self._store = store
        self._snapshot = snapshot

    def from_files(self, places: Collection[FilePlace]) -> list[CoChange]:
        """Return the pairs of which a file is the source, the most frequent first."""
        pairs = list(self._pairs(places))
        exists = self._histories({other for _, other, _, _ in pairs}, Filters())
        return [
            CoChange(place, other, commits, _share(commits, history))
            for place, other, commits, history in pairs
            if other in exists
        ]

    def to_files(self, places: Collection[FilePlace], filters: Filters) -> list[CoChange]:
        """Return the pairs that lead to a file from the others that pass the filters, the most frequent first."""
        pairs = list(self._pairs(places))
        sources = self._histories({other for _, other, _, _ in pairs}, filters)
        return [
            CoChange(other, place, commits, _share(commits, sources[other]))
            for place, other, commits, _ in pairs
            if other in sources
        ]

    def _pairs(self, places: Collection[FilePlace]) -> Iterator[tuple[FilePlace, FilePlace, int, FileHistory]]:
        """Yield each file with another that changed along with it, how often, and the history of the first."""
        known = self._histories(places, Filters())
        for place in places:
            history = known.get(place, _NO_HISTORY)
            for other in history.changes_with:
                # Not even its language is known until its chunks are read.
                yield place, FilePlace(place.repo, other.path, "", None), other.commits, history

    def _histories(self, places: Collection[FilePlace], filters: Filters) -> dict[FilePlace, FileHistory]:
        """Return the histories of those files that exist in the snapshot and pass the filters."""
        wanted = {place for place in places if path_matches(filters.paths, place.path)}
        found: dict[FilePlace, FileHistory] = {}
        for chunk in self._chunks(wanted, filters):
            place = place_of(chunk)
            if place in wanted:
                found.setdefault(place, chunk.file_history or _NO_HISTORY)
        return found

    def _chunks(self, places: Iterable[FilePlace], filters: Filters) -> Iterator[Chunk]:
        by_repo: dict[str, list[str]] = {}
        for place in sorted(places, key=lambda place: (place.repo, place.path)):
            by_repo.setdefault(place.repo, []).append(place.path)
        for repo, paths in by_repo.items():
            terms = (*filters.terms, ("repo", (repo,)))
            for part in in_parts(paths, GLOBS_PER_REQUEST):
                globs = PathGlobs(_anchored(part))
                yield from self._store.find(self._snapshot, Filters(terms, filters.excluded, globs), _MAX_CHUNKS)


def _anchored(paths: Sequence[str]) -> tuple[str, ...]:
    """Return globs that match only these paths, not the same names in folders."""
    return tuple(f"/{literal_glob(path)}" for path in paths)


def _share(commits: int, history: FileHistory) -> float:
    # The number of a file's commits is a lower bound if its history is partial.
    return min(1.0, commits / history.commits) if history.commits else 0.0
