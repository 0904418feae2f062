"""A shared import has the same result as an unshared import, even if processes die, and leaves nothing behind."""

import os
import shutil
import threading
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.ingest.shared_import import helper
from codequarry.ingest.shared_import.coordinator import HelperSilent
from codequarry.ingest.shared_import.helper import Helper
from codequarry.ingest.shared_import.share import SharedImport
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.errors import GitError, Interrupted, LeaseHeld, LimitExceeded, StoreUnavailable
from codequarry.shared.store.factory import open_store
from codequarry.shared.versions.transactions import take_over

FILES = {
    f"src/d{at % 7}/f{at}.py": f'"""Step {at}."""\n\n\ndef step_{at}(x):\n    return x + {at}\n' for at in range(60)
}
OTHERS = {
    "logo.png": b"\x89PNG\x00",
    "README.md": "# A\n\nb\n\n## C\n\nd\n",
    "vendor/x.go": "package x\n",
    "empty.py": "",
}


@pytest.fixture
def repository(make_repository):
    return make_repository("core", FILES | OTHERS)


@pytest.fixture
def share_workshop(make_workshop):
    """Return a workshop that shares every import in batches of five files."""
    return make_workshop("shared", indexing={"batch_files": 5}, queue={"share_files": 0})


def ignore(_):
    """Observe nothing."""


def take_part(*arguments):
    """Take a single turn with a new helper."""
    with closing(Helper()) as helping:
        return helping.take_part(*arguments)


class Helpers:
    """Starts a thread for each helper called, up to three, each with its own mirrors, until no batch is left."""

    def __init__(self, workshop, tmp_path, take=Helper.take_part):
        self.workshop, self.tmp_path, self.take = workshop, tmp_path, take
        self.threads: list[threading.Thread] = []
        self.batches = 0
        self.failures: list[BaseException] = []

    def call(self, timeline, number, most):
        for _ in range(min(most, 3)):
            thread = threading.Thread(target=self._run, args=(timeline, number, len(self.threads)))
            self.threads.append(thread)
            thread.start()
        # The coordinator must not finish before a helper has started.
        deadline = time.monotonic() + 20
        while not (self.batches or self.failures) and time.monotonic() < deadline:
            time.sleep(0.01)

    def _run(self, timeline, number, at):
        own = self.workshop.settings.model_copy(update={"home": self.tmp_path / f"helper-{at}"})
        workshop = replace(self.workshop, settings=own)
        more = True
        try:
            with closing(Helper()) as helping:
                while more:
                    more = self.take(helping, timeline, number, workshop, ignore)
                    self.batches += 1
        except BaseException as error:
            self.failures.append(error)

    def join(self):
        for thread in self.threads:
            thread.join()


def contents(store):
    """Return all rows with their vectors and all records of the published timeline."""
    head = read_head(store)
    [timeline] = head.timelines
    stored = list(store.history(timeline))
    rows = [entry.row for entry in stored if hasattr(entry, "row")]
    vectors = store.cached_vectors({row.vector_key for row in rows})
    made = {(row.chunk.path, row.chunk.blob, row.chunk.id, row.chunk.text): vectors[row.vector_key] for row in rows}
    records = {
        (entry.record.path, entry.record.blob, entry.record.verdict, entry.record.rows)
        for entry in stored
        if hasattr(entry, "record")
    }
    return made, records


def check_same(store, expected_store):
    made, records = contents(store)
    expected, expected_records = contents(expected_store)
    assert (made.keys(), records) == (expected.keys(), expected_records)
    assert all(np.abs(made[key] - expected[key]).max() < 1e-6 for key in made)


