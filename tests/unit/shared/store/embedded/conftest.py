"""An embedded store in a temporary folder, and rows to put into it."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest

from codequarry.shared.model import INDEXED, Chunk, ChunkRow, FileRecord, Tokens
from codequarry.shared.store.embedded.database import Database
from codequarry.shared.store.embedded.store import EmbeddedStore

DIMENSION = 8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def open_store(folder: Path) -> Iterator[Callable[[], EmbeddedStore]]:
    """Return a function that opens another store object on the same folder."""
    opened: list[EmbeddedStore] = []

    def opener() -> EmbeddedStore:
        opened.append(EmbeddedStore(folder, DIMENSION))
        return opened[-1]

    yield opener
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[[], EmbeddedStore]) -> EmbeddedStore:
    return open_store()


@pytest.fixture
def connection(folder: Path) -> Iterator[apsw.Connection]:
    """Yield a connection to an empty database, in a write transaction."""
    database = Database(folder, DIMENSION)
    with database.writing() as connection:
        yield connection
    database.close()


@pytest.fixture
def make_row() -> Callable[..., ChunkRow]:
    """Return a function that makes the row of a chunk, identified by path, body and ordinal."""

    def make(path: str = "a.py", body: str = "word", *, timeline: int = 1, born: int = 2, ordinal: int = 0) -> ChunkRow:
        key = f"{path} {body} {ordinal}"
        chunk = Chunk(
            id=hashlib.sha1(key.encode()).hexdigest(),
            repo="quarry",
            path=path,
            blob="blob",
            language="python",
            symbol_type="function",
            start_line=1,
            end_line=2,
            start_char=0,
            end_char=len(body),
            text=body,
            content_hash="hash",
            ordinal=ordinal,
            symbol_name=f"name{ordinal}",
        )
        return ChunkRow(chunk, Tokens(path="py", body=body), timeline, born, key)

    return make


@pytest.fixture
def put() -> Callable[..., None]:
    """Return a function that creates rows, their records and random vectors."""

    def create(store: EmbeddedStore, *rows: ChunkRow) -> None:
        vectors = {}
        for row in rows:
            seed = list(hashlib.sha256(row.vector_key.encode()).digest())
            vector = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
            vectors[row.vector_key] = vector / np.linalg.norm(vector)
        files = {(row.timeline, row.born, row.chunk.path) for row in rows}
        records = [
            FileRecord("quarry", path, "blob", INDEXED, 1, "r", timeline, born) for timeline, born, path in files
        ]
        store.create(rows, records, vectors)

    return create
