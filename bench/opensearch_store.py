"""Measure the OpenSearch store on synthetic chunks: ``python -m bench.opensearch_store`` starts a node for this.

The words follow Zipf's law and the vectors lie in clusters, so that filters, postings and the graph resemble those of
code. Measured is `recall()` as a search calls it: five channels in one request, candidates with their text.
"""

import argparse
import json
import os
import statistics
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from codequarry.opensearch.node import NodePlan, start, stop
from codequarry.shared.arrays import Vector
from codequarry.shared.model import Chunk, ChunkRow, FileRecord, Filters, Layer, Snapshot, Tokens
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.opensearch.store import OpenSearchStore
from codequarry.shared.store.records import RecallQuery

VOCABULARY = 30_000
WORDS_PER_CHUNK = 150
CHUNKS_PER_FILE = 8
CLUSTERS = 2_000
BATCH_FILES = 200
REPOS = 10


@dataclass(frozen=True, slots=True)
class Corpus:
    """Words and cluster centres to make chunks from."""

    words: Sequence[str]
    centres: np.ndarray
    random: np.random.Generator

    def vector(self) -> Vector:
        """Return a unit vector near one of the centres."""
        centre = self.centres[self.random.integers(len(self.centres))]
        vector = centre + 0.5 * self.random.standard_normal(len(centre)).astype(np.float32) / len(centre) ** 0.5
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    def some_words(self, count: int) -> list[str]:
        """Return words distributed by Zipf's law."""
        ranks = self.random.zipf(1.25, count) % VOCABULARY
        return [self.words[rank] for rank in ranks]


def make_corpus(dimension: int) -> Corpus:
    """Make the words and centres, which are the same every time."""
    random = np.random.default_rng(7)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(random.choice(letters, random.integers(3, 11))) for _ in range(VOCABULARY)]
    centres = random.standard_normal((CLUSTERS, dimension)).astype(np.float32)
    return Corpus(words, centres / np.linalg.norm(centres, axis=1, keepdims=True), random)


def make_row(corpus: Corpus, number: int) -> ChunkRow:
    """Make a row of about 1,200 characters."""
    file, ordinal = divmod(number, CHUNKS_PER_FILE)
    words = corpus.some_words(WORDS_PER_CHUNK)
    symbol = f"{words[0]}_{words[1]}"
    text = f"def {symbol}({words[2]}):\n" + "\n".join("    " + " ".join(words[n : n + 6]) for n in range(3, 150, 6))
    path = f"src/{corpus.words[file % 300]}/{corpus.words[file % VOCABULARY]}_{file}.py"
    chunk = Chunk(
        id=f"{number:040x}", repo=f"repo{file % REPOS}", path=path, blob=f"{file:040x}", language="python",
        symbol_type="function", start_line=1, end_line=26, start_char=0, end_char=len(text), text=text,
        content_hash=f"{number:064x}", ordinal=ordinal, symbol_name=symbol, qualified_name=f"mod.{symbol}",
        signature=f"def {symbol}({words[2]})", defines=(symbol,), references=tuple(words[3:13]),
    )  # fmt: skip
    tokens = Tokens(" ".join(words[:2]), " ".join(words[:3]), path.replace("/", " "), "", " ".join(words))
    return ChunkRow(chunk, tokens, 1 + file % REPOS, 100, f"{number:064x}")


def fill(store: OpenSearchStore, corpus: Corpus, chunks: int) -> float:
    """Write the chunks and return the seconds until all of them can be found."""
    spent = 0.0
    per_batch = BATCH_FILES * CHUNKS_PER_FILE
    for first in range(0, chunks, per_batch):
        rows = [make_row(corpus, number) for number in range(first, min(first + per_batch, chunks))]
        vectors = {row.vector_key: corpus.vector() for row in rows}
        files = [
            FileRecord(
                row.chunk.repo, row.chunk.path, row.chunk.blob, "indexed", CHUNKS_PER_FILE, "r", row.timeline, 100
            )
            for row in rows
            if row.chunk.ordinal == 0
        ]
        began = time.perf_counter()
        store.create(rows, files, vectors)
        spent += time.perf_counter() - began
    began = time.perf_counter()
    store.refresh()
    return spent + time.perf_counter() - began


