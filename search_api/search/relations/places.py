"""The file versions that chunks stand in, or that lie at paths."""

from collections.abc import Collection, Mapping

from codequarry.search_api.graph.definitions import FilePlace
from codequarry.shared.model import Chunk, Snapshot
from codequarry.shared.store.port import RowReader


def place_of(chunk: Chunk) -> FilePlace:
    """Return the file version of a chunk."""
    return FilePlace(chunk.repo, chunk.path, chunk.language, chunk.package, chunk.kind_of_file == "test")


def files_at(store: RowReader, snapshot: Snapshot, paths: Collection[str]) -> Mapping[tuple[str, str], FilePlace]:
    """Return the files at any of the paths, by repository and path, in one request."""
    return {
        (record.repo, record.path): FilePlace(record.repo, record.path, record.language or "", None)
        for record in (store.files(snapshot, sorted(paths)) if paths else ())
    }
