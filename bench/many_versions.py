"""Compare searches of the default branch with searches of every branch at once (``ref:*``).

``python -m bench.many_versions [--store embedded|opensearch|both] [--url http://127.0.0.1:9200] [--branches 200]``

The repository is generated: 10,000 files of five chunks. The default branch advances by a few files before each branch,
so that every branch lies on another state of it, and each branch changes one chunk in each of twenty files. Both
searches take turns, so that other load slows both alike. The exit status is 1 if the search of all branches takes more
than three times as long as the search of the default branch.
"""

import argparse
import cProfile
import hashlib
import os
import pstats
import random
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from bench.branches_store import embedded_stores, opensearch_stores
from bench.embedded_store import CLUSTERS, WORDS_OF_A_FILE, Words, make_row
from codequarry.search_api.search.engine import SearchEngine, parse_request
from codequarry.shared.arrays import Vector
from codequarry.shared.catalog.repositories import Repository, Summary, save_repository, save_summary
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.model import INDEXED, ChunkRow, FileRecord
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import Store
from codequarry.shared.versions.head import HEAD_KEY, Head, Timeline
from codequarry.shared.versions.transactions import TransactionRecord

REPO, MAIN = "bench", 1
CHUNKS_A_FILE = 5
FILES_A_BATCH = 200
# Files that the default branch changes before each branch.
FILES_A_COMMIT = 3
MOST = 3.0


@dataclass(slots=True)
class Generated:
    """A generated repository in a store: the edits of each file on the default branch, and the head document."""

    store: Store
    words: Words
    centres: np.ndarray
    edits: dict[str, int] = field(default_factory=dict)
    head: Head = field(default_factory=Head)

    def put(self, files: Mapping[str, str], timeline: int, number: int) -> None:
        """Write files, each with the name of the edit that changed its first chunk."""
        rows = [row for path, edit in files.items() for row in self.rows(path, edit, timeline, number)]
        records = [
            FileRecord(REPO, path, _digest(path, edit)[:40], INDEXED, CHUNKS_A_FILE, "r", timeline, number, "python")
            for path, edit in files.items()
        ]
        self.store.create(rows, records, {row.vector_key: self.vector(row.vector_key) for row in rows})

    def rows(self, path: str, edit: str, timeline: int, number: int) -> Iterator[ChunkRow]:
        """Yield the rows of a file, which are the same for the same path except for what the edit changed."""
        self.words.random = random.Random(path)
        own = self.words.pick(WORDS_OF_A_FILE)
        blob = _digest(path, edit)[:40]
        for ordinal in range(CHUNKS_A_FILE):
            row = make_row(self.words, own, path, ordinal, timeline, number)
            text = row.chunk.text + (f"\n    edited({edit!r})" if edit and not ordinal else "")
            chunk = replace(
                row.chunk, blob=blob, id=_digest(path, blob, str(ordinal))[:40], text=text, content_hash=_digest(text)
            )
            yield replace(row, chunk=chunk, vector_key=_digest(path, text))

    def vector(self, key: str) -> Vector:
        """Return a unit vector around a cluster's centre."""
        chance = np.random.default_rng(int(key[:12], 16))
        made = self.centres[chance.integers(0, CLUSTERS)] + 0.6 * chance.standard_normal(self.centres.shape[1])
        return np.asarray(made / np.linalg.norm(made), np.float32)

    def publish(self, timeline: int, ref: str, files: Mapping[str, str], base: int | None = None) -> int:
        """Write and publish a transaction, of an overlay if it has a base; return its number."""
        number = self.head.counter + 1
        paths = list(files)
        for start in range(0, len(paths), FILES_A_BATCH):
            self.put({path: files[path] for path in paths[start : start + FILES_A_BATCH]}, timeline, number)
        if base is None:
            self.store.refresh()
            self.store.retire(timeline, number, paths, ())
        commit = f"{number:040x}"
        place = (None, None) if base is None else (MAIN, base)
        mask = () if base is None else tuple(paths)
        record = TransactionRecord(
            timeline, number, REPO, ref or "main", commit, "r", len(paths), "2026-01-01T00:00:00+00:00", *place, mask,
            (commit,), 1,
        )  # fmt: skip
        self.store.write_document(record.key, asdict(record), None)
        save_summary(self.store, Summary(timeline, number, len(self.edits), len(self.edits) * CHUNKS_A_FILE))
        pins = frozenset({(MAIN, base)}) if base is not None else frozenset[tuple[int, int]]()
        state = Timeline(REPO, number, commit, ref=ref, pins=pins, repo_id=REPO)
        self.head = replace(
            self.head, counter=number, timelines={**self.head.timelines, timeline: state}, defaults={REPO: MAIN}
        )
        return number

    def fill(self, files: int, branches: int) -> None:
        """Write the default branch, its commits and the branches."""
        self.head = Head(1, timelines={}, aborted=frozenset({5_000_000}))
        save_repository(self.store, Repository(REPO, "", "main", id=REPO))
        names = self.words.words
        paths = [f"src/{names[n % 40]}/{names[n % 300]}/{names[n]}{n}.py" for n in range(files)]
        self.edits = dict.fromkeys(paths, 0)
        base = self.publish(MAIN, "", dict.fromkeys(paths, ""))
        chance = random.Random(1)
        for number in range(branches):
            edited = chance.sample(paths, FILES_A_COMMIT)
            self.edits |= {path: self.edits[path] + 1 for path in edited}
            base = self.publish(MAIN, "", {path: f"main {self.edits[path]}" for path in edited})
            changed = {path: f"branch {number}" for path in chance.sample(paths, 20)}
            self.head = replace(self.head, counter=self.head.counter + 1)
            self.publish(self.head.counter, f"refs/heads/feature/{number}", changed, base)
        known = self.store.read_document(HEAD_KEY)
        self.store.write_document(HEAD_KEY, self.head.to_json(), known.version if known else None)
        self.store.refresh()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def questions(words: Words, count: int) -> list[str]:
    """Return questions of a few common and rare words."""
    words.random = random.Random(7)
    return [" ".join(words.pick(5)) for _ in range(count)]


