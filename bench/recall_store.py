"""Compare the approximate k-NN of OpenSearch with exact search, among many dead rows and under various filters.

``python -m bench.recall_store [--url http://127.0.0.1:9200] [--files 2500] [--generations 6]``

Every file is rewritten several times, so there are five dead rows for each live row, with similar vectors, as edits
leave them. Measured are recall@20 against an exact k-NN (a script over all matching rows) and the duration of a search:
at head, under field filters that match 0.1 to 50 % of the rows, and with a mask of four files in five. Then the same
with a head that moves before every search, so that no cached filter fits (rule 13), and with all segments merged, as
they become over time.
"""

import argparse
import statistics
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.opensearch_store import node_url
from codequarry.shared.arrays import Vector
from codequarry.shared.model import INDEXED, Chunk, ChunkRow, FileRecord, Filters, Layer, Snapshot, Tokens
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.opensearch.clauses import search_clause, snapshot_clause
from codequarry.shared.store.opensearch.store import OpenSearchStore
from codequarry.shared.store.records import RecallQuery

K = 20
CHUNKS_A_FILE = 4
FILES_A_BATCH = 500
CLUSTERS = 500
# The cosine between the vectors of a chunk before and after an edit.
LIKENESS = 0.9
SHARES = {"0.1 %": 1000, "1 %": 100, "10 %": 10, "50 %": 2}
HIDDEN = frozenset({500, 501})


@dataclass(frozen=True, slots=True)
class Corpus:
    """The vectors of the first generation, by file and chunk."""

    first: np.ndarray
    random: np.random.Generator

    def generation(self, number: int) -> np.ndarray:
        """Return the vectors of a generation: those of the first generation, moved a little."""
        if not number:
            return self.first
        noise = self.random.standard_normal(self.first.shape).astype(np.float32)
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        moved = LIKENESS * self.first + (1 - LIKENESS**2) ** 0.5 * noise
        return moved / np.linalg.norm(moved, axis=1, keepdims=True)

    def query(self) -> Vector:
        """Return a query vector near a chunk."""
        near = self.first[self.random.integers(len(self.first))]
        vector = near + 1.5 * self.random.standard_normal(len(near)).astype(np.float32) / len(near) ** 0.5
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def make_corpus(chunks: int, dimension: int) -> Corpus:
    """Make vectors around cluster centres."""
    random = np.random.default_rng(7)
    centres = random.standard_normal((CLUSTERS, dimension)).astype(np.float32)
    vectors = centres[random.integers(0, CLUSTERS, chunks)]
    vectors = vectors + 0.6 * random.standard_normal((chunks, dimension)).astype(np.float32)
    return Corpus(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), random)


def path_of(file: int) -> str:
    """Return the path of a file."""
    return f"src/module {file % 50}/file_{file}.py"


def make_row(number: int, born: int) -> ChunkRow:
    """Make one row; its tags name the shares of all rows that it belongs to."""
    file, ordinal = divmod(number, CHUNKS_A_FILE)
    text = f"chunk {number} of transaction {born}"
    chunk = Chunk(
        id=f"{born:08x}{number:032x}", repo="bench", path=path_of(file), blob=f"{born:08x}{file:032x}",
        language="python", symbol_type="function", start_line=1, end_line=2, start_char=0, end_char=len(text),
        text=text, content_hash=f"{number:064x}", ordinal=ordinal,
        tags=tuple(name for name, part in SHARES.items() if number % part == 0),
    )  # fmt: skip
    return ChunkRow(chunk, Tokens(body=text), 1, born, f"{born}:{number}")


def fill(store: OpenSearchStore, corpus: Corpus, files: int, generations: int) -> None:
    """Write the generations; each retires the one before it."""
    for born in range(1, generations + 1):
        vectors = corpus.generation(born - 1)
        for start in range(0, files, FILES_A_BATCH):
            part = range(start, min(start + FILES_A_BATCH, files))
            rows = [make_row(number, born) for number in range(part[0] * CHUNKS_A_FILE, (part[-1] + 1) * CHUNKS_A_FILE)]
            records = [
                FileRecord("bench", path_of(file), f"{born:08x}{file:032x}", INDEXED, CHUNKS_A_FILE, "r", 1, born)
                for file in part
            ]
            keyed = {row.vector_key: vectors[int(row.vector_key.split(":")[1])] for row in rows}
            store.create(rows, records, keyed)
        store.refresh()
        if born > 1:
            store.retire(1, born, [path_of(file) for file in range(files)], [])
    store.refresh()


