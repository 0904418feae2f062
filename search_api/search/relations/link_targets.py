"""What links mean: files of the snapshot, or sections of documents."""

import re
from collections.abc import Sequence

from codequarry.search_api.graph.candidates import Resolved
from codequarry.search_api.graph.definitions import DefinedSymbol, FilePlace, WrittenReference, whole_file
from codequarry.search_api.search.relations.chunk_symbols import defined_in
from codequarry.search_api.search.relations.places import files_at
from codequarry.shared.model import Snapshot
from codequarry.shared.store.port import RowReader

# A link to a file that exists; one to a section that the file no longer has still means the file.
_SURE = 1.0
_WITHOUT_SECTION = 0.8


class LinkTargets:
    """The files that some links may mean, read in one request."""

    def __init__(self, store: RowReader, snapshot: Snapshot, links: Sequence[WrittenReference]) -> None:
        self._store = store
        self._snapshot = snapshot
        paths = {path for link in links for path in link.reference.target.module.split("|")}
        self._files = files_at(store, snapshot, paths)

    def of(self, link: WrittenReference) -> list[Resolved]:
        """Return the file or section that a link means, or nothing if the repository lacks it."""
        target = link.reference.target
        for path in target.module.split("|"):
            place = self._files.get((link.place.repo, path))
            if place is not None:
                anchor = target.names[0].removeprefix("#") if len(target.names) > 1 else ""
                if not anchor:
                    return [Resolved(whole_file(place), _SURE, "link")]
                section = self._section(place, anchor)
                return [Resolved(section or whole_file(place), _SURE if section else _WITHOUT_SECTION, "link")]
        return []

    def _section(self, place: FilePlace, anchor: str) -> DefinedSymbol | None:
        wanted = slug(anchor)
        symbols = defined_in(self._store.chunks(self._snapshot, place.path, place.repo))
        named = (symbol for symbol in symbols if wanted in {slug(symbol.definition.name), symbol.definition.name})
        return next(named, None)


def slug(title: str) -> str:
    """Return the anchor of a heading, as code hosts make it: lower case, hyphens for spaces, no punctuation."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title.strip().lower()))
