"""`kill -9` at random moments of indexing, each followed by another run: the same rows as after an undisturbed run."""

import random
import signal
import subprocess
import sys
import time

import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import read_progress
from codequarry.shared.model import Filters
from codequarry.shared.versions.snapshots import head_snapshot

# Does what the command line does, and prints every step so that the test can kill it there.
CHILD = """
import sys
from codequarry.ingest.run.pipeline import IndexRequest, Workshop, index_repository
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.store.factory import open_store

home, origin, full = sys.argv[1:]
settings = SettingsModel(home=home, indexing={"processes": 2, "batch_files": 4, "grace_seconds": 0})
embedder = open_embedder(settings.embedding, settings.home / "models")
workshop = Workshop(open_store(settings, embedder.dimension), embedder, settings)
index_repository(
    IndexRequest(origin, full=full == "full"), workshop, lambda state: print(state.phase, state.files_done, flush=True)
)
"""
FILES = 60
CHANGED = 24


def edit(repository, chance: random.Random) -> None:
    """Change, add and remove files, and commit."""
    present = sorted(repository.listing())
    for path in chance.sample(present, min(len(present), CHANGED)):
        if chance.random() < 0.2:
            repository.remove(path)
        else:
            repository.write(path, content(chance))
    for _ in range(FILES - len(repository.listing()) + 5):
        repository.write(f"src/d{chance.randint(0, 3)}/f{chance.randint(0, 200)}.py", content(chance))
    repository.commit()


def content(chance: random.Random) -> str:
    functions = (f"def f{chance.randint(0, 99)}():\n    return {chance.randint(0, 9)}\n\n\n" for _ in range(20))
    return "".join(functions)[: chance.randint(0, 900)]


def start(home, origin: str, full: bool) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, str(home), origin, "full" if full else ""]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def run_until(process: subprocess.Popen[str], steps: int, delay: float) -> bool:
    """Let a run take this many steps and then kill it; return True if it was faster."""
    assert process.stdout
    for _ in range(steps):
        if not process.stdout.readline():
            break
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.stdout.close()
    return process.wait() == 0


def contents(store) -> dict[str, object]:
    """Return everything that readers of head see of every file."""
    snapshot = head_snapshot(read_head(store))
    found: dict[str, object] = {}
    for file in store.files(snapshot):
        assert file.path not in found
        chunks = store.chunks(snapshot, file.path, file.repo)
        assert len(chunks) == file.rows
        found[file.path] = (file.blob, file.verdict, file.rules, file.lines, chunks)
    assert store.count(snapshot, Filters()) == sum(len(facts[-1]) for facts in found.values())
    return found


@pytest.mark.parametrize("seed", range(4))
def test_a_killed_run_and_the_next_run_leave_the_same_as_an_undisturbed_run(
    make_repository, make_workshop, tmp_path, seed
):
    """The next run takes over at once although the lease was not released, and finishes or undoes what it finds."""
    chance = random.Random(seed)
    repository = make_repository(files={"first.py": content(chance)})
    edit(repository, chance)
    disturbed, undisturbed = make_workshop("disturbed"), make_workshop("undisturbed")
    request = IndexRequest(repository.origin)
    steps = 40
    kills = resumed = 0
    for round_ in range(5):
        full = round_ == 3
        process = start(tmp_path / "disturbed", repository.origin, full)
        kills += not run_until(process, chance.randint(1, steps), chance.random() * 0.05)
        if chance.random() < 0.3:
            edit(repository, chance)
        report = index_repository(IndexRequest(repository.origin, full=full and chance.random() < 0.5), disturbed)
        resumed += report.resumed
        index_repository(request, undisturbed)
        assert contents(disturbed.store) == contents(undisturbed.store)
        head = read_head(disturbed.store)
        assert not head.open
        for number in head.aborted:
            for timeline in head.timelines:
                assert disturbed.store.tally(timeline, number, [], []).rows == 0
        assert read_progress(disturbed.store, report.repo) is None
        edit(repository, chance)
    assert kills
