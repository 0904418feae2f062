"""Jobs of worker processes, whatever dies meanwhile."""

import json
import os
import signal
import socket
import time
import urllib.request
from contextlib import closing

import pytest

from codequarry.ingest.fsck.versions import check_version
from codequarry.ingest.workers.app import MOST_REMINDERS
from codequarry.ingest.workers.tasks import LOOK_SECONDS
from codequarry.shared.catalog.ledger import read_head, read_transaction
from codequarry.shared.catalog.repositories import Repository, claim_repository
from codequarry.shared.jobs.job import PRIORITIES, JobRequest
from codequarry.shared.jobs.job_list import change_job, list_jobs, read_job, submit
from codequarry.shared.jobs.lifecycle import cancelled

FILES = {f"src/d{number % 7}/f{number}.py": f"def step_{number}(x):\n    return x + {number}\n" for number in range(40)}
# Long enough to be interrupted: many batches of few files.
MANY = {
    f"src/d{number % 17}/f{number}.py": f"def step_{number}(x):\n    return x + {number}\n" for number in range(500)
}
SLOWLY = {"indexing.batch_files": 2}


def request(repository, **fields) -> JobRequest:
    return JobRequest(repository.folder.name, repository.origin, **fields)


def in_the_middle(crew, repo: str):
    """Return a condition that holds when an import of a repository has written some batches but not all."""

    def look() -> bool:
        head = read_head(crew.store)
        open_ = [(timeline, number) for number, timeline in head.open.items() if head.timelines[timeline].repo == repo]
        return any(len(list(crew.store.written_files(*place))) >= 4 for place in open_)

    return look


def check_clean(crew, repo: str) -> None:
    """Compare the default branch with git, as fsck does."""
    head = read_head(crew.store)
    timeline = head.defaults[repo]
    record = read_transaction(crew.store, timeline, head.timelines[timeline].published)
    assert check_version(record, crew.workshop).problems == ()
    assert not head.open
    assert crew.store.list_documents("batch:") == crew.store.list_documents("chore:") == []


def test_workers_run_the_jobs_submitted_by_the_service(crew, make_repository):
    repositories = [make_repository(name, FILES | {"only.py": f"{name} = 1\n"}) for name in ("core", "site", "tool")]
    jobs = [crew.submit(request(repository)) for repository in repositories]
    crew.start_worker()
    done = crew.ended(jobs)
    assert [(job.state, job.percent) for job in done] == [("done", 100)] * 3
    assert [job.commit for job in done] == [
        repository.git("rev-parse", "HEAD").decode().strip() for repository in repositories
    ]
    assert set(read_head(crew.store).defaults) == {"core", "site", "tool"}


def test_a_worker_exports_the_metrics_of_its_processes(crew, make_repository):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    crew.start("worker", metrics__port=port, queue__concurrency=2)
    jobs = [
        crew.submit(request(make_repository(name, {"a.py": "def a():\n    return 1\n"}))) for name in ("one", "two")
    ]
    assert [job.state for job in crew.ended(jobs)] == ["done", "done"]
    address = f"http://127.0.0.1:{port}/metrics"
    wanted = 'codequarry_jobs_ended_total{kind="index",state="done",trigger="request"} 2.0'

    def text():
        with urllib.request.urlopen(address, timeout=30) as answer:
            return answer.read().decode()

    crew.until(lambda: wanted in text(), "the jobs were not counted")
    assert 'codequarry_files_total{verdict="indexed"} 2.0' in text()
    assert 'codequarry_index_lag_seconds_count{run="import"} 2.0' in text()


@pytest.mark.parametrize("whole", [False, True], ids=["its-process", "the-whole-worker"])
def test_a_job_of_a_killed_worker_is_finished_by_another(make_crew, make_repository, whole):
    crew = make_crew(SLOWLY)
    repository = make_repository("core", MANY)
    crew.start_beat()
    crew.start_worker()
    job = crew.submit(request(repository))
    crew.until(in_the_middle(crew, "core"), "the import did not start")
    holder = int(read_job(crew.store, job.id).holder.split(" ")[2])
    if whole:
        os.killpg(crew.processes[1].pid, signal.SIGKILL)
        crew.start_worker()
    else:
        os.kill(holder, signal.SIGKILL)
    [done] = crew.ended([job])
    assert (done.state, done.attempts) == ("done", 2)
    assert done.failures == ("the process that ran the job was lost",)
    check_clean(crew, "core")


