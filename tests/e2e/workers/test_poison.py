"""Invalid entries in the queue and the catalog: workers report them in one line and continue."""

import json

import pytest
import redis

from codequarry.shared.jobs.job import JobRequest
from codequarry.shared.jobs.job_list import ENDED_PREFIX, JOB_PREFIX
from codequarry.shared.queue.keys import ASIDE_PREFIX
from codequarry.shared.queue.messages import CONTROL, RUN_JOB, SCAN

EMPTY = "W1tdLCB7fSwge31d"  # [[], {}, {}]


def envelope(body=EMPTY, task=RUN_JOB, **properties):
    """Return a message as Celery stores it in Redis."""
    headers = {"lang": "py", "task": task, "id": "poison", "root_id": "poison", "argsrepr": "()", "retries": 0}
    known = {
        "correlation_id": "poison",
        "delivery_mode": 2,
        "delivery_info": {"exchange": "", "routing_key": SCAN},
        "priority": 0,
        "body_encoding": "base64",
        "delivery_tag": "poison",
    }
    message = {
        "body": body,
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": headers,
        "properties": known,
    }
    return message | properties


POISON = {
    "no JSON": b"\x80\x04garbage",
    "a number": b"42",
    "a list": b"[1, 2]",
    "null": b"null",
    "an empty object": b"{}",
    "cut off": json.dumps(envelope()).encode()[:100],
    "no properties": json.dumps({"body": EMPTY}).encode(),
    "properties of a wrong type": json.dumps(envelope(properties=[1])).encode(),
    "no delivery tag": json.dumps(envelope(properties={"delivery_info": {}})).encode(),
    "no base64": json.dumps(envelope(body="!!!")).encode(),
    "a body that is no text": json.dumps(envelope(body=7)).encode(),
    "a pickle": json.dumps(envelope(**{"content-type": "application/x-python-serialize"})).encode(),
    "an unknown coding": json.dumps(envelope(**{"content-encoding": "utf-99"})).encode(),
    "no task": json.dumps(envelope(headers={})).encode(),
    "headers of a wrong type": json.dumps(envelope(headers=7)).encode(),
    "an unknown task": json.dumps(envelope(task="codequarry.nothing")).encode(),
    "wrong arguments": json.dumps(envelope(body="W1sxLCAyLCAzLCA0XSwge30sIHt9XQ==")).encode(),
    "arguments of a wrong type": json.dumps(envelope(body="WzEsIDIsIDNd")).encode(),
    "a body of another shape": json.dumps(envelope(body="Nw==")).encode(),
    "large": json.dumps(envelope(body="A" * 20_000_000)).encode(),
}


@pytest.fixture
def server(queue_server):
    """Yield a client of the queue's server, emptied."""
    with redis.Redis.from_url(queue_server.url) as client:
        client.flushall()
        yield client
        client.flushall()


def does_jobs(crew, workspace, name):
    """Return whether a job submitted now is done."""
    repository = workspace.repository(name, {"a.py": "def retry():\n    pass\n"})
    [job] = crew.ended([crew.submit(JobRequest(name, str(repository.folder)))])
    return job.state == "done"


def test_poisoned_messages_stop_no_worker(crew, workspace, server):
    for number, poison in enumerate(POISON.values()):
        server.lpush(SCAN if number % 2 else CONTROL, poison)
    worker = crew.start_worker()
    assert does_jobs(crew, workspace, "after")
    crew.until(lambda: server.llen(SCAN) + server.llen(CONTROL) == 0, "the poison is still there")
    assert worker.poll() is None
    assert "Traceback" not in crew.logs()


WRONG_KEYS = (SCAN, CONTROL, f"{SCAN}\x06\x166", "unacked", "unacked_index", f"_kombu.binding.{SCAN}")


def test_keys_of_the_wrong_type_stop_no_worker(crew, workspace, server):
    for key in WRONG_KEYS:
        server.set(key, "an operator's")
    worker = crew.start_worker()
    assert does_jobs(crew, workspace, "after")
    for key in WRONG_KEYS:
        server.delete(key)
        server.set(key, "an operator's")
    crew.start_beat()
    assert does_jobs(crew, workspace, "again")
    assert worker.poll() is None
    assert "Traceback" not in crew.logs()
    assert server.get(f"{ASIDE_PREFIX}{SCAN}") == b"an operator's"


SHAPES = {
    "empty": {},
    "number": {"id": "x", "repo": 7},
    "list": {"id": ["x"], "state": "queued"},
    "cut off": {"id": "x", "repo": "core", "state": "queued"},
    "state": {name: "x" for name in ("id", "repo", "ref", "state", "created_at", "updated_at")},
}


def test_malformed_jobs_stop_no_worker(crew, workspace):
    for name, body in SHAPES.items():
        for prefix in (JOB_PREFIX, ENDED_PREFIX):
            crew.store.write_document(prefix + name, body, None)
    worker = crew.start_worker()
    crew.start_beat()
    assert does_jobs(crew, workspace, "after")
    assert worker.poll() is None
    assert "Traceback" not in crew.logs()