def timed(engine: SearchEngine, asked: list[str], scopes: list[Mapping[str, str]]) -> list[list[float]]:
    """Return the milliseconds of each search in each scope; the scopes take turns."""
    took: list[list[float]] = [[] for _ in scopes]
    for question in asked:
        for scope, spent in zip(scopes, took, strict=True):
            request = parse_request({"query": question, "top_k": 20, "filters": {"repo": REPO, **scope}})
            started = time.perf_counter()
            engine.search(request)
            spent.append((time.perf_counter() - started) * 1000)
    return took


def measure(name: str, store: Store, embedder: Embedder, given: argparse.Namespace) -> bool:
    """Fill a store and compare the searches; return whether the target was met."""
    centres = np.random.default_rng(0).standard_normal((CLUSTERS, embedder.dimension))
    words = Words(1)
    Generated(store, words, centres).fill(given.files, given.branches)
    engine = SearchEngine(store, embedder, SettingsModel())
    asked = questions(words, given.queries)
    scopes: list[Mapping[str, str]] = [{}, {"ref": "*"}, {"branch": "feature/1*"}]
    started = time.perf_counter()
    timed(engine, asked[:1], scopes[1:2])
    print(f"{name:11} the first search of everything: {(time.perf_counter() - started) * 1000:.0f} ms")
    timed(engine, asked[:20], scopes)
    if given.profile:
        profile = cProfile.Profile()
        profile.runcall(timed, engine, asked, scopes[1:2])
        pstats.Stats(profile).sort_stats("cumulative").print_stats(45)
    took = timed(engine, asked, scopes)
    medians = [statistics.median(spent) for spent in took]
    for label, spent, median in zip(("default branch", "ref:*", "branch:feature/1*"), took, medians, strict=True):
        p95 = statistics.quantiles(spent, n=20)[-1]
        print(f"{name:11} {label:20} p50 {median:6.1f} ms  p95 {p95:6.1f}  x{median / medians[0]:.2f}")
    return medians[1] <= MOST * medians[0]


def main() -> None:
    """Measure, and exit with 1 if the target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", choices=("embedded", "opensearch", "both"), default="both")
    parser.add_argument("--url", help="URL of a running OpenSearch node; a node is started if not given")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--branches", type=int, default=200)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--profile", action="store_true", help="print where searches of everything spend their time")
    given = parser.parse_args()
    settings = SettingsModel()
    embedder = open_embedder(settings.embedding, settings.home / "models")
    given.dimension = embedder.dimension
    kinds = {"embedded": embedded_stores, "opensearch": opensearch_stores}
    fine = True
    for name in kinds if given.store == "both" else (given.store,):
        with kinds[name](given) as stores:
            fine &= measure(name, stores[0], embedder, given)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
