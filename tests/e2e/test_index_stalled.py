"""Two processes index the same repository; the first stalls for longer than its lease and then continues."""

import os
import signal
import subprocess
import sys

import pytest

from codequarry.ingest.fsck.versions import check_version
from codequarry.ingest.run.pipeline import IndexRequest, Workshop, index_repository
from codequarry.shared.catalog.ledger import published_transactions, read_head
from codequarry.shared.model import INDEXED
from codequarry.shared.versions.snapshots import head_snapshot

# Does what the command line does, suspends itself at the chosen call, and is resumed by the test.
CHILD = """
import os, signal, sys
from codequarry.ingest.run.pipeline import IndexRequest, Workshop, index_repository
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.errors import CodequarryError
from codequarry.shared.store.factory import open_store

settings, origin, method, times, full = sys.argv[1:]
settings = SettingsModel.model_validate_json(settings)
left = int(times)

def stand_still():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGSTOP)

class Stalling:
    def __init__(self, store):
        self.store = store
    def __getattr__(self, name):
        if name == method:
            stand_still()
        return getattr(self.store, name)

embedder = open_embedder(settings.embedding, settings.home / "models")
store = open_store(settings, embedder.dimension)
try:
    request = IndexRequest(origin, full=bool(full))
    index_repository(request, Workshop(Stalling(store), embedder, settings))
except CodequarryError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""
LEASE_SECONDS = 1.0
TIMEOUT_SECONDS = 120


@pytest.fixture
def workshop(make_workshop_on_each):
    """Return a workshop with a short lease over an empty store of each kind."""
    return make_workshop_on_each(indexing={"lease_seconds": LEASE_SECONDS, "batch_files": 4})


def start(workshop: Workshop, origin: str, *where: object, full: bool = False) -> subprocess.Popen[str]:
    method, times = where or ("nowhere", 0)
    arguments = [workshop.settings.model_dump_json(), origin, str(method), str(times), "full" if full else ""]
    return subprocess.Popen([sys.executable, "-c", CHILD, *arguments], stderr=subprocess.PIPE, text=True)


def await_stop(process: subprocess.Popen[str]) -> None:
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"the run ended with {os.waitstatus_to_exitcode(status)} before it stalled"


def files(store) -> dict[str, str]:
    return {file.path: file.blob for file in store.files(head_snapshot(read_head(store))) if file.verdict == INDEXED}


def change(repository, value: int) -> None:
    for number in range(0, 20, 2):
        repository.write(f"f{number}.py", f"def changed{number}():\n    return {value}\n")
    repository.remove(f"f{value}.py")
    repository.commit()


# Before the second batch, after its lease check; before the retiring; just before the publication.
@pytest.mark.parametrize(
    ("where", "full"), [(("create", 2), False), (("create", 2), True), (("retire", 1), False), (("count", 1), False)]
)
def test_a_run_that_stalled_for_longer_than_its_lease_does_no_damage(make_repository, workshop, where, full):
    """The second run publishes; what the first does after waking in the middle of a step is refused or invisible."""
    repository = make_repository(files={f"f{number}.py": f"def f{number}():\n    return 1\n" for number in range(20)})
    index_repository(IndexRequest(repository.origin), workshop)
    change(repository, 1)
    first = start(workshop, repository.origin, *where, full=full)
    try:
        await_stop(first)
        second = start(workshop, repository.origin)
        assert second.wait(TIMEOUT_SECONDS) == 0, second.stderr.read()
        assert files(workshop.store) == repository.listing()
        published = read_head(workshop.store).timelines
    finally:
        first.send_signal(signal.SIGCONT)
    _, error = first.communicate(timeout=TIMEOUT_SECONDS)
    second.stderr.close()
    assert first.returncode != 0
    assert error.startswith(("LeaseHeld", "Conflict")), error
    workshop.store.refresh()
    head = read_head(workshop.store)
    assert head.timelines == published, "the publication of the second run stays"
    assert not head.open
    assert files(workshop.store) == repository.listing()
    for timeline in head.timelines:
        for record in published_transactions(workshop.store, head, timeline):
            assert not check_version(record, workshop, full_text=True).wrong_paths
    change(repository, 3)
    assert index_repository(IndexRequest(repository.origin), workshop).changed
    assert files(workshop.store) == repository.listing()
