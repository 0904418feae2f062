"""Measure the embedded store: writing, a cold search in a new process, warm searches, disk.

``python bench/embedded_store.py [--chunks 50000] [--dimension 256] [--folder FOLDER]``

The chunks are synthetic but shaped like real code: 1.2 KB of text whose words follow Zipf's law over a large
vocabulary, ten chunks a file, symbols, calls, imports, and vectors around cluster centres. A tenth of them is dead or
belongs to an overlay. Queries mix common and rare terms, as a sentence about code does.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

# The targets are for one core. numpy's BLAS reads this when it is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from codequarry.shared.arrays import Vector
from codequarry.shared.identifiers import tokenize
from codequarry.shared.model import INDEXED, Chunk, ChunkRow, FileRecord, Filters, Layer, PathGlobs, Snapshot, Tokens
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.store.records import RecallQuery

FILES_A_BATCH = 100
CHUNKS_A_FILE = 10
VOCABULARY = 100_000
# Chosen so that 1,000 chunks have about 10,000 different tokens and each chunk 70, as in real Python packages.
WORDS_OF_A_FILE = 60
COMMON_WORDS = 0.13
CLUSTERS = 500
QUERIES = 200
TIMELINE, OVERLAY = 1, 2
HEAD = Snapshot((Layer((TIMELINE,), 100, frozenset({90, 91})),))


class Words:
    """Words by Zipf's law: names of one to three syllables, the most frequent first."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        syllables = [a + b + c for a in "bcdfglmnprst" for b in "aeiou" for c in ("", "l", "n", "r", "s", "t")]
        names = random.Random(0)
        self.words = list(
            dict.fromkeys("".join(names.choices(syllables, k=names.choice((1, 2, 2, 3)))) for _ in range(VOCABULARY))
        )
        weights = 1 / (np.arange(len(self.words)) + 8)
        self.bounds = np.cumsum(weights / weights.sum()).tolist()

    def pick(self, count: int) -> list[str]:
        """Return words from the whole vocabulary."""
        return self.random.choices(self.words, cum_weights=self.bounds, k=count)

    def of_file(self, own: list[str], count: int) -> list[str]:
        """Return words as in a single file: most come from the few words that the file is about."""
        common = int(COMMON_WORDS * count)
        found = self.random.choices(own, k=count - common) + self.pick(common)
        self.random.shuffle(found)
        return found


