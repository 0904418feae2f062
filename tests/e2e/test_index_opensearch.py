"""The same runs on the real OpenSearch leave the same contents as in the embedded store, whatever happened before."""

import random

import pytest

from codequarry.ingest.removal.interrupted_removal import LEFT_MIRROR_PREFIX
from codequarry.ingest.removal.removal import remove_repository
from codequarry.ingest.run.pipeline import IndexRequest, Workshop, index_repository
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.errors import LimitExceeded, StoreUnavailable
from codequarry.shared.model import Filters
from codequarry.shared.versions.snapshots import head_snapshot

pytestmark = pytest.mark.opensearch
STEPS = 6


@pytest.fixture
def workshops(make_opensearch_workshop, make_workshop):
    """Return a workshop on OpenSearch and one on the embedded store."""
    return [make(indexing={"batch_files": 5}) for make in (make_opensearch_workshop, make_workshop)]


def contents(store) -> dict[str, object]:
    snapshot = head_snapshot(read_head(store))
    found = {
        file.path: (file.blob, file.verdict, file.rows, store.chunks(snapshot, file.path, file.repo))
        for file in store.files(snapshot)
    }
    assert store.count(snapshot, Filters()) == sum(len(facts[3]) for facts in found.values())
    return found


class Killed:
    """A store that answers a number of calls and then fails."""

    def __init__(self, store, calls: int) -> None:
        self._store, self._calls = store, calls

    def __getattr__(self, name):
        self._calls -= 1
        if self._calls < 0:
            raise StoreUnavailable("this process was killed")
        return getattr(self._store, name)


@pytest.mark.parametrize("seed", range(2))
def test_any_history_of_runs_and_crashes_leaves_the_same_on_both_stores(make_repository, workshops, seed):
    chance = random.Random(seed)
    opensearch, embedded = workshops
    files = {f"src/d{n % 3}/f{n}.py": f"def f{n}():\n    return {n}\n" for n in range(25)}
    repository = make_repository(files=files | {"docs/größe.md": "# Größe\n\nText.\n", "x.bin": b"\0", "empty.py": ""})
    request = IndexRequest(repository.origin)
    for _ in range(STEPS):
        try:
            index_repository(request, Workshop(Killed(opensearch.store, chance.randint(5, 60)), *_rest(opensearch)))
        except StoreUnavailable:
            if chance.random() < 0.3:
                _edit(repository, chance)
        reports = [index_repository(request, workshop) for workshop in workshops]
        assert reports[0].chunks_live == reports[1].chunks_live
        assert dict(reports[0].skipped) == dict(reports[1].skipped)
        assert contents(opensearch.store) == contents(embedded.store)
        assert not read_head(opensearch.store).open
        _edit(repository, chance)
    rebuilt = index_repository(IndexRequest(repository.origin, full=True), opensearch)
    index_repository(request, embedded)
    assert rebuilt.full
    assert contents(opensearch.store) == contents(embedded.store)


def test_an_exceeded_limit_and_a_removal_leave_nothing(make_repository, workshops):
    opensearch, _ = workshops
    repository = make_repository(files={f"f{n}.py": f"x = {n}\n" for n in range(20)})
    with pytest.raises(LimitExceeded):
        index_repository(IndexRequest(repository.origin, max_chunks=8), opensearch)
    (number,) = read_head(opensearch.store).aborted
    opensearch.store.refresh()
    assert opensearch.store.tally(1, number, [], []).rows == 0
    assert index_repository(IndexRequest(repository.origin), opensearch).chunks_live == 20
    remove_repository("project", opensearch.store, opensearch.settings)
    assert contents(opensearch.store) == {}
    # Other machines have yet to delete their mirrors; nothing else is left.
    left = {document.key for document in opensearch.store.list_documents("")}
    assert {key for key in left if not key.startswith(LEFT_MIRROR_PREFIX)} == {"head"}


def _rest(workshop: Workshop):
    return workshop.embedder, workshop.settings


def _edit(repository, chance: random.Random) -> None:
    paths = sorted(repository.listing())
    for path in chance.sample(paths, 5):
        if chance.random() < 0.3:
            repository.remove(path)
        else:
            repository.write(path, f"def g{chance.randint(0, 9)}():\n    pass\n")
    repository.write(f"new{chance.randint(0, 99)}.py", "y = 1\n")
    repository.commit()
