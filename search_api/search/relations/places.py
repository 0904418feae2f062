"""The file version that a chunk stands in."""

from codequarry.search_api.graph.definitions import FilePlace
from codequarry.shared.model import Chunk


def place_of(chunk: Chunk) -> FilePlace:
    """Return the file version of a chunk."""
    return FilePlace(chunk.repo, chunk.path, chunk.language, chunk.package, chunk.kind_of_file == "test")