def test_several_processes_write_what_one_process_writes(repository, make_workshop, share_workshop, tmp_path):
    alone = make_workshop("alone")
    expected = index_repository(IndexRequest(repository.origin), alone)
    helpers = Helpers(share_workshop, tmp_path)
    seen = []
    report = index_repository(
        IndexRequest(repository.origin), replace(share_workshop, call_helpers=helpers.call), seen.append
    )
    helpers.join()
    assert helpers.failures == []
    assert helpers.batches >= 1
    same = {"files_indexed", "files_changed", "skipped", "chunks_written", "chunks_live", "commit"}
    assert {name: getattr(report, name) for name in same} == {name: getattr(expected, name) for name in same}
    assert report.embedded + report.reused_embeddings == expected.embedded + expected.reused_embeddings
    check_same(share_workshop.store, alone.store)
    assert [progress.files_done for progress in seen] == sorted(progress.files_done for progress in seen)
    assert seen[-1].files_done == len(FILES | OTHERS)
    assert share_workshop.store.list_documents("batch:") == []


# Stands before git in PATH, and reads no history for a helper.
GIT = """#!/bin/sh
case "$*" in */helper-*" log "*) echo "fatal: unable to read tree" >&2; exit 128;; esac
exec {git} "$@"
"""


def test_a_helper_that_finds_no_history_is_reported(repository, share_workshop, tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(GIT.format(git=shutil.which("git")))
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    helpers = Helpers(share_workshop, tmp_path)
    report = index_repository(IndexRequest(repository.origin), replace(share_workshop, call_helpers=helpers.call))
    helpers.join()
    assert helpers.failures == []
    lacking = "files were indexed without their history: cannot read the history of files: unable to read tree"
    assert report.warnings == (lacking,)


@pytest.mark.opensearch
def test_several_processes_write_what_one_process_writes_on_opensearch(
    repository, make_workshop, share_workshop, tmp_path, opensearch_node, embedder
):
    alone = make_workshop("alone")
    index_repository(IndexRequest(repository.origin), alone)
    with opensearch_node.empty_index(embedder.dimension) as index:
        settings = share_workshop.settings.model_copy(update={"store": "opensearch", "opensearch": index})
        store = open_store(settings, embedder.dimension)
        workshop = replace(share_workshop, store=store, settings=settings)
        helpers = Helpers(workshop, tmp_path)
        index_repository(IndexRequest(repository.origin), replace(workshop, call_helpers=helpers.call))
        helpers.join()
        assert helpers.failures == []
        check_same(store, alone.store)
        assert store.list_documents("batch:") == []
        store.close()


def test_a_shared_import_finishes_without_helpers(repository, make_workshop, share_workshop):
    alone = make_workshop("alone")
    index_repository(IndexRequest(repository.origin), alone)
    calls = []
    index_repository(
        IndexRequest(repository.origin), replace(share_workshop, call_helpers=lambda *call: calls.append(call))
    )
    assert len(calls) == 1
    check_same(share_workshop.store, alone.store)


def test_the_coordinator_takes_over_the_batch_of_a_dead_helper(repository, make_workshop, share_workshop):
    alone = make_workshop("alone")
    index_repository(IndexRequest(repository.origin), alone)
    settings = share_workshop.settings
    hasty = settings.model_copy(update={"indexing": settings.indexing.model_copy(update={"lease_seconds": 0.5})})

    def take_and_die(timeline, number, _):
        share = SharedImport(share_workshop.store, timeline, number)
        assert share.take(3, "")  # a claimant known to be gone

    workshop = replace(share_workshop, settings=hasty, call_helpers=take_and_die)
    index_repository(IndexRequest(repository.origin), workshop)
    check_same(share_workshop.store, alone.store)
    assert share_workshop.store.list_documents("batch:") == []


def test_a_transaction_with_a_silent_helper_is_aborted(repository, make_workshop, share_workshop):
    """A helper may check the lease, stall, and write much later; no reader may ever see those rows."""
    store, settings = share_workshop.store, share_workshop.settings
    hasty = settings.model_copy(update={"indexing": settings.indexing.model_copy(update={"lease_seconds": 0.5})})
    numbers = []

    def take_and_stall(timeline, number, _):
        numbers.append(number)
        assert SharedImport(store, timeline, number).take(4, "another machine")

    with pytest.raises(HelperSilent, match="another machine joined and then stopped responding"):
        index_repository(
            IndexRequest(repository.origin), replace(share_workshop, settings=hasty, call_helpers=take_and_stall)
        )
    head = read_head(store)
    assert set(numbers) <= head.aborted
    assert (head.open, store.list_documents("batch:")) == ({}, [])
    index_repository(IndexRequest(repository.origin), share_workshop)
    assert read_head(store).defaults


def test_a_hanging_helper_counts_as_silent(repository, share_workshop, tmp_path, monkeypatch):
    """Its heartbeat thread goes on, but the import must not wait for hours."""
    monkeypatch.setattr(helper, "BATCH_SECONDS", 0.0)
    settings = share_workshop.settings
    hasty = settings.model_copy(update={"indexing": settings.indexing.model_copy(update={"lease_seconds": 1.0})})
    over = threading.Event()

    def hang(helping, timeline, number, workshop, _):
        def observe(_):
            helpers.batches = 1  # lets the coordinator continue
            over.wait(60)

        return helping.take_part(timeline, number, workshop, observe)

    workshop = replace(share_workshop, settings=hasty)
    helpers = Helpers(workshop, tmp_path, hang)
    with pytest.raises(HelperSilent):
        index_repository(IndexRequest(repository.origin), replace(workshop, call_helpers=helpers.call))
    over.set()
    helpers.join()
    assert {type(error) for error in helpers.failures} == {LeaseHeld}
    assert share_workshop.store.list_documents("batch:") == []


def test_a_helper_claims_no_batch_before_it_has_the_commit(repository, share_workshop, tmp_path, monkeypatch):
    """A first clone on its machine may take an hour, and the import would wait for the claimed batch."""
    claims = []

    def fetch(*_, **__):
        claims.extend(share_workshop.store.list_documents("batch:0000000001:0000000002:claim"))
        raise GitError("no way there")

    monkeypatch.setattr(helper, "fetch_commit", fetch)
    helpers = Helpers(share_workshop, tmp_path)
    index_repository(IndexRequest(repository.origin), replace(share_workshop, call_helpers=helpers.call))
    helpers.join()
    assert {type(error) for error in helpers.failures} == {GitError}
    # The coordinator may have claimed a batch itself.
    assert len({claim.body["claimant"] for claim in claims}) <= 1


def test_a_helper_that_comes_at_the_very_end_leaves_nothing_behind(repository, share_workshop, monkeypatch):
    store = share_workshop.store
    free, places = helper._free, []

    def clear_after(share, plan):
        found = free(share, plan)
        if len(places) == 1:
            share.clear()
        places.append(found)
        return found

    def help_late(timeline, number, _):
        monkeypatch.setattr(helper, "_free", clear_after)
        assert not take_part(timeline, number, share_workshop, ignore)
        assert store.list_documents("batch:") == []
        raise GitError("broken off")

    with pytest.raises(GitError):
        index_repository(IndexRequest(repository.origin), replace(share_workshop, call_helpers=help_late))
    assert len(places) == 2


@pytest.mark.parametrize("error", [GitError("no way there"), Interrupted("it is to end")])
def test_a_failing_helper_gives_its_batch_back(repository, make_workshop, share_workshop, tmp_path, monkeypatch, error):
    alone = make_workshop("alone")
    index_repository(IndexRequest(repository.origin), alone)

    def fail(helping, timeline, number, workshop, _):
        def observe(_):
            raise error

        return helping.take_part(timeline, number, workshop, observe)

    helpers = Helpers(share_workshop, tmp_path, fail)
    index_repository(IndexRequest(repository.origin), replace(share_workshop, call_helpers=helpers.call))
    helpers.join()
    assert {type(failure) for failure in helpers.failures} == {type(error)}
    check_same(share_workshop.store, alone.store)
    assert share_workshop.store.list_documents("batch:") == []


def test_a_helper_writes_nothing_after_the_coordinator_lost_its_lease(repository, share_workshop):
    """Rule 2: every write first checks the lease of the coordinator."""
    store = share_workshop.store
    tried = []

    def help_while_it_is_stolen(timeline, number, _):
        def steal(_):
            lease = read_head(store).timelines[timeline].lease
            change_head(store, lambda head: (take_over(head, timeline, lease, "somebody else"), None))

        with pytest.raises(LeaseHeld):
            take_part(timeline, number, share_workshop, steal)
        tried.append(list(store.written_files(timeline, number)))

    with pytest.raises(LeaseHeld):
        index_repository(IndexRequest(repository.origin), replace(share_workshop, call_helpers=help_while_it_is_stolen))
    assert tried == [[]]


def test_a_resumed_import_starts_with_new_batches(repository, make_workshop, share_workshop):
    alone = make_workshop("alone")
    index_repository(IndexRequest(repository.origin), alone)

    def break_off(progress):
        if progress.files_done > 10:
            raise GitError("broken off")

    workshop = replace(share_workshop, call_helpers=lambda *_: None)
    with pytest.raises(GitError):
        index_repository(IndexRequest(repository.origin), workshop, break_off)
    assert share_workshop.store.list_documents("batch:")
    report = index_repository(IndexRequest(repository.origin), share_workshop)
    assert report.resumed
    check_same(share_workshop.store, alone.store)
    assert share_workshop.store.list_documents("batch:") == []


@pytest.mark.parametrize("full", [False, True], ids=["undone", "purged"])
def test_batches_of_an_aborted_import_are_deleted(repository, share_workshop, full):
    workshop = replace(share_workshop, call_helpers=lambda *_: None)
    index_repository(IndexRequest(repository.origin), workshop)
    for at in range(12):
        repository.write(f"src/d0/new{at}.py", f"def new():\n    return {at}\n")
    repository.commit()

    def break_off(progress):
        if progress.files_done:
            raise GitError("broken off")

    with pytest.raises(GitError):
        index_repository(IndexRequest(repository.origin, full=full), workshop, break_off)
    assert share_workshop.store.list_documents("batch:")
    repository.write("only.py", "another_commit = 1\n")
    repository.commit()
    index_repository(IndexRequest(repository.origin), share_workshop)
    assert share_workshop.store.list_documents("batch:") == []


@pytest.mark.parametrize("limits", [{"max_chunks": 1}, {"max_tokens": 1}])
def test_an_import_with_a_limit_is_not_shared(repository, share_workshop, limits):
    calls = []
    workshop = replace(share_workshop, call_helpers=lambda *call: calls.append(call))
    with pytest.raises(LimitExceeded):
        index_repository(IndexRequest(repository.origin, **limits), workshop)
    assert calls == []


def test_a_small_import_is_not_shared(repository, make_workshop):
    calls = []
    workshop = replace(make_workshop(), call_helpers=lambda *call: calls.append(call))
    index_repository(IndexRequest(repository.origin), workshop)
    assert calls == []


class Opened:
    """Counts the readers that are opened and closed."""

    def __init__(self, monkeypatch):
        self.opened = self.closed = 0
        self._open = helper.open_readers
        monkeypatch.setattr(helper, "open_readers", self)

    def __call__(self, *arguments):
        self.opened += 1
        readers = self._open(*arguments)
        close = readers.close

        def count():
            self.closed += 1
            close()

        readers.close = count
        return readers


@pytest.fixture
def short_turns(monkeypatch):
    """End each turn after one batch."""
    monkeypatch.setattr(helper, "TURN_SECONDS", 0.0)


@pytest.fixture
def opened(monkeypatch):
    return Opened(monkeypatch)


def test_readers_are_kept_between_turns_and_closed_after_the_last(repository, share_workshop, opened, short_turns):
    turns = []

    def help_to_the_end(timeline, number, _):
        with closing(Helper()) as helping:
            more = True
            while more:
                more = helping.take_part(timeline, number, share_workshop, ignore)
                turns.append((more, opened.opened, opened.closed))

    index_repository(IndexRequest(repository.origin), replace(share_workshop, call_helpers=help_to_the_end))
    assert len(turns) > 3
    assert turns == [(True, 1, 0)] * (len(turns) - 1) + [(False, 1, 1)]


def test_idle_readers_are_closed_after_a_while(repository, share_workshop, opened, short_turns, monkeypatch):
    monkeypatch.setattr(helper, "IDLE_SECONDS", 0.01)

    def help_twice(timeline, number, _):
        with closing(Helper()) as helping:
            for turn in range(1, 3):
                assert helping.take_part(timeline, number, share_workshop, ignore)
                deadline = time.monotonic() + 20
                while opened.closed < turn and time.monotonic() < deadline:
                    time.sleep(0.01)
                assert (opened.opened, opened.closed) == (turn, turn)

    index_repository(IndexRequest(repository.origin), replace(share_workshop, call_helpers=help_twice))


def test_a_helper_whose_turn_fails_closes_its_readers(repository, share_workshop, opened, short_turns):
    def help_and_fail(timeline, number, _):
        def fail(progress):
            if progress.files_done:
                raise GitError("broken off")

        with closing(Helper()) as helping:
            with pytest.raises(GitError):
                helping.take_part(timeline, number, share_workshop, fail)
            assert (opened.opened, opened.closed) == (1, 1)

    index_repository(IndexRequest(repository.origin), replace(share_workshop, call_helpers=help_and_fail))


def test_a_batch_is_given_back_after_any_failure(repository, share_workshop, monkeypatch):
    """Otherwise no other process could take it while its claimant lives, and the import would restart."""
    left = []

    def help_and_fail(timeline, number, _):
        share, read, looks = SharedImport(share_workshop.store, timeline, number), SharedImport.plan, []

        def plan(shared):
            looks.append(shared)
            if len(looks) == 2:
                raise StoreUnavailable("gone for a moment")
            return read(shared)

        with monkeypatch.context() as patch, closing(Helper()) as helping:
            patch.setattr(SharedImport, "plan", plan)
            with pytest.raises(StoreUnavailable):
                helping.take_part(timeline, number, share_workshop, lambda _: None)
        left.append([claim.is_free for claim in share.claims().values()])

    index_repository(IndexRequest(repository.origin), replace(share_workshop, call_helpers=help_and_fail))
    assert left[0] == [True]


def test_a_helper_can_move_to_another_import(make_repository, share_workshop, opened, short_turns):
    with closing(Helper()) as helping:
        for at, name in enumerate(("core", "other"), start=1):
            repository = make_repository(name, FILES)

            def call(timeline, number, _, at=at):
                assert helping.take_part(timeline, number, share_workshop, ignore)
                assert (opened.opened, opened.closed) == (at, at - 1)

            index_repository(IndexRequest(repository.origin), replace(share_workshop, call_helpers=call))
    assert (opened.opened, opened.closed) == (2, 2)


def test_a_late_message_keeps_the_readers_of_the_current_import(repository, share_workshop, opened, short_turns):
    def call(timeline, number, _):
        with closing(Helper()) as helping:
            assert helping.take_part(timeline, number, share_workshop, ignore)
            assert not helping.take_part(timeline, number - 1, share_workshop, ignore)
            assert helping.take_part(timeline, number, share_workshop, ignore)
            assert (opened.opened, opened.closed) == (1, 0)

    index_repository(IndexRequest(repository.origin), replace(share_workshop, call_helpers=call))


def test_a_turn_ends_after_its_time_limit(repository, share_workshop, short_turns):
    def call(timeline, number, _):
        share = SharedImport(share_workshop.store, timeline, number)
        with closing(Helper()) as helping:
            for turn in range(1, 3):
                assert helping.take_part(timeline, number, share_workshop, ignore)
                assert sum(claim.written is not None for claim in share.claims().values()) == turn

    index_repository(IndexRequest(repository.origin), replace(share_workshop, call_helpers=call))
