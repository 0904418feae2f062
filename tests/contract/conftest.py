"""The stores that every contract test runs against, and builders of their contents."""

import hashlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields, replace
from pathlib import Path

import numpy as np
import pytest

from codequarry.shared.arrays import Vector
from codequarry.shared.identifiers import tokenize
from codequarry.shared.model import (
    INDEXED,
    ChangedTogether,
    Chunk,
    ChunkRow,
    FileHistory,
    FileOwner,
    FileRecord,
    Layer,
    Snapshot,
    StrideInfo,
    Tokens,
)
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.store.opensearch.store import OpenSearchStore
from codequarry.shared.store.port import Store
from codequarry.shared.store.records import StoredRow

DIMENSION = 16

OpenStore = Callable[[], Store]


@pytest.fixture(params=["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def open_store(request: pytest.FixtureRequest) -> OpenStore:
    """Return a function that opens another store object on this test's data; all are closed at the end."""
    opener: OpenStore = request.getfixturevalue(f"open_{request.param}_store")
    return opener


@pytest.fixture
def open_embedded_store(tmp_path: Path) -> Iterator[OpenStore]:
    """Yield the opener of an embedded store in a folder of this test."""
    with closing_all(lambda: EmbeddedStore(tmp_path / "store", DIMENSION)) as opener:
        yield opener


@pytest.fixture
def open_opensearch_store(opensearch_node) -> Iterator[OpenStore]:
    """Yield the opener of a store on the shared real node, with empty indices."""
    with (
        opensearch_node.empty_index(DIMENSION) as settings,
        closing_all(lambda: OpenSearchStore(settings, DIMENSION)) as opener,
    ):
        yield opener


@contextmanager
def closing_all(make: Callable[[], Store]) -> Iterator[OpenStore]:
    """Yield ``make``, and close all stores that it made."""
    opened: list[Store] = []

    def opener() -> Store:
        opened.append(make())
        return opened[-1]

    yield opener
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    """Return an empty store."""
    return open_store()


@pytest.fixture
def dimension() -> int:
    """Return the length of the vectors of ``store``."""
    return DIMENSION


@pytest.fixture
def make_vector() -> Callable[[str], Vector]:
    """Return a function that maps a seed text to a unit vector; the same text gives the same vector."""

    def make(seed: str) -> Vector:
        digest = hashlib.sha256(seed.encode()).digest()
        vector = np.random.default_rng(list(digest)).standard_normal(DIMENSION).astype(np.float32)
        return vector / np.linalg.norm(vector)

    return make


@pytest.fixture
def make_chunk() -> Callable[..., Chunk]:
    """Return a function that makes a chunk of ``text`` in ``path``; every field can be overridden."""

    def make(text: str = "def answer():\n    return 42\n", path: str = "src/app.py", **fields: object) -> Chunk:
        repo, blob, ordinal = str(fields.get("repo", "quarry")), str(fields.get("blob", "")), fields.get("ordinal", 0)
        blob = blob or hashlib.sha1(text.encode()).hexdigest()
        chunk = Chunk(
            id=hashlib.sha256(repr((repo, path, blob, ordinal)).encode()).hexdigest()[:40],
            repo=repo,
            path=path,
            blob=blob,
            language="python",
            symbol_type="function",
            start_line=1,
            end_line=max(1, text.count("\n")),
            start_char=0,
            end_char=len(text),
            text=text,
            content_hash=hashlib.sha256(text.encode()).hexdigest(),
        )
        return replace(chunk, **fields)

    return make


@pytest.fixture
def every_field() -> dict[str, object]:
    """Return a value that differs from the default for every field of a chunk that has one, except ``stride_info``."""
    given: dict[str, object] = {
        "symbol_type": "method",
        "start_line": 3,
        "end_line": 9,
        "start_char": 40,
        "end_char": 160,
        "ordinal": 2,
        "symbol_kind": "coroutine",
        "symbol_name": "fetchAll",
        "qualified_name": "net.Client.fetchAll",
        "signature": "async def fetchAll(self, urls: list[str]) -> None",
        "exported": False,
        "body_start_char": 55,
        "symbol_part": "1/2",
        "context": "class Client(Base):",
        "doc": "Fetch all of them.",
        "microservice": "crawler",
        "package": "net",
        "aggregate": "http",
        "tags": ("async", "net"),
        "defines": ("fetchAll",),
        "references": ("gather", "Session"),
        "imports": ("asyncio",),
        "exports": ("Client",),
        "calls": ("gather",),
        "dependencies": ("aiohttp",),
        "kind_of_file": "test",
        "complexity_score": 2.5,
        "masked": True,
        "derived": True,
        "commentary": "Says what it does.",
        "symbols": ("fetchAll", "urls"),
        "relations": '[["fetchAll"],[],[[0,4,0,0,0,0]]]',
        "encoding": "latin-1",
        "commit_author": "Ada Lovelace",
        "commit_date": "2024-02-29T12:00:00Z",
        "commit_message": "Retry with backoff",
        "author": "ada lovelace <ada@example.com>",
        "commit_day": 19782,
        "last_modified_commit": "c0ffee" * 6 + "c0ff",
        "file_history": FileHistory(
            12, True, (ChangedTogether("src/b'\"é.py", 7),), (FileOwner("Ada Lovelace", 0.75), FileOwner("Bob", 0.25))
        ),
    }
    known = {field.name: field.default for field in fields(Chunk) if field.default is not MISSING}
    assert known.keys() - given.keys() == {"stride_info"}
    assert all(given[name] != default for name, default in known.items() if name in given)
    return given


@pytest.fixture
def make_row(make_chunk: Callable[..., Chunk]) -> Callable[..., ChunkRow]:
    """Return a function that makes a row; unknown keywords are passed to ``make_chunk``.

    ``stride`` (index, total) makes one stride of the chunk; only the first carries tokens.
    """

    def make(
        text: str = "def answer():\n    return 42\n",
        path: str = "src/app.py",
        *,
        timeline: int = 1,
        born: int = 2,
        stride: tuple[int, int] | None = None,
        tokens: Tokens | None = None,
        vector_key: str = "",
        **fields: object,
    ) -> ChunkRow:
        chunk = make_chunk(text, path, **fields)
        if stride is not None:
            index, total = stride
            chunk = replace(chunk, stride_info=StrideInfo(chunk.id, index, total, 0, 0))
        if tokens is None:
            tokens = Tokens(
                symbol=tokenize(chunk.symbol_name or ""),
                signature=tokenize(chunk.signature or ""),
                path=tokenize(path),
                doc=tokenize(chunk.doc),
                body=tokenize(text),
            )
        return ChunkRow(
            chunk=chunk,
            tokens=tokens if stride is None or stride[0] == 0 else Tokens(),
            timeline=timeline,
            born=born,
            vector_key=vector_key or f"key of {path} {text} {stride and stride[0]}",
        )

    return make


@pytest.fixture
def make_file() -> Callable[..., FileRecord]:
    """Return a function that makes the file record of ``path``; every field can be overridden."""

    def make(path: str = "src/app.py", *, timeline: int = 1, born: int = 2, **fields: object) -> FileRecord:
        record = FileRecord(
            repo="quarry",
            path=path,
            blob=hashlib.sha1(path.encode()).hexdigest(),
            verdict=INDEXED,
            rows=1,
            rules="rules-1",
            timeline=timeline,
            born=born,
            language="python",
            size=27,
            lines=2,
        )
        return replace(record, **fields)

    return make


@pytest.fixture
def snapshot() -> Callable[..., Snapshot]:
    """Return a function that makes a snapshot of one layer, by default of timeline 1 at transaction 100."""

    def make(*timelines: int, at: int = 100, hidden: Collection[int] = (), mask: Collection[str] = ()) -> Snapshot:
        return Snapshot((Layer(timelines or (1,), at, frozenset(hidden), frozenset(mask)),))

    return make


@pytest.fixture
def write(make_vector: Callable[[str], Vector], make_file: Callable[..., FileRecord]) -> Callable[..., None]:
    """Return a function that creates rows and the records of their files, and refreshes.

    Vectors that are not given are made from their keys. Rows with the same path, timeline and ``born`` form one file.
    """

    def put(store: Store, *rows: ChunkRow, vectors: dict[str, Vector] | None = None) -> None:
        files: dict[tuple[int, int, str], list[ChunkRow]] = {}
        for row in rows:
            files.setdefault((row.timeline, row.born, row.chunk.path), []).append(row)
        records = [
            make_file(
                path, timeline=timeline, born=born, rows=len(held), repo=held[0].chunk.repo, blob=held[0].chunk.blob
            )
            for (timeline, born, path), held in files.items()
        ]
        known = vectors or {}
        store.create(
            rows, records, {row.vector_key: known.get(row.vector_key, make_vector(row.vector_key)) for row in rows}
        )
        store.refresh()

    return put


@pytest.fixture
def lives_in(store: Store) -> Callable[..., list[tuple[str, int, int]]]:
    """Return a function that lists (path, born, died) of a timeline's rows, and checks that its records are equal."""

    def lives(timeline: int = 1) -> list[tuple[str, int, int]]:
        rows: list[tuple[str, int, int]] = []
        records: list[tuple[str, int, int]] = []
        for stored in store.history(timeline):
            if isinstance(stored, StoredRow):
                rows.append((stored.row.chunk.path, stored.row.born, stored.died))
            else:
                records.append((stored.record.path, stored.record.born, stored.died))
        assert sorted(set(rows)) == sorted(records)
        return sorted(records)

    return lives
