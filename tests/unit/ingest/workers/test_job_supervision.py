"""Looking after jobs: who is lost, by the observer's own clock, and who was not told."""

from dataclasses import replace

import pytest

from codequarry.ingest.transaction.holder import new_holder, retire_holder
from codequarry.ingest.workers.job_supervision import Lookout, jobs_without_message
from codequarry.shared.jobs.job import PRIORITIES, JobRequest
from codequarry.shared.jobs.job_list import change_job, claim, read_job, submit
from codequarry.shared.jobs.lifecycle import MAX_ATTEMPTS, beaten, failed_once


@pytest.fixture
def store(make_workshop):
    return make_workshop().store


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def ask(store, repo: str = "core", priority: str = "import"):
    return submit(store, JobRequest(repo, f"https://example.org/{repo}", priority=PRIORITIES[priority]))[0]


def test_a_job_of_another_machine_is_lost_when_it_has_not_beaten_for_long_by_our_own_clock(store):
    clock = Clock()
    lookout = Lookout(30, clock)
    job = claim(store, ask(store).id, "another machine")
    assert lookout.look(store) == []
    clock.now = 29
    change_job(store, job.id, lambda known: beaten(known, "another machine", {}))
    assert lookout.look(store) == []
    clock.now = 58
    assert lookout.look(store) == []
    clock.now = 59
    assert [one.id for one in lookout.look(store)] == [job.id]
    assert read_job(store, job.id).state == "queued"


def test_a_job_of_this_machine_is_lost_as_soon_as_its_process_is_gone(store):
    holder = new_holder()
    job = claim(store, ask(store).id, holder)
    lookout = Lookout(1e9)
    assert lookout.look(store) == []
    retire_holder(holder)
    assert [one.id for one in lookout.look(store)] == [job.id]


def test_who_takes_a_job_over_is_watched_from_then_on(store):
    clock = Clock()
    lookout = Lookout(30, clock)
    job = claim(store, ask(store).id, "one machine")
    lookout.look(store)
    clock.now = 20
    change_job(store, job.id, lambda known: failed_once(known, "one machine", "x", 0.0))
    change_job(store, job.id, lambda known: replace(known, not_before=""))
    claim(store, job.id, "another machine")
    clock.now = 40
    assert lookout.look(store) == []
    assert read_job(store, job.id).holder == "another machine"


def test_a_job_that_kills_whoever_takes_it_fails_for_good(store):
    job = ask(store)
    lookout = Lookout(0)
    for _ in range(MAX_ATTEMPTS):
        change_job(store, job.id, lambda known: replace(known, not_before=""))
        claim(store, job.id, "killed")
        lookout.look(store)
    left = read_job(store, job.id)
    assert (left.state, len(left.failures)) == ("failed", MAX_ATTEMPTS)
    assert left.error == "whoever ran it ended without a word"


def test_so_many_messages_are_sent_as_are_missing_the_most_urgent_first(store):
    for repo, priority in (("old", "import"), ("new", "background"), ("pushed", "change")):
        ask(store, repo, priority)
    assert [job.repo for job in jobs_without_message(store, 0)] == ["pushed", "old", "new"]
    assert [job.repo for job in jobs_without_message(store, 2)] == ["pushed"]
    assert jobs_without_message(store, 3) == jobs_without_message(store, 4) == []
    claim(store, jobs_without_message(store, 0)[0].id, "me")
    assert [job.repo for job in jobs_without_message(store, 0)] == ["old", "new"]