def make_queries(corpus: Corpus, snapshot: Snapshot, count: int, terms: int) -> Iterator[RecallQuery]:
    """Yield queries with a vector, ``terms`` words of mixed rarity, a symbol and no path."""
    for _ in range(count):
        words = tuple(dict.fromkeys(corpus.some_words(terms * 3)))[:terms]
        yield RecallQuery(snapshot, vector=corpus.vector(), terms=words, symbols=("_".join(words[:2]),))


def timed(store: OpenSearchStore, queries: Sequence[RecallQuery], warm: int) -> dict[str, float]:
    """Return p50 and p95 in milliseconds, and the mean number of candidates."""
    spent, candidates = [], []
    for number, query in enumerate(queries):
        began = time.perf_counter()
        found = store.recall(query)
        if number >= warm:
            spent.append((time.perf_counter() - began) * 1000)
            candidates.append(len(found.candidates))
    cuts = statistics.quantiles(spent, n=100)
    return {"p50_ms": cuts[49], "p95_ms": cuts[94], "candidates": statistics.mean(candidates)}


@contextmanager
def node_url(given: str | None) -> Iterator[str]:
    """Yield the given URL, or that of a node that is started for this block and removed afterwards."""
    if given:
        yield given
        return
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "codequarry" / "opensearch-node"
    plan = NodePlan(cache, f"bench-{os.getpid()}", port=0)
    node = start(plan, lambda line: print(line, file=sys.stderr))
    try:
        yield node.url
    finally:
        stop(plan, remove_data=True)


def measure(url: str, arguments: argparse.Namespace) -> dict[str, object]:
    """Fill a new index, search it, and delete it."""
    settings = OpenSearchSettings(urls=(url,), index=f"bench-{uuid.uuid4().hex[:8]}")
    store = OpenSearchStore(settings, arguments.dimension)
    corpus = make_corpus(arguments.dimension)
    try:
        written = fill(store, corpus, arguments.chunks)
        everything = Snapshot((Layer(tuple(range(1, REPOS + 1)), 1000, frozenset({7, 8, 9})),))
        single = Snapshot((Layer((3,), 1000, frozenset({7, 8, 9})),))
        results: dict[str, object] = {"chunks": arguments.chunks, "write_s": written}
        for name, snapshot in (("all repositories", everything), ("one of ten", single)):
            queries = list(make_queries(corpus, snapshot, arguments.queries + arguments.warm, arguments.terms))
            results[name] = timed(store, queries, arguments.warm)
            vectors_only = [replace(query, terms=(), symbols=()) for query in queries]
            results[f"{name}, vector only"] = timed(store, vectors_only, arguments.warm)
            python = [replace(query, filters=Filters((("language", ("python",)),))) for query in queries]
            results[f"{name}, with a field filter"] = timed(store, python, arguments.warm)
        paths = sorted({make_row(corpus, n).chunk.path for n in range(0, 1000, CHUNKS_PER_FILE * REPOS)})
        began = time.perf_counter()
        results["retired"] = store.retire(1, 2000, paths, ())
        results["retire_s"] = time.perf_counter() - began
        sizes = store.client.indices.stats(index=f"{settings.index}*", metric="store")["indices"]
        results["mb"] = {name: body["total"]["store"]["size_in_bytes"] / 1e6 for name, body in sizes.items()}
        return results
    finally:
        if not arguments.keep:
            store.client.indices.delete(index=f"{settings.index}-*")
        store.close()


def main() -> None:
    """Measure and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="URL of a running node; a node is started if not given")
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--warm", type=int, default=50, help="warm-up queries, which are not measured")
    parser.add_argument("--terms", type=int, default=6)
    parser.add_argument("--keep", action="store_true", help="do not delete the index")
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    arguments = parser.parse_args()
    with node_url(arguments.url) as url:
        results = measure(url, arguments)
    print(json.dumps(results, indent=2, default=lambda value: round(value, 2)))
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