def test_a_terminated_worker_returns_its_job_and_another_continues_it(make_crew, make_repository):
    """Written batches are kept, and the job does not count as failed."""
    crew = make_crew(SLOWLY)
    repository = make_repository("core", MANY)
    worker = crew.start_worker()
    job = crew.submit(request(repository))
    crew.until(in_the_middle(crew, "core"), "the import did not start")
    os.killpg(worker.pid, signal.SIGTERM)
    assert worker.wait(timeout=60) == 0
    left = read_job(crew.store, job.id)
    assert (left.state, left.attempts, left.holder) == ("queued", 0, "")
    [number] = read_head(crew.store).open
    crew.start_beat()
    crew.start_worker()
    [done] = crew.ended([job])
    assert (done.state, done.failures) == ("done", ())
    head = read_head(crew.store)
    assert head.timelines[head.defaults["core"]].published == number
    check_clean(crew, "core")


def test_reminders_do_not_pile_up_while_no_worker_takes_them(crew, queue_server):
    """They do not expire either, because a worker may have a different clock."""
    with closing(queue_server.client()) as client:
        client.lpush("control", *[b"{}"] * MOST_REMINDERS)
        crew.start_beat()
        crew.until(lambda: "beat begins" in crew.logs(), "beat did not start")
        time.sleep(2 * LOOK_SECONDS)
        assert client.llen("control") == MOST_REMINDERS
        client.delete("control")
        crew.until(lambda: client.llen("control"), "no reminder was sent")
        [message] = [json.loads(body) for body in client.lrange("control", 0, 0)]
        assert message["headers"]["expires"] is None


@pytest.mark.parametrize("busy", [False, True], ids=["while-all-wait", "while-a-job-runs"])
def test_a_queue_outage_loses_no_job(make_crew, make_repository, queue_server, busy):
    """A running job continues although its message can't be acknowledged; jobs submitted meanwhile run later."""
    crew = make_crew(SLOWLY)
    repositories = [make_repository(name, FILES) for name in ("site", "tool")]
    crew.start_beat()
    crew.start_worker()
    jobs = [crew.submit(request(make_repository("core", MANY if busy else FILES)))]
    if busy:
        crew.until(in_the_middle(crew, "core"), "the import did not start")
    else:
        crew.ended(jobs)
    queue_server.stop()
    jobs += [crew.submit(request(repository)) for repository in repositories]
    assert [job.state for job in list_jobs(crew.store, ("queued",))] == ["queued"] * 2
    assert [job.attempts for job in crew.ended(jobs[:1])] == [1]
    queue_server.start()
    assert [(job.state, job.attempts) for job in crew.ended(jobs)] == [("done", 1)] * 3


def test_a_push_overtakes_a_running_import_with_one_worker_process(make_crew, make_repository):
    crew = make_crew(SLOWLY)
    big, small = make_repository("big", MANY), make_repository("small", FILES)
    crew.start_worker()
    first = crew.submit(request(big))
    crew.until(in_the_middle(crew, "big"), "the import did not start")
    claim_repository(crew.store, Repository("small", small.origin, "main"))
    pushed = crew.submit(request(small, trigger="webhook", priority=PRIORITIES["change"]))
    crew.ended([pushed])
    assert read_job(crew.store, first.id).state == "running"
    assert [job.state for job in crew.ended([first, pushed])] == ["done", "done"]
    assert read_job(crew.store, first.id).attempts == 1
    check_clean(crew, "big")


def test_jobs_of_commands_are_run_without_beat(crew, make_repository):
    repository = make_repository("core", FILES)
    crew.start_worker()
    assert crew.start("repos", "add", repository.origin).wait(60) == 0
    [job] = list_jobs(crew.store)
    assert crew.ended([job])[0].state == "done"
    asked, _ = submit(crew.store, request(make_repository("other", FILES)))
    change_job(crew.store, asked.id, cancelled)
    assert crew.start("jobs", "retry", asked.id).wait(60) == 0
    assert crew.ended([asked])[0].state == "done"
