"""A separate process that uses an embedded store; the tests start several and kill some.

``python worker.py publish FOLDER TIMELINE COUNT`` publishes COUNT generations of files and prints each number.
``python worker.py purge FOLDER TIMELINE COUNT`` writes and purges a timeline COUNT times, which moves the vectors.
``python worker.py fill FOLDER BYTES`` writes until the disk is full or, if not 0, a file has BYTES, and reports.
"""

import json
import resource
import sys
from pathlib import Path

import numpy as np

from codequarry.shared.errors import StoreError
from codequarry.shared.model import INDEXED, Chunk, ChunkRow, FileRecord, Filters, Layer, Snapshot, Tokens
from codequarry.shared.store.embedded.store import EmbeddedStore

DIMENSION = 64
FILES = tuple(f"src/file{number}.py" for number in range(12))
CHUNKS_A_FILE = 3
FILES_A_BATCH = 4


def make_row(timeline: int, number: int, path: str, ordinal: int) -> ChunkRow:
    text = f"generation g{number} of t{timeline} {path} {ordinal}"
    key = f"{text} key"
    chunk = Chunk(
        key, "quarry", path, f"blob {number}", "python", "function", 1, 2, 0, len(text), text, "hash", ordinal=ordinal
    )
    return ChunkRow(chunk, Tokens(body=text.replace("/", " ")), timeline, number, key)


def create(store: EmbeddedStore, timeline: int, number: int, paths: tuple[str, ...]) -> None:
    rows = [make_row(timeline, number, path, ordinal) for path in paths for ordinal in range(CHUNKS_A_FILE)]
    files = [
        FileRecord("quarry", path, f"blob {number}", INDEXED, CHUNKS_A_FILE, "r", timeline, number) for path in paths
    ]
    rng = np.random.default_rng([timeline, number, len(paths)])
    vectors = {row.vector_key: rng.standard_normal(DIMENSION).astype(np.float32) for row in rows}
    store.create(rows, files, vectors)


def publish(store: EmbeddedStore, timeline: int, count: int) -> None:
    """Publish generations as the ledger does: take a number, write and retire rows, then compare-and-set."""
    key = f"head:{timeline}"
    for _ in range(count):
        document = store.read_document(key)
        body = dict(document.body) if document else {"published": [], "aborted": [], "open": None, "counter": 0}
        if body["open"] is not None:
            body = {**body, "aborted": [*body["aborted"], body["open"]], "open": None}
            document = store.write_document(key, body, document.version if document else None)
            store.undo(timeline, body["aborted"][-1])
        number = body["counter"] + 1
        body = {**body, "counter": number, "open": number}
        document = store.write_document(key, body, document.version if document else None)
        for start in range(0, len(FILES), FILES_A_BATCH):
            create(store, timeline, number, FILES[start : start + FILES_A_BATCH])
        store.retire(timeline, number, FILES, body["aborted"])
        store.write_document(key, {**body, "published": [*body["published"], number], "open": None}, document.version)
        print(number, flush=True)


def purge(store: EmbeddedStore, timeline: int, count: int) -> None:
    for number in range(1, count + 1):
        create(store, timeline, number, FILES)
        store.purge([timeline])
        print(number, flush=True)


def fill(folder: Path, limit: int) -> None:
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    created = count = 0
    try:
        store = EmbeddedStore(folder, DIMENSION)
        while True:
            create(store, 1, created + 1, FILES)
            created += 1
            count = store.count(Snapshot((Layer((1,), created + 1),)), Filters())
    except StoreError as error:
        report = {"error": type(error).__name__, "message": str(error), "created": created, "count": count}
    print(json.dumps(report))


def main() -> None:
    mode, folder, *numbers = sys.argv[1:]
    if mode == "fill":
        fill(Path(folder), *map(int, numbers))
        return
    store = EmbeddedStore(Path(folder), DIMENSION)
    run = {"publish": publish, "purge": purge}[mode]
    run(store, *map(int, numbers))
    store.close()


if __name__ == "__main__":
    main()
