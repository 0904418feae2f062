"""Compare searches of two indices: one repository without branches, and the same with many small overlays.

``python -m bench.branches_store [--store embedded|opensearch|both] [--url http://127.0.0.1:9200] [--branches 200]``

The chunks are synthetic, as in ``embedded_store.py``: 5,000 files of ten chunks, and overlays of twenty changed files
each, with one new chunk out of ten. Every search reads the head document, makes its snapshot and recalls, as the
service does. The two indices take turns, so that other load slows both alike. The exit status is 1 if a ratio is above
its target (1.3 on the default branch, 1.5 on a branch).
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench.embedded_store import CHUNKS_A_FILE, FILES_A_BATCH, WORDS_OF_A_FILE, Words, make_row, queries, vectors_of
from bench.opensearch_store import node_url
from codequarry.shared.catalog.ledger import read_head, read_transaction
from codequarry.shared.model import INDEXED, ChunkRow, FileRecord, Snapshot
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.store.opensearch.store import OpenSearchStore
from codequarry.shared.store.port import Store
from codequarry.shared.store.records import RecallQuery
from codequarry.shared.versions.head import HEAD_KEY, Head, Timeline
from codequarry.shared.versions.snapshots import head_snapshot, version_snapshot
from codequarry.shared.versions.transactions import TransactionRecord

REPO, MAIN = "bench", 1
CHANGED_FILES = 20
# Chunks of a changed file whose text was never embedded.
NEW_CHUNKS = 1
MOST_ON_MAIN, MOST_ON_A_BRANCH = 1.3, 1.5
OPEN_NUMBERS = frozenset({5, 9})


@dataclass
class Index:
    """One store and its contents: the paths, and the vector keys of each path's chunks."""

    store: Store
    words: Words
    dimension: int
    keys: dict[str, list[str]]
    head: Head

    def write_head(self) -> None:
        """Write the current head document."""
        known = self.store.read_document(HEAD_KEY)
        self.store.write_document(HEAD_KEY, self.head.to_json(), known.version if known else None)

    def put(self, files: Sequence[tuple[str, int, int]], fresh: int) -> None:
        """Write files (path, timeline, born). ``fresh`` chunks of each are new; the others reuse known vector keys."""
        rows, records = [], []
        for path, timeline, born in files:
            own = self.words.pick(WORDS_OF_A_FILE)
            made = [make_row(self.words, own, path, ordinal, timeline, born) for ordinal in range(CHUNKS_A_FILE)]
            old = self.keys.setdefault(path, [row.vector_key for row in made])
            rows += [with_key(row, old[place]) if place >= fresh else row for place, row in enumerate(made)]
            records.append(FileRecord(REPO, path, made[0].chunk.blob, INDEXED, len(made), "r", timeline, born))
        vectors = self.store.cached_vectors([row.vector_key for row in rows])
        new = [row.vector_key for row in rows if row.vector_key not in vectors]
        vectors |= zip(new, vectors_of(len(new), self.dimension, len(self.keys) + files[0][2]), strict=True)
        self.store.create(rows, records, vectors)

    def put_base(self, files: int) -> None:
        """Write the default branch."""
        names = self.words.words
        paths = [f"src/{names[n % 40]}/{names[n % 300]}/{names[n]}{n}.py" for n in range(files)]
        for start in range(0, files, FILES_A_BATCH):
            self.put([(path, MAIN, 2) for path in paths[start : start + FILES_A_BATCH]], CHUNKS_A_FILE)
        self.head = Head(3, timelines={MAIN: Timeline(REPO, 2, "a" * 40)}, defaults={REPO: MAIN}, aborted=OPEN_NUMBERS)
        self.write_head()

    def put_branch(self, number: int, files: int = CHANGED_FILES) -> None:
        """Write another overlay on the default branch, its record and the new head document."""
        timeline, born = self.head.counter + 1, self.head.counter + 2
        paths = self.words.random.sample(sorted(self.keys), files)
        self.put([(path, timeline, born) for path in paths], NEW_CHUNKS)
        commit = f"{number:040x}"
        record = TransactionRecord(
            timeline, born, REPO, f"branch-{number}", commit, "r", len(paths), "2026-01-01T00:00:00+00:00",
            MAIN, 2, tuple(paths), (commit,), 1,
        )  # fmt: skip
        self.store.write_document(record.key, asdict(record), None)
        state = Timeline(REPO, born, commit, ref=f"refs/heads/branch-{number}", pins=frozenset({(MAIN, 2)}))
        self.head = replace(self.head, counter=born, timelines={**self.head.timelines, timeline: state})
        self.write_head()

    def main_snapshot(self) -> Snapshot:
        """Return the default branch's snapshot, made as in the service."""
        return head_snapshot(read_head(self.store), [REPO])

    def branch_snapshot(self, place: int) -> Snapshot:
        """Return the snapshot of an overlay, made as in the service."""
        head = read_head(self.store)
        overlays = sorted(head.timelines.keys() - {MAIN})
        timeline = overlays[place % len(overlays)]
        record = read_transaction(self.store, timeline, head.timelines[timeline].published)
        assert record
        return version_snapshot(head, record)


def with_key(row: ChunkRow, key: str) -> ChunkRow:
    """Return a row whose embedded text has a known vector."""
    return replace(row, vector_key=key)


