"""What one process of a worker does with what it is told."""

from contextlib import closing
from dataclasses import replace

import pytest

from codequarry.ingest.shared_import import helper
from codequarry.ingest.workers import worker as rooms
from codequarry.ingest.workers.open_index import WorkerIndex
from codequarry.ingest.workers.worker import Worker
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.polls import change_poll
from codequarry.shared.errors import QueueUnavailable
from codequarry.shared.jobs.job import PRIORITIES, JobRequest
from codequarry.shared.jobs.job_list import list_jobs, read_job, submit
from codequarry.shared.timestamps import from_now

FILES = {f"f{at}.py": f"x = {at}\n" for at in range(12)}


class Told:
    """A queue that only remembers what it was told."""

    def __init__(self):
        self.jobs, self.calls, self.is_gone = [], [], False

    def tell(self, job):
        self.jobs.append(job)

    def call_helper(self, timeline, number, priority):
        if self.is_gone:
            raise QueueUnavailable("gone")
        self.calls.append((timeline, number, priority))

    def waiting_jobs(self):
        return len(self.jobs)

    def waiting_calls(self):
        return len(self.calls)


class Bell:
    """Whether the worker is to end: from its ``after``-th look on."""

    after = 10**9

    def __call__(self):
        self.after -= 1
        return self.after < 0


@pytest.fixture
def store(make_workshop):
    return make_workshop().store


@pytest.fixture
def place(make_workshop):
    """Return a function that opens a workplace over the same index."""
    opened = []

    def make(**sections):
        indexing = {"processes": 0, "grace_seconds": 0, "batch_files": 2}
        settings = make_workshop(indexing=indexing, **sections).settings
        opened.append(WorkerIndex(settings))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def ask(store, repository, priority="import", **fields):
    name = repository.folder.name
    return submit(store, JobRequest(name, repository.origin, priority=PRIORITIES[priority], **fields))[0]


def test_the_most_urgent_job_is_done_whatever_the_message_named(store, place, make_repository):
    for name, priority in (("later", "import"), ("pushed", "change")):
        ask(store, make_repository(name, FILES), priority)
    worker = Worker(place(), Told(), Bell())
    worker.do_next()
    assert {job.repo: job.state for job in list_jobs(store)} == {"later": "queued", "pushed": "done"}
    worker.do_next()
    worker.do_next()
    assert {job.state for job in list_jobs(store)} == {"done"}


def test_more_urgent_jobs_of_other_repositories_go_first_between_two_batches(
    store, place, make_repository, monkeypatch
):
    big = make_repository("big", FILES)
    ended = []
    run_job = rooms.run_job

    def note(job, *arguments):
        left = run_job(job, *arguments)
        ended.append((left.repo, left.state))
        return left

    monkeypatch.setattr(rooms, "run_job", note)
    monkeypatch.setattr(rooms, "LOOK_SECONDS", 0.0)
    first = ask(store, big)
    bell = Bell()
    worker = Worker(place(), Told(), bell)
    asked = []

    def ask_meanwhile():
        if read_job(store, first.id).state == "running" and read_head(store).open and not asked:
            asked.append(ask(store, make_repository("small", FILES), "change"))
            asked.append(ask(store, make_repository("tiny", FILES), "urgent"))
            asked.append(ask(store, make_repository("other", FILES), "import"))
            asked.append(ask(store, big, "urgent", ref="main"))
        return False

    monkeypatch.setattr(Bell, "__call__", lambda _: ask_meanwhile())
    worker.do_next()
    assert ended == [("tiny", "done"), ("small", "done"), ("big", "done")]
    assert [read_job(store, job.id).state for job in asked[2:]] == ["queued", "queued"]


def test_a_first_import_does_not_begin_within_another_job(store, place, make_repository, monkeypatch):
    """It may take hours, and a push to the repository of the outer job waits for the end of that."""
    big = make_repository("big", FILES)
    ended = []
    run_job = rooms.run_job

    def note(job, *arguments):
        left = run_job(job, *arguments)
        ended.append(left.repo)
        return left

    monkeypatch.setattr(rooms, "run_job", note)
    monkeypatch.setattr(rooms, "LOOK_SECONDS", 0.0)
    first = ask(store, big, "background")
    asked = []

    def ask_meanwhile(_):
        if read_job(store, first.id).state == "running" and read_head(store).open and not asked:
            asked.append(ask(store, make_repository("new", FILES), "import"))
            asked.append(ask(store, make_repository("pushed", FILES), "change"))
        return False

    monkeypatch.setattr(Bell, "__call__", ask_meanwhile)
    Worker(place(), Told(), Bell()).do_next()
    assert ended == ["pushed", "big"]
    assert read_job(store, asked[0].id).state == "queued"


