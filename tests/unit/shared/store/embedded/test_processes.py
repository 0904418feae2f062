"""Several processes on one folder: they read and write concurrently, are killed, and fill the disk."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from codequarry.shared.model import Layer, Snapshot
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.store.records import RecallQuery

WORKER = Path(__file__).parent / "worker.py"
DIMENSION = 64
FILES = sorted(f"src/file{number}.py" for number in range(12))
ROWS = 36


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., subprocess.Popen]]:
    """Return a function that starts a worker; running workers are killed at the end."""
    started = []

    def run(mode: str, *numbers: int, where: Path = folder) -> subprocess.Popen:
        command = [sys.executable, str(WORKER), mode, str(where), *map(str, numbers)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def store(folder: Path) -> Iterator[EmbeddedStore]:
    opened = EmbeddedStore(folder, DIMENSION)
    yield opened
    opened.close()


def finished(process: subprocess.Popen) -> str:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output


def check(store: EmbeddedStore, timeline: int) -> list[int]:
    """Check that the timeline shows its newest published generation and nothing else; return its numbers."""
    document = store.read_document(f"head:{timeline}")
    body = document.body if document else {"published": [], "aborted": [], "open": None}
    if not body["published"]:
        return []
    number = body["published"][-1]
    hidden = frozenset(body["aborted"]) | ({body["open"]} - {None})
    seen = Snapshot((Layer((timeline,), number, hidden),))
    answer = store.recall(RecallQuery(seen, terms=("generation", f"g{number}"), term_limit=1000))
    texts = [candidate.chunk.text.split() for candidate in answer.candidates.values()]
    assert {(words[1], words[3]) for words in texts} == {(f"g{number}", f"t{timeline}")}
    assert len(texts) == answer.live_chunks == ROWS
    assert dict(answer.document_frequencies) == {"generation": ROWS, f"g{number}": ROWS}
    assert [(file.path, file.born) for file in store.files(seen)] == [(path, number) for path in FILES]
    assert [len(store.chunks(seen, path, "quarry")) for path in FILES[:2]] == [3, 3]
    return list(body["published"])


def test_writers_readers_and_purges_run_concurrently(start, store):
    """Three processes publish while a fourth keeps purging; every read sees complete generations."""
    writers = [start("publish", timeline, 12) for timeline in (1, 2, 3)]
    purger = start("purge", 9, 8)
    reads = 0
    while any(process.poll() is None for process in writers):
        for timeline in (1, 2, 3):
            check(store, timeline)
            reads += 1
    for process in (*writers, purger):
        finished(process)
    assert reads
    assert [check(store, timeline) for timeline in (1, 2, 3)] == [list(range(1, 13))] * 3
    assert store.tally(9, 1, [], []).rows == 0


def test_a_killed_writer_loses_nothing_and_leaves_no_partial_rows(start, store, folder):
    """After each ``kill -9`` readers see what was published, and the next run undoes the rest."""
    rng = random.Random(5)
    reported = 0
    for _ in range(6):
        process = start("publish", 1, 10_000)
        for _ in range(rng.randint(1, 3)):
            reported = int(process.stdout.readline())
        time.sleep(rng.random() * 0.1)
        process.kill()
        process.communicate()
        published = check(store, 1)
        assert published[-1] >= reported
    finished(start("publish", 1, 1))
    published = check(store, 1)
    connection = apsw.Connection(str(folder / "index.sqlite3"))
    assert connection.pragma("integrity_check") == "ok"
    per_number = dict(connection.execute("SELECT born, count(*) FROM chunk GROUP BY born"))
    assert per_number == dict.fromkeys(published, ROWS)
    for table in ("payload", "vector"):
        assert connection.execute(f"SELECT count(*) FROM {table}").get >= ROWS * len(published)
    connection.close()


def full(start, folder, limit):
    """Fill the disk and return the worker's report."""
    report = json.loads(finished(start("fill", limit, where=folder)))
    assert (report["error"], report["message"][:29]) == ("StoreFull", "no room left on the disk of /")
    assert report["count"] == report["created"] * ROWS
    return report


def test_a_full_disk_is_a_clear_error_without_loss(start, tmp_path):
    """Use a small file system if mounting is permitted, otherwise a limit on file sizes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = (
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", disk], capture_output=True).returncode == 0
    )
    try:
        report = full(start, disk / "store", 0 if mounted else 500_000)
        assert report["created"] > 0
        store = EmbeddedStore(disk / "store", DIMENSION)
        assert store.tally(1, 1, [], []).rows == ROWS
        store.close()
    finally:
        if mounted:
            subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("limit", [20_000, 200_000, 1_000_000])
def test_a_file_size_limit_is_reported_as_a_full_disk(start, folder, limit):
    report = full(start, folder, limit)
    after = EmbeddedStore(folder, DIMENSION)
    for number in range(1, report["created"] + 1):
        assert after.tally(1, number, [], []).rows == ROWS
    assert after.tally(1, report["created"] + 1, [], []).rows == 0
    after.close()