Search = Callable[[int, RecallQuery], object]


def timed(searches: Sequence[Search], asked: Sequence[RecallQuery]) -> list[list[float]]:
    """Return the milliseconds of each search for each query; the searches take turns."""
    took: list[list[float]] = [[] for _ in searches]
    for place, query in enumerate(asked):
        for spent, search in zip(took, searches, strict=True):
            started = time.perf_counter()
            search(place, query)
            spent.append((time.perf_counter() - started) * 1000)
    return took


def on_main(index: Index) -> Search:
    """Return a search of the default branch."""
    return lambda _, query: index.store.recall(replace(query, snapshot=index.main_snapshot()))


def on_branches(index: Index, branches: int) -> Search:
    """Return a search of ``branches`` overlays in turn."""
    return lambda place, query: index.store.recall(replace(query, snapshot=index.branch_snapshot(place % branches)))


def report(name: str, took: Sequence[Sequence[float]], labels: Sequence[str], most: float) -> bool:
    """Print medians and their ratios to the first, and return whether all ratios are at most ``most``."""
    medians = [statistics.median(spent) for spent in took]
    ratios = [median / medians[0] for median in medians]
    for label, spent, median, ratio in zip(labels, took, medians, ratios, strict=True):
        p95 = statistics.quantiles(spent, n=20)[-1]
        print(f"{name:11} {label:44} p50 {median:6.1f} ms  p95 {p95:6.1f}  x{ratio:.2f}")
    return max(ratios) <= most


def measure(name: str, plain: Index, branchy: Index, given: argparse.Namespace) -> bool:
    """Fill two indices alike, one of them with branches, and compare their searches."""
    for index in (plain, branchy):
        index.put_base(given.files)
    started = time.perf_counter()
    for number in range(given.branches):
        branchy.put_branch(number)
    each = (time.perf_counter() - started) / given.branches
    print(f"{name:11} {given.branches} branches of {CHANGED_FILES} files, {each * 1000:.0f} ms each (no embedding)")
    for index in (plain, branchy):
        index.store.refresh()
    asked = list(queries(given.dimension, 2))[: given.queries]
    searches = [on_main(plain), on_main(branchy), on_branches(branchy, 1), on_branches(branchy, given.branches)]
    timed(searches, asked[:40])
    took = timed(searches, asked)
    fine = report(name, took[:2], ("main, without branches", "main, with branches"), MOST_ON_MAIN)
    labels = ("main, without branches", "one branch", "another branch each time")
    fine &= report(name, [took[0], *took[2:]], labels, MOST_ON_A_BRANCH)
    return fine & measure_busy(name, plain, branchy, asked)


def measure_busy(name: str, plain: Index, branchy: Index, asked: Sequence[RecallQuery]) -> bool:
    """Compare searches that each follow a transaction on another timeline."""
    took: list[list[float]] = [[], []]
    for place, query in enumerate(asked[: len(asked) // 4]):
        for index, spent in zip((plain, branchy), took, strict=True):
            index.put_branch(1_000_000 + place, files=1)
            index.store.refresh()
            started = time.perf_counter()
            on_main(index)(place, query)
            spent.append((time.perf_counter() - started) * 1000)
    labels = ("main after a transaction, without branches", "main after a transaction, with branches")
    return report(name, took, labels, MOST_ON_MAIN)


@contextmanager
def embedded_stores(given: argparse.Namespace) -> Iterator[list[Store]]:
    """Yield two embedded stores in temporary folders."""
    with ExitStack() as stack:
        folders = [Path(tempfile.mkdtemp(prefix="codequarry-bench-")) for _ in range(2)]
        for folder in folders:
            stack.callback(shutil.rmtree, folder)
        stores = [EmbeddedStore(folder, given.dimension) for folder in folders]
        for store in stores:
            stack.callback(store.close)
        yield stores


@contextmanager
def opensearch_stores(given: argparse.Namespace) -> Iterator[list[Store]]:
    """Yield two stores on one node; their indices are deleted afterwards."""
    with node_url(given.url) as url, ExitStack() as stack:
        names = [f"bench-{uuid.uuid4().hex[:8]}" for _ in range(2)]
        settings = [OpenSearchSettings(urls=(url,), index=name, timeout_seconds=300) for name in names]
        stores = [OpenSearchStore(options, given.dimension) for options in settings]
        for store, name in zip(stores, names, strict=True):
            stack.callback(store.close)
            stack.callback(store.client.indices.delete, index=f"{name}-*")
        yield stores


def main() -> None:
    """Measure, and exit with 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", choices=("embedded", "opensearch", "both"), default="both")
    parser.add_argument("--url", help="URL of a running OpenSearch node; a node is started if not given")
    parser.add_argument("--files", type=int, default=5_000)
    parser.add_argument("--branches", type=int, default=200)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--dimension", type=int, default=256)
    given = parser.parse_args()
    kinds = {"embedded": embedded_stores, "opensearch": opensearch_stores}
    fine = True
    for name in kinds if given.store == "both" else (given.store,):
        with kinds[name](given) as stores:
            plain, branchy = (Index(store, Words(1), given.dimension, {}, Head()) for store in stores)
            fine &= measure(name, plain, branchy, given)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