def vectors_of(count: int, dimension: int, seed: int) -> np.ndarray:
    """Return unit vectors around cluster centres."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((CLUSTERS, dimension), np.float32)
    vectors = centres[rng.integers(0, CLUSTERS, count)] + 0.6 * rng.standard_normal((count, dimension), np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def make_row(words: Words, own: list[str], path: str, ordinal: int, timeline: int, born: int) -> ChunkRow:
    """Return a chunk row of about 1.2 KB of text."""
    found = words.of_file(own, 150)
    name = f"{found[0]}{found[1].title()}"
    text = f"def {name}({found[2]}, {found[3]}):\n    " + "\n    ".join(
        " ".join(found[start : start + 8]) for start in range(4, len(found), 8)
    )
    blob = hashlib.sha1(path.encode()).hexdigest()
    chunk = Chunk(
        id=hashlib.sha256(f"{path} {ordinal} {born}".encode()).hexdigest()[:40],
        repo="bench",
        path=path,
        blob=blob,
        language="python" if len(path) % 3 else "go",
        symbol_type="function",
        start_line=ordinal * 30 + 1,
        end_line=ordinal * 30 + 30,
        start_char=ordinal * 1200,
        end_char=ordinal * 1200 + len(text),
        text=text,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        ordinal=ordinal,
        symbol_kind="function",
        symbol_name=name,
        qualified_name=f"{found[4]}.{found[5]}.{name}",
        signature=f"def {name}({found[2]}, {found[3]})",
        context=f"class {found[5].title()}({found[6]}):",
        doc=" ".join(found[7:19]),
        package=found[4],
        tags=("backend",),
        defines=(name,),
        references=tuple(dict.fromkeys(found[20:36])),
        imports=tuple(own[:6]),
        calls=tuple(dict.fromkeys(found[20:30])),
    )
    tokens = Tokens(
        tokenize(name), tokenize(chunk.signature or ""), tokenize(path), tokenize(chunk.doc), tokenize(text)
    )
    return ChunkRow(chunk, tokens, timeline, born, hashlib.sha256(text.encode()).hexdigest())


def batches(chunks: int) -> Iterator[tuple[list[ChunkRow], list[FileRecord]]]:
    """Yield the rows and records of a hundred files at a time; the last twentieth belongs to an overlay."""
    words = Words(1)
    files = chunks // CHUNKS_A_FILE
    for start in range(0, files, FILES_A_BATCH):
        rows, records = [], []
        for number in range(start, min(start + FILES_A_BATCH, files)):
            timeline = OVERLAY if number >= 0.95 * files else TIMELINE
            born = 2 + number % 50
            path = f"src/{words.words[number % 40]}/{words.words[number % 300]}/{words.words[number]}{number}.py"
            own = words.pick(WORDS_OF_A_FILE)
            rows += [make_row(words, own, path, ordinal, timeline, born) for ordinal in range(CHUNKS_A_FILE)]
            blob = rows[-1].chunk.blob
            records.append(FileRecord("bench", path, blob, INDEXED, CHUNKS_A_FILE, "r", timeline, born, "python"))
        yield rows, records


def build(folder: Path, chunks: int, dimension: int) -> None:
    """Write the store and print how long it took, without the time to make the chunks."""
    store = EmbeddedStore(folder, dimension)
    seconds, longest, dead = 0.0, 0.0, []
    for number, (rows, records) in enumerate(batches(chunks)):
        matrix = vectors_of(len(rows), dimension, number)
        vectors = {row.vector_key: vector for row, vector in zip(rows, matrix, strict=True)}
        started = time.perf_counter()
        store.create(rows, records, vectors)
        took = time.perf_counter() - started
        seconds, longest = seconds + took, max(longest, took)
        dead += [record.path for record in records[::20]]
    store.retire(TIMELINE, 80, dead, [])
    store.close()
    print(f"write        {chunks / seconds:8.0f} chunks/s, the longest batch {longest:.2f} s")
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    for file in sorted(folder.iterdir()):
        print(f"  {file.name:18} {file.stat().st_size / 1e6:8.1f} MB")
    print(f"disk         {size:8.1f} MB, {size / chunks * 10_000:.1f} MB per 10,000 chunks")


def queries(dimension: int, seed: int) -> Iterator[RecallQuery]:
    """Yield searches with a vector, six terms from common to rare, and two names."""
    words = Words(seed)
    names, choose = words.words, words.random
    for vector in vectors_of(QUERIES, dimension, 10_000 + seed):
        bounds = ((0, 20), (20, 200), (200, 2000), (200, 2000), (2000, 20_000), (20_000, len(names)))
        terms = tuple(names[choose.randrange(low, high)] for low, high in bounds)
        yield query_of(vector, terms, (words.pick(1)[0], f"{terms[1]}{terms[2]}"))


def query_of(vector: Vector, terms: tuple[str, ...], symbols: tuple[str, ...]) -> RecallQuery:
    """Return the search that the service makes of a question."""
    return RecallQuery(HEAD, vector=vector, terms=terms, symbols=symbols)


def timed(store: EmbeddedStore, name: str, asked: list[RecallQuery]) -> None:
    """Print the median and 95th percentile of searches, and the processor time, which other load affects less."""
    took, cpu, found = [], [], []
    for query in asked:
        started, spent = time.perf_counter(), time.process_time()
        answer = store.recall(query)
        took.append((time.perf_counter() - started) * 1000)
        cpu.append((time.process_time() - spent) * 1000)
        found.append(len(answer.candidates))
    p50, p95, spent = statistics.median(took), statistics.quantiles(took, n=20)[-1], statistics.median(cpu)
    print(
        f"{name:28} p50 {p50:6.1f} ms  p95 {p95:6.1f}  processor {spent:5.1f}  {statistics.mean(found):.0f} candidates"
    )


def warm(folder: Path, dimension: int) -> None:
    """Search in a warm process, with terms that are new to it and with terms that it has seen."""
    store = EmbeddedStore(folder, dimension)
    asked = list(queries(dimension, 2))
    store.recall(asked[0])
    timed(store, "warm, terms not seen before", asked)
    timed(store, "warm, terms seen before", asked)
    in_go = Filters(terms=(("language", ("go",)),))
    below = Filters(paths=PathGlobs((f"src/*/{Words(1).words[7]}/**",)))
    masked = Snapshot((Layer((OVERLAY,), 100), Layer((TIMELINE,), 100, mask=frozenset(some_paths(store)))))
    for name, change in (("language filter", {"filters": in_go}), ("path glob", {"filters": below})):
        timed(store, f"warm, {name}", [replaced(query, **change) for query in asked])
    timed(store, "warm, overlay and its base", [replaced(query, snapshot=masked) for query in asked])
    store.close()


def some_paths(store: EmbeddedStore) -> list[str]:
    """Return every tenth path, as the mask of an overlay."""
    return [record.path for record in store.files(HEAD)][::10]


def replaced(query: RecallQuery, **fields: object) -> RecallQuery:
    """Return a query with some fields replaced."""
    values = {name: getattr(query, name) for name in query.__dataclass_fields__}
    return RecallQuery(**{**values, **fields})


def cold(folder: Path, dimension: int) -> None:
    """Search once in this new process and print the milliseconds as JSON."""
    asked = next(queries(dimension, 3))
    started = time.perf_counter()
    store = EmbeddedStore(folder, dimension)
    opened = time.perf_counter()
    store.recall(asked)
    done = time.perf_counter()
    print(json.dumps({"open": (opened - started) * 1000, "search": (done - opened) * 1000}))


def measure_cold(folder: Path, dimension: int) -> None:
    """Print the time of opening and of the first search in seven new processes, without imports."""
    command = [sys.executable, __file__, "--cold", "--folder", str(folder), "--dimension", str(dimension)]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(7)]
    totals = sorted(run["open"] + run["search"] for run in runs)
    print(f"cold         open and first search {totals[3]:.0f} ms (from {totals[0]:.0f} to {totals[-1]:.0f})")


def main() -> None:
    """Build a store and measure it; the store is removed unless a folder was given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--folder", type=Path, help="keep the store here; a store that exists is measured as it is")
    parser.add_argument("--cold", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cold:
        cold(given.folder, given.dimension)
        return
    folder = given.folder or Path(tempfile.mkdtemp(prefix="codequarry-bench-"))
    try:
        if not (folder / "index.sqlite3").exists():
            build(folder, given.chunks, given.dimension)
        measure_cold(folder, given.dimension)
        warm(folder, given.dimension)
    finally:
        if given.folder is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