def exact(store: OpenSearchStore, query: RecallQuery) -> set[str]:
    """Return the ids of the nearest chunks by a script over all matching rows."""
    assert query.vector is not None
    script = {
        "lang": "knn",
        "source": "knn_score",
        "params": {"field": "embedding", "query_value": query.vector.tolist(), "space_type": "cosinesimil"},
    }
    clause = search_clause(snapshot_clause(query.snapshot), query.filters)
    body = {"size": K, "_source": ["id"], "query": {"script_score": {"query": clause, "script": script}}}
    hits = store.client.search(index=store.settings.index, body=body)["hits"]["hits"]
    return {hit["_source"]["id"] for hit in hits}


def compare(store: OpenSearchStore, name: str, queries: Sequence[RecallQuery]) -> None:
    """Print recall@20, the fewest hits, and the median time of the searches."""
    shares, fewest, took = [], K, []
    for query in queries:
        started = time.perf_counter()
        found = store.recall(query).by_vector
        took.append((time.perf_counter() - started) * 1000)
        truth = exact(store, query)
        shares.append(len(truth & set(found)) / max(1, len(truth)))
        fewest = min(fewest, len(found) - len(truth) + K)
    print(
        f"{name:34} recall@{K} {statistics.mean(shares):.4f}  hits >= {fewest}  p50 {statistics.median(took):5.1f} ms"
    )


def measure(store: OpenSearchStore, given: argparse.Namespace) -> None:
    """Fill the index and compare under every filter."""
    corpus = make_corpus(given.files * CHUNKS_A_FILE, given.dimension)
    fill(store, corpus, given.files, given.generations)
    vectors = [corpus.query() for _ in range(given.queries)]
    head = Snapshot((Layer((1,), 1000, HIDDEN),))
    masked = Snapshot((Layer((1,), 1000, HIDDEN, frozenset(path_of(file) for file in range(given.files * 4 // 5))),))
    past = Snapshot((Layer((1,), 2, HIDDEN),))
    for name, snapshot in (
        ("head", head),
        ("a commit long ago", past),
        (f"{given.files * 4 // 5} paths masked", masked),
    ):
        compare(store, name, [RecallQuery(snapshot, vector=vector, vector_limit=K) for vector in vectors])
    for share in SHARES:
        filters = Filters(terms=(("tags", (share,)),))
        compare(
            store,
            f"head, filter of {share}",
            [RecallQuery(head, filters, vector, vector_limit=K) for vector in vectors],
        )
    moving = [
        RecallQuery(Snapshot((Layer((1,), 1000 + number, HIDDEN),)), vector=vector, vector_limit=K)
        for number, vector in enumerate(vectors)
    ]
    compare(store, "head that moves", moving)
    store.client.indices.forcemerge(index=store.settings.index, params={"max_num_segments": 1, "request_timeout": 900})
    for name, snapshot in (("head", head), (f"{given.files * 4 // 5} paths masked", masked)):
        asked = [RecallQuery(snapshot, vector=vector, vector_limit=K) for vector in vectors]
        compare(store, f"{name}, segments merged", asked)


def main() -> None:
    """Measure and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", help="URL of a running node; a node is started if not given")
    parser.add_argument("--files", type=int, default=2_500)
    parser.add_argument("--generations", type=int, default=6)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--index", help="keep the index under this name")
    given = parser.parse_args()
    name = given.index or f"bench-{uuid.uuid4().hex[:8]}"
    with node_url(given.url) as url:
        store = OpenSearchStore(OpenSearchSettings(urls=(url,), index=name, timeout_seconds=300), given.dimension)
        try:
            measure(store, given)
        finally:
            if not given.index:
                store.client.indices.delete(index=f"{name}-*")
            store.close()


if __name__ == "__main__":
    main()
