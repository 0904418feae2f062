"""Reads what a damaged database still holds, table by table."""

from collections.abc import Iterator
from pathlib import Path

from codequarry.shared.errors import StoreDamaged
from codequarry.shared.store.embedded.pages import PageFile
from codequarry.shared.store.embedded.schema import CHECKSUMS_SINCE, SCHEMA_VERSION, roots_of_new
from codequarry.shared.store.embedded.trees import Record, Trees, Value

DOCUMENT_INDEX, PATH_INDEX, VECTOR_INDEX = "sqlite_autoindex_document_1", "sqlite_autoindex_path_1", "vector_slot"
_OF_ROWS = frozenset({"path", "chunk", "payload", "file"})
_FILE_COLUMNS = 14
# Names of trees by the types of a record's values ("n" for NULL), used if the first page is damaged.
_SHAPES = {
    "sss": "document",
    "ns": "path",
    "nsiiiiii": "chunk",
    "nb": "payload",
    "ni": "vector_block",
    "is": VECTOR_INDEX,
}
_LETTERS = {type(None): "n", int: "i", float: "f", str: "s", bytes: "b"}


class DamagedDatabase:
    """A database file with damaged pages; it is never written to."""

    def __init__(self, path: Path) -> None:
        """Check every page; raise StoreDamaged if another release wrote the file, as old pages have no checksums."""
        self._pages = PageFile(path)
        self._check_format()
        self._trees = Trees(self._pages)
        # The names on the first page may be damaged.
        names = self._guessed() | self._trees.names
        self._roots = {name: root for root, name in names.items()}

    @property
    def pages(self) -> int:
        """Number of pages that the file has, or had before it was truncated."""
        return self._pages.count

    @property
    def damaged_pages(self) -> int:
        """Number of damaged pages."""
        return len(self._pages.damaged)

    @property
    def may_lack_rows(self) -> bool:
        """Whether a damaged page may have held rows, their texts or file records."""
        return self._may_lack(_OF_ROWS)

    @property
    def may_lack_documents(self) -> bool:
        """Whether documents may be lost together with their keys."""
        is_index_whole = DOCUMENT_INDEX in self._roots and not self._may_lack({DOCUMENT_INDEX})
        return self._may_lack({"document"}) and not is_index_whole

    def records(self, name: str) -> Iterator[tuple[int, Record]]:
        """Yield the readable records of a table or index, each with its row number, in no particular order."""
        if root := self._roots.get(name):
            for entry in self._trees.entries(root):
                yield entry.row, entry.values

    def _may_lack(self, names: set[str] | frozenset[str]) -> bool:
        """Return whether a damaged page may have belonged to any of these trees."""
        named = {root: name for name, root in self._roots.items()}
        damaged = (page for page in self._pages.damaged if page != 1 and not self._trees.holds_nothing(page))
        return not self._roots or any(named.get(self._trees.tree_of(page) or 0, "") in {"", *names} for page in damaged)

    def _check_format(self) -> None:
        head = self._pages.head()
        version = int.from_bytes(head[60:64]) if head else SCHEMA_VERSION
        # Version 0 means that the first transaction was lost along with the log.
        if version not in (0, *range(CHECKSUMS_SINCE, SCHEMA_VERSION + 1)):
            raise StoreDamaged(
                f"the database is damaged and has format {version}, but this release only repairs formats "
                f"{CHECKSUMS_SINCE} to {SCHEMA_VERSION}; restore a backup with the release that wrote it"
            )

    def _guessed(self) -> dict[int, str]:
        """Return the names of trees by root, guessed from their contents or else from the roots in a new database."""
        found: dict[int, str] = {}
        for root in self._trees.pages_of:
            entry = next(self._trees.entries(root), None)
            if entry and (name := _guess(entry.values)):
                found[root] = name
        usual = roots_of_new()
        is_usual = all(usual.get(root) == name for root, name in found.items())
        return usual | found if found and is_usual else found


def _guess(values: tuple[Value, ...]) -> str:
    if len(values) == _FILE_COLUMNS:
        return "file"
    return _SHAPES.get("".join(_LETTERS[type(value)] for value in values), "")
