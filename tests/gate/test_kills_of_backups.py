"""`kill -9` of backups and restores of the embedded store, at random moments of a real process."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.model import Filters
from codequarry.shared.store.backups import MANIFEST
from codequarry.shared.store.embedded.backup import restore_backup, verify_backup, write_backup
from codequarry.shared.store.embedded.editions import EmbeddedEditions
from codequarry.shared.versions.snapshots import head_snapshot

# Makes the index large enough for kills to hit every part of the work; nothing reads these vectors.
BALLAST = 30_000
KILLS = 6

BACKUP = "from codequarry.shared.store.embedded.backup import write_backup as run"
RESTORE = "from codequarry.shared.store.embedded.backup import restore_backup as run"


@pytest.fixture
def home(make_repository, make_workshop):
    repository = make_repository(files={f"f{n}.py": f"def f{n}():\n    return {n}\n" for n in range(20)})
    workshop = make_workshop()
    index_repository(IndexRequest(repository.origin), workshop)
    vectors = np.eye(1, workshop.embedder.dimension, dtype=np.float32)[0]
    workshop.store.cache_vectors({f"ballast {n}": vectors for n in range(BALLAST)})
    return workshop.settings.home


def state(home):
    """Return the state and the contents of the active index, which must be readable at any time."""
    editions = EmbeddedEditions(home)
    number = editions.active()
    store = editions.open(number, editions.dimension(number))
    try:
        head = read_head(store)
        assert store.inspect(thoroughly=True) == []
        return head.counter, sorted(chunk.text for chunk in store.find(head_snapshot(head), Filters(), 1_000))
    finally:
        store.close()


def run(imports, arguments, seconds=None):
    """Run a function in a new process and kill it after ``seconds``; return its duration and whether it was killed."""
    code = f"import sys\nfrom pathlib import Path\n{imports}\nprint('begins', flush=True)\nrun({arguments})"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begins\n", child.stderr.read()
    began = time.monotonic()
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
    err = child.communicate()[1]
    assert child.returncode in (0, -signal.SIGKILL), err
    return time.monotonic() - began, child.returncode != 0


def test_a_killed_backup_does_not_count_and_the_next_backup_cleans_up(home, tmp_path):
    before, folder, chance = state(home), EmbeddedEditions(home).active_folder(), random.Random(15)
    interrupted = 0
    took, _ = run(BACKUP, f"Path({str(folder)!r}), Path({str(tmp_path / 'copy')!r})")
    for number in range(KILLS):
        target = tmp_path / f"killed{number}"
        run(BACKUP, f"Path({str(folder)!r}), Path({str(target)!r})", chance.uniform(0, took))
        assert state(home) == before
        if target.exists():
            verify_backup(target)
        else:
            interrupted += 1
            write_backup(folder, target)
        assert not list(tmp_path.glob(f".codequarry-{target.name}-*"))
        assert json.loads((target / MANIFEST).read_text())["store"] == "embedded"
    assert interrupted, "no kill came before the end: the index is too small for this test"


def test_a_killed_restore_leaves_a_working_index_and_the_next_restore_cleans_up(home, tmp_path):
    before, chance = state(home), random.Random(15)
    copy = tmp_path / "copy"
    write_backup(EmbeddedEditions(home).active_folder(), copy)
    arguments = f"Path({str(copy)!r}), Path({str(home)!r}), replace=True"
    took, _ = run(RESTORE, arguments)
    died = 0
    for _ in range(KILLS):
        died += run(RESTORE, arguments, chance.uniform(0, took))[1]
        assert state(home) == before
    assert died, "no kill came before the end: the index is too small for this test"
    restore_backup(copy, home, replace=True)
    assert state(home) == before
    assert len(EmbeddedEditions(home).present()) == 1
    assert not list(home.glob(".restore-*"))
    assert not list(tmp_path.glob(".codequarry-*"))
    assert all(entry.stat().st_mode & 0o77 == 0 for entry in os.scandir(home))
