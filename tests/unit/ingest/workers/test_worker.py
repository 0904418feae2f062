"""One worker process and the messages it receives."""

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


class RecordedQueue:
    """A queue that only records its messages."""

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
    """Tells the worker to end from its ``after``-th check on."""

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
    for index in opened:
        index.close()


def ask(store, repository, priority="import", **fields):
    name = repository.folder.name
    return submit(store, JobRequest(name, repository.origin, priority=PRIORITIES[priority], **fields))[0]


def test_the_most_urgent_job_runs_first(store, place, make_repository):
    for name, priority in (("later", "import"), ("pushed", "change")):
        ask(store, make_repository(name, FILES), priority)
    worker = Worker(place(), RecordedQueue(), Bell())
    worker.do_next()
    assert {job.repo: job.state for job in list_jobs(store)} == {"later": "queued", "pushed": "done"}
    worker.do_next()
    worker.do_next()
    assert {job.state for job in list_jobs(store)} == {"done"}


def test_more_urgent_jobs_of_other_repositories_run_between_batches(store, place, make_repository, monkeypatch):
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
    worker = Worker(place(), RecordedQueue(), bell)
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


def test_a_first_import_does_not_start_inside_another_job(store, place, make_repository, monkeypatch):
    """It may take hours, and a push to the repository of the outer job would wait for it."""
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
    Worker(place(), RecordedQueue(), Bell()).do_next()
    assert ended == ["pushed", "big"]
    assert read_job(store, asked[0].id).state == "queued"


def test_a_stopping_worker_leaves_its_transaction_to_the_next_worker(store, place, make_repository):
    job = ask(store, make_repository("core", FILES))
    bell = Bell()
    bell.after = 6
    Worker(place(), RecordedQueue(), bell).do_next()
    left = read_job(store, job.id)
    assert (left.state, left.attempts) == ("queued", 0)
    [number] = read_head(store).open
    Worker(place(), RecordedQueue(), Bell()).do_next()
    head = read_head(store)
    assert read_job(store, job.id).state == "done"
    assert head.timelines[head.defaults["core"]].published == number


def test_a_stopping_worker_takes_no_job(store, place, make_repository):
    job = ask(store, make_repository("core", FILES))
    queue, bell = RecordedQueue(), Bell()
    bell.after = 0
    worker = Worker(place(), queue, bell)
    worker.do_next()
    worker.write_batch(1, 2, 6)
    assert read_job(store, job.id).state == "queued"
    assert queue.calls == []


@pytest.mark.parametrize("gone", [False, True], ids=["queue", "no-queue"])
def test_a_large_import_calls_helpers_but_does_not_need_them(store, place, make_repository, gone):
    queue = RecordedQueue()
    queue.is_gone = gone
    job = ask(store, make_repository("core", FILES))
    Worker(place(queue={"share_files": 3}), queue, Bell()).do_next()
    assert read_job(store, job.id).state == "done"
    assert len(queue.calls) == (0 if gone else 6)


def test_a_helper_leaves_a_message_for_its_next_turn(store, place, make_repository, monkeypatch):
    monkeypatch.setattr(helper, "TURN_SECONDS", 0.0)
    answers = RecordedQueue()
    with closing(Worker(place(), answers, Bell())) as other:
        called = RecordedQueue()
        called.call_helper = other.write_batch
        # One message at a time: each is handled at once.
        monkeypatch.setattr(called, "waiting_calls", lambda: 5)
        job = ask(store, make_repository("core", FILES))
        Worker(place(queue={"share_files": 3}), called, Bell()).do_next()
    assert read_job(store, job.id).state == "done"
    assert answers.calls == [(1, 3, job.priority)]


def test_a_late_call_does_nothing(store, place):
    queue = RecordedQueue()
    Worker(place(), queue, Bell()).write_batch(1, 2, 6)
    assert queue.calls == []


def test_supervision_sends_missing_messages_once(store, place, make_repository):
    job = ask(store, make_repository("core", FILES))
    queue = RecordedQueue()
    worker = Worker(place(), queue, Bell())
    worker.look_after_jobs()
    worker.look_after_jobs()
    assert [job.id for job in queue.jobs] == [job.id]


def test_mirrors_are_trimmed_after_each_job_and_fetched_again_when_needed(store, place, make_repository):
    repository = make_repository("core", FILES)
    workplace = place(git={"mirror_cache_bytes": 0})
    worker = Worker(workplace, RecordedQueue(), Bell())
    for at in range(2):
        repository.write("f0.py", f"y = {at}\n")
        commit = repository.commit()
        job = ask(store, repository)
        worker.do_next()
        assert read_job(store, job.id).commit == commit
        assert list((workplace.settings.home / "mirrors").glob("*.git")) == []


def test_a_change_found_by_polling_is_queued_and_done(store, place, make_repository):
    repository = make_repository("polled", FILES)
    ask(store, repository)
    queue = RecordedQueue()
    worker = Worker(place(), queue, Bell())
    worker.do_next()
    repository.write("f0.py", "x = 100\n")
    commit = repository.commit()
    change_poll(store, "polled", lambda poll: replace(poll, next_at=from_now(-1)))
    worker.poll_origins()
    [job] = queue.jobs
    assert (job.trigger, job.wanted_commit, job.priority) == ("poll", commit, PRIORITIES["background"])
    worker.do_next()
    assert read_job(store, job.id).commit == commit