def test_a_worker_that_is_to_end_leaves_its_transaction_to_the_next_one(store, place, make_repository):
    job = ask(store, make_repository("core", FILES))
    bell = Bell()
    bell.after = 6
    Worker(place(), Told(), bell).do_next()
    left = read_job(store, job.id)
    assert (left.state, left.attempts) == ("queued", 0)
    [number] = read_head(store).open
    Worker(place(), Told(), Bell()).do_next()
    head = read_head(store)
    assert read_job(store, job.id).state == "done"
    assert head.timelines[head.defaults["core"]].published == number


def test_a_worker_that_is_to_end_takes_nothing(store, place, make_repository):
    job = ask(store, make_repository("core", FILES))
    told, bell = Told(), Bell()
    bell.after = 0
    worker = Worker(place(), told, bell)
    worker.do_next()
    worker.write_batch(1, 2, 6)
    assert read_job(store, job.id).state == "queued"
    assert told.calls == []


@pytest.mark.parametrize("gone", [False, True], ids=["queue", "no-queue"])
def test_a_big_import_calls_for_help_once_and_needs_none(store, place, make_repository, gone):
    told = Told()
    told.is_gone = gone
    job = ask(store, make_repository("core", FILES))
    Worker(place(queue={"share_files": 3}), told, Bell()).do_next()
    assert read_job(store, job.id).state == "done"
    # Six batches: five that others could take, when the first one is begun.
    assert len(told.calls) == (0 if gone else 6)


def test_who_takes_part_for_a_turn_sees_that_there_is_a_message_for_the_next_one(
    store, place, make_repository, monkeypatch
):
    monkeypatch.setattr(helper, "TURN_SECONDS", 0.0)
    answers = Told()
    with closing(Worker(place(), answers, Bell())) as other:
        called = Told()
        called.call_helper = other.write_batch
        # A message at a time: there are as many as batches, and each is taken at once.
        monkeypatch.setattr(called, "waiting_calls", lambda: 5)
        job = ask(store, make_repository("core", FILES))
        Worker(place(queue={"share_files": 3}), called, Bell()).do_next()
    assert read_job(store, job.id).state == "done"
    assert answers.calls == [(1, 2, job.priority)]


def test_a_call_that_comes_late_does_nothing(store, place):
    told = Told()
    Worker(place(), told, Bell()).write_batch(1, 2, 6)
    assert told.calls == []


def test_who_looks_after_jobs_tells_of_those_that_nobody_was_told_of(store, place, make_repository):
    job = ask(store, make_repository("core", FILES))
    told = Told()
    worker = Worker(place(), told, Bell())
    worker.look_after_jobs()
    worker.look_after_jobs()
    assert [one.id for one in told.jobs] == [job.id]


def test_mirrors_are_trimmed_after_each_job_and_fetched_anew_when_needed(store, place, make_repository):
    repository = make_repository("core", FILES)
    workplace = place(git={"mirror_cache_bytes": 0})
    worker = Worker(workplace, Told(), Bell())
    for at in range(2):
        repository.write("f0.py", f"y = {at}\n")
        commit = repository.commit()
        job = ask(store, repository)
        worker.do_next()
        assert read_job(store, job.id).commit == commit
        assert list((workplace.settings.home / "mirrors").glob("*.git")) == []


def test_what_polling_finds_is_told_and_done(store, place, make_repository):
    repository = make_repository("polled", FILES)
    ask(store, repository)
    told = Told()
    worker = Worker(place(), told, Bell())
    worker.do_next()
    repository.write("f0.py", "x = 100\n")
    commit = repository.commit()
    change_poll(store, "polled", lambda poll: replace(poll, next_at=from_now(-1)))
    worker.poll_origins()
    [job] = told.jobs
    assert (job.trigger, job.wanted_commit, job.priority) == ("poll", commit, PRIORITIES["background"])
    worker.do_next()
    assert read_job(store, job.id).commit == commit
