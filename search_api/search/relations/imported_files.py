"""Which files imports mean that name a file, such as includes of C and modules of Rust."""

from collections.abc import Collection, Iterator, Sequence

from codequarry.search_api.graph.candidates import CONFIDENCE, Resolved
from codequarry.search_api.graph.definitions import FilePlace, WrittenReference, whole_file
from codequarry.search_api.graph.modules import SUFFIX
from codequarry.search_api.search.relations.places import files_at, place_of
from codequarry.search_api.search.relations.request_parts import GLOBS_PER_REQUEST, in_parts
from codequarry.shared.filters import literal_glob
from codequarry.shared.model import Filters, PathGlobs, Snapshot
from codequarry.shared.relations import IMPORTED_FILE
from codequarry.shared.store.port import RowReader

ANY_FOLDER = "**/"
# Chunks of the files that any of these globs match; further files than these hold are not found.
_MAX_CHUNKS = 20_000
# Of more files with the same end of their paths, none is likely.
_MAX_ALIKE = 5


def names_file(written: WrittenReference) -> bool:
    """Return whether a reference is an import that names a file."""
    return written.reference.kind == "import" and written.reference.target.module.startswith(IMPORTED_FILE)


class ImportedFiles:
    """The files that some imports may mean, read in a few requests."""

    def __init__(self, store: RowReader, snapshot: Snapshot, imports: Sequence[WrittenReference]) -> None:
        self._store = store
        self._snapshot = snapshot
        paths = {path for written in imports for path in _paths(written)}
        repos = {written.place.repo for written in imports}
        self._at = files_at(store, snapshot, [path for path in paths if not path.startswith(ANY_FOLDER)])
        ends = {path.removeprefix(ANY_FOLDER) for path in paths if path.startswith(ANY_FOLDER)}
        self._ending = {end: set[FilePlace]() for end in ends}
        for place in self._ending_with(sorted(ends), repos):
            for end in _tails(place.path):
                if end in self._ending:
                    self._ending[end].add(place)

    def of(self, written: WrittenReference) -> list[Resolved]:
        """Return the files that an import may mean, the likeliest first, or nothing if the repository has none."""
        place = written.place
        for path in _paths(written):
            if path.startswith(ANY_FOLDER):
                alike = self._ending.get(path.removeprefix(ANY_FOLDER), set())
                near = _nearest([found for found in alike if found.repo == place.repo], place)
                if near:
                    confidence = CONFIDENCE["import"] * SUFFIX / len(near)
                    return [Resolved(whole_file(found), confidence, "import") for found in near[:_MAX_ALIKE]]
            elif (found := self._at.get((place.repo, path))) is not None:
                return [Resolved(whole_file(found), CONFIDENCE["import"], "import")]
        return []

    def _ending_with(self, ends: Sequence[str], repos: Collection[str]) -> Iterator[FilePlace]:
        """Yield the files of the repositories whose paths end with any of these."""
        for part in in_parts(ends, GLOBS_PER_REQUEST):
            globs = PathGlobs(tuple(ANY_FOLDER + literal_glob(end) for end in part))
            asked = Filters((("repo", tuple(sorted(repos))),), paths=globs)
            yield from dict.fromkeys(map(place_of, self._store.find(self._snapshot, asked, _MAX_CHUNKS)))


def _paths(written: WrittenReference) -> list[str]:
    return written.reference.target.module.removeprefix(IMPORTED_FILE).split("|")


def _tails(path: str) -> Iterator[str]:
    """Yield the ends of a path, from the whole path to the name of the file."""
    while path:
        yield path
        path = path.partition("/")[2]


def _nearest(found: Sequence[FilePlace], place: FilePlace) -> list[FilePlace]:
    """Return the files that have the most folders in common with a place, by path."""
    own = place.folder.split("/")

    def common(other: FilePlace) -> int:
        pairs = zip(own, other.folder.split("/"), strict=False)
        return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(own), other.folder.count("/") + 1))

    best = max(map(common, found), default=0)
    return sorted((other for other in found if common(other) == best), key=lambda other: other.path)
