"""Messages to workers: one for each job, which contains only its id, also over TLS."""

import json
import socket
import ssl
import threading
from base64 import b64decode
from contextlib import closing, suppress

import pytest
import trustme

from codequarry.search_api.jobs.dispatch import QueueIndexer
from codequarry.search_api.search.backend import Backend
from codequarry.shared.errors import QueueUnavailable
from codequarry.shared.jobs.job import PRIORITIES, JobRequest
from codequarry.shared.queue.messages import RUN_JOB, celery_options
from codequarry.shared.queue.probe import QueueProbe
from codequarry.shared.settings.queue import QueueSettings


def request(repo: str, priority: str = "import") -> JobRequest:
    return JobRequest(repo, f"https://example.org/{repo}", priority=PRIORITIES[priority], requested_by="somebody")


def messages(queue_server) -> dict[str, list[object]]:
    """Return the arguments of the waiting messages by the list that holds them."""
    found = {}
    with closing(queue_server.client()) as client:
        for key in client.scan_iter("scan*"):
            bodies = [json.loads(message) for message in client.lrange(key, 0, -1)]
            assert {body["headers"]["task"] for body in bodies} == {RUN_JOB}
            found[key.decode()] = [json.loads(b64decode(body["body"]))[0] for body in bodies]
    return found


def test_a_burst_is_one_message_and_each_priority_has_its_list(crew, queue_server):
    jobs = [crew.submit(request("core")) for _ in range(5)]
    pushed = crew.submit(request("site", "change"))
    assert len({job.id for job in jobs}) == 1
    by_priority = sorted(messages(queue_server).items())
    assert [arguments for _, arguments in by_priority] == [[[pushed.id]], [[jobs[0].id]]]


class TlsDoor:
    """A TLS proxy for a server without TLS."""

    def __init__(self, port: int, certificate) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(self._context)
        self._inner = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                plain, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with (
            suppress(OSError, ssl.SSLError),
            self._context.wrap_socket(plain, server_side=True) as outer,
            socket.create_connection(("127.0.0.1", self._inner)) as inner,
        ):
            threading.Thread(target=self._pass_on, args=(inner, outer), daemon=True).start()
            self._pass_on(outer, inner)

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError, ssl.SSLError):
            while data := source.recv(65_536):
                target.sendall(data)


@pytest.fixture
def authority():
    return trustme.CA()


@pytest.fixture
def door(queue_server, authority):
    opened = TlsDoor(queue_server.port, authority.issue_cert("127.0.0.1"))
    yield opened
    opened.close()


@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
def test_the_certificate_of_the_queue_is_checked(crew, queue_server, door, authority, tmp_path, known):
    file = tmp_path / "ca.pem"
    (authority if known else trustme.CA()).cert_pem.write_to_path(file)
    queue = QueueSettings(url=f"rediss://127.0.0.1:{door.port}/0", ca_file=file)
    settings = crew.settings.model_copy(update={"queue": queue})
    job = QueueIndexer(Backend(settings, crew.store, crew.embedder)).submit(request("core"))
    assert job.state == "queued"
    assert list(messages(queue_server).values()) == ([[[job.id]]] if known else [])
    if not known:
        with pytest.raises(QueueUnavailable, match="certificate"):
            QueueProbe(queue).check()
        QueueProbe(queue.model_copy(update={"verify_certificates": False})).check()


def test_a_worker_reaches_its_queue_over_tls(make_crew, make_repository, door, authority, tmp_path):
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(file)
    crew = make_crew({"queue.url": f"rediss://127.0.0.1:{door.port}/0", "queue.ca_file": file})
    repository = make_repository("core", {"a.py": "x = 1\n"})
    crew.start_worker()
    [done] = crew.ended([crew.submit(JobRequest("core", repository.origin))])
    assert done.state == "done"


def test_the_account_of_the_queue_is_never_shown(crew):
    settings = crew.settings.model_copy(update={"queue": QueueSettings(url="redis://:planted-secret@127.0.0.1:1/0")})
    assert "planted-secret" not in repr(settings)
    assert celery_options(settings)["broker_url"].endswith("planted-secret@127.0.0.1:1/0")
    worker = crew.start_worker(queue__url="redis://:planted-secret@127.0.0.1:1/0")
    crew.until(
        lambda: "Cannot connect" in crew.logs() or worker.poll() is not None,
        "the worker did not try to reach the queue",
    )
    assert worker.poll() is None, crew.logs()
    assert "planted-secret" not in crew.logs()
