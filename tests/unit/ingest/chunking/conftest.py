"""Realistic sample files for the chunking tests, and access to their chunks by name."""

from collections.abc import Callable
from pathlib import Path

import pytest

from codequarry.ingest.chunking.chunker import chunk_file
from codequarry.ingest.chunking.languages import language_of
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.shared.model import Chunk
from codequarry.shared.settings.config import ChunkingSettings

SAMPLES = Path(__file__).parent / "samples"

DEFAULT = Sizes.of(ChunkingSettings())
# Small enough to open the classes of the samples, large enough to keep every function whole.
OPENING = Sizes(60, 400, 20)


class Chunks(list[Chunk]):
    """A file's chunks in order."""

    def named(self, qualified: str) -> Chunk:
        """Return the only chunk with a qualified name."""
        found = [chunk for chunk in self if chunk.qualified_name == qualified]
        assert len(found) == 1, [chunk.qualified_name for chunk in self]
        return found[0]

    def defining(self, name: str) -> list[Chunk]:
        """Return the chunks that define a name."""
        return [chunk for chunk in self if name in chunk.defines]

    @property
    def names(self) -> list[str]:
        """Qualified names in order."""
        return [chunk.qualified_name for chunk in self if chunk.qualified_name]


Chunker = Callable[..., Chunks]


@pytest.fixture(scope="session")
def chunked() -> Chunker:
    """Return a function that chunks a text as the file at a path."""

    def cut(path: str, text: str, sizes: Sizes = DEFAULT, **fields: object) -> Chunks:
        first_line = text.split("\n", 1)[0]
        source = SourceFile("acme/shop", path, "b10b", language_of(path, first_line) or "text", text, **fields)  # type: ignore[arg-type]
        return Chunks(chunk_file(source, sizes))

    return cut


@pytest.fixture(scope="session")
def sample(chunked: Chunker) -> Callable[[str], Chunks]:
    """Return a function that chunks a sample file with settings that open its classes."""

    def cut(name: str) -> Chunks:
        text = (SAMPLES / name).read_bytes().decode()
        return chunked(f"src/billing/{name}", text, OPENING)

    return cut
