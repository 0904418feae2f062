"""`codequarry serve` as users run it: a real process under gunicorn."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from urllib.error import HTTPError

import pytest

ADDRESS = re.compile(r"http://127\.0\.0\.1:[1-9]\d*")
WAIT_SECONDS = 60


@contextmanager
def served(place, *arguments) -> Iterator[tuple[subprocess.Popen, str]]:
    """Start the service on a free port, yield process and address, and stop it if the test did not."""
    command = [sys.executable, "-m", "codequarry.cli.main", *arguments, "serve", "--port", "0", "--trust-loopback"]
    process = subprocess.Popen(
        command, cwd=place.folder, env=place.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        seen = []
        for line in process.stderr:
            seen.append(line)
            if found := ADDRESS.search(line):
                yield process, found.group()
                break
        else:
            pytest.fail(f"the service did not start: {seen}")
    finally:
        process.kill()
        process.communicate()


def ask(address, path, body=None):
    """Send a request and return status and body."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as response:
        return response.status, response.read().decode()


def test_the_service_answers_and_stops_cleanly(place, indexed):
    with served(place) as (process, address):
        status, body = ask(address, "/search-code", {"query": "retry_later"})
        assert status == 200
        assert json.loads(body)["results"][0]["path"] == "src/retry.py"
        assert ask(address, "/readyz")[0] == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_SECONDS) == 0


def test_logs_are_json_lines_without_a_terminal(place, indexed):
    with served(place) as (process, address):
        ask(address, "/search-code", {"query": "a private question"})
        process.send_signal(signal.SIGTERM)
        lines = [line for line in process.stderr.read().splitlines() if line.startswith("{")]
    events = [json.loads(line) for line in lines]
    request = next(event for event in events if event.get("route") == "/search-code")
    assert (request["status"], request["method"], len(request["request_id"])) == (200, "POST", 32)
    assert "private question" not in "".join(lines)


def test_several_workers_count_together(place, indexed):
    with served(place, "--set", "api.workers=2") as (_, address):
        for _ in range(12):
            ask(address, "/search-code", {"query": "retry"})
        counts = {ask(address, "/metrics")[1] for _ in range(3)}
    assert all('codequarry_searches_total{outcome="found"} 12.0' in text for text in counts)


def test_a_stopped_service_requeues_its_job_and_continues_it_after_the_restart(workspace):
    files = {f"src/f{number}.py": f"def step_{number}(x):\n    return x + {number}\n" for number in range(400)}
    origin = workspace.repository("large", files).folder
    slowly = ("indexing.batch_files=1", "indexing.processes=0", f"api.local_roots={workspace.folder}")
    settings = [part for setting in slowly for part in ("--set", setting)]

    def job():
        return json.loads(ask(address, f"/jobs/{job_id}")[1])

    with served(workspace, *settings) as (process, address):
        status, answer = ask(address, "/repos", {"origin": str(origin)})
        assert status == 202
        job_id = json.loads(answer)["job_id"]
        wait_until(lambda: job()["state"] == "running")
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_SECONDS) == 0
    left = workspace.run("jobs", "show", job_id, "--json").json
    assert (left["state"], left["attempts"]) == ("queued", 0)
    with served(workspace, *settings) as (_, address):
        wait_until(lambda: job()["state"] == "done")
        assert job()["attempts"] == 1


def test_a_request_that_waited_too_long_for_a_thread_is_told_to_retry(place, indexed):
    settings = ("api.threads=1", "api.longest_wait_seconds=0.5")
    waits = {"query": "retry", "filters": {"repo": "core"}, "min_commit": "f" * 40, "wait_ms": 5000}

    def status(path, body):
        try:
            return ask(address, path, body)[0], None
        except HTTPError as error:
            with error:
                return error.code, error.headers["Retry-After"]

    given = [part for setting in settings for part in ("--set", setting)]
    with served(place, *given) as (_, address), ThreadPoolExecutor(3) as pool:
        first = pool.submit(status, "/search-code", waits)
        time.sleep(1)
        behind = pool.submit(status, "/search-code", {"query": "retry"})
        probe = pool.submit(status, "/healthz", None)
        assert first.result() == (504, None)
        assert behind.result() == (503, "5")
        assert probe.result() == (200, None)
        assert status("/search-code", {"query": "retry"}) == (200, None)


def test_requests_forwarded_by_a_local_proxy_are_anonymous_and_can_not_set_the_script_name(place, indexed):
    def status(path, **headers):
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with urllib.request.urlopen(urllib.request.Request(address + path, headers=given)) as response:
                return response.status
        except HTTPError as error:
            with error:
                return error.code

    with served(place) as (_, address):
        assert status("/repos") == 200
        for name in ("Forwarded", "X_Forwarded_For", "X_Forwarded_Anything", "X_Real_IP", "Via", "CF_Connecting_IP"):
            assert status("/repos", **{name: "for=127.0.0.1"}) == 401
        host, _, port = address.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), WAIT_SECONDS) as client:
            client.sendall(b"GET /search-code/repos HTTP/1.1\r\nHost: localhost\r\nSCRIPT_NAME: /search-code\r\n\r\n")
            assert client.recv(1000).split()[1] == b"404"


SLOW = {
    "head": b"GET /repos HT",
    "body": b"POST /search-code HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1000\r\n\r\n{",
    "chunks": b"POST /search-code HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
    "silence": b"",
    "never hangs up": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
}


def test_slow_clients_do_not_delay_others_for_long(place, indexed):
    """Each kind would otherwise block a thread, or the thread that accepts connections, for as long as it likes."""
    settings = [part for setting in ("api.threads=4", "api.read_seconds=0.5") for part in ("--set", setting)]
    with served(place, *settings) as (_, address), ExitStack() as opened:
        host, _, port = address.removeprefix("http://").partition(":")

        def connect(sent):
            client = opened.enter_context(socket.create_connection((host, int(port)), WAIT_SECONDS))
            client.sendall(sent)
            return client

        for kind, sent in SLOW.items():
            clients = [connect(sent) for _ in range(50 if kind == "never hangs up" else 4)]
            assert ask(address, "/healthz")[0] == 200, kind
        assert all(client.recv(100_000).startswith(b"HTTP/1.1 200") for client in clients)
        dropped = connect(SLOW["body"])
        answer = dropped.recv(100_000)
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"problem+json" in answer
        # A client that sent its whole request and waits for the answer is not slow.
        waits = {"query": "retry", "filters": {"repo": "core"}, "min_commit": "f" * 40, "wait_ms": 2500}
        with pytest.raises(HTTPError) as late:
            ask(address, "/search-code", waits)
        with late.value as error:
            assert error.code == 504


def wait_until(what):
    deadline = time.monotonic() + WAIT_SECONDS
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_metrics_count_running_and_waiting_requests(place, indexed):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = (f"metrics.port={port}", "api.threads=1", "api.longest_wait_seconds=60")
    waits = {"query": "retry", "filters": {"repo": "core"}, "min_commit": "f" * 40, "wait_ms": 3000}

    def is_so(running, waiting):
        text = ask(f"http://127.0.0.1:{port}", "/metrics")[1]
        return f"requests_running {running}.0\n" in text and f"requests_waiting {waiting}.0\n" in text

    with served(place, *(part for setting in settings for part in ("--set", setting))) as (_, address):
        ask(address, "/readyz")
        wait_until(lambda: is_so(0, 0))
        with ThreadPoolExecutor(3) as pool:
            asked = [pool.submit(ask, address, "/search-code", waits) for _ in range(3)]
            wait_until(lambda: is_so(1, 2))
            for request in asked:
                with pytest.raises(HTTPError, match="504") as late:
                    request.result()
                late.value.close()
        wait_until(lambda: is_so(0, 0))


@pytest.mark.parametrize("workers", [1, 2])
def test_metrics_can_have_a_separate_port(place, indexed, workers):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = (f"metrics.port={port}", f"api.workers={workers}", "metrics.worst_repositories=3")
    with served(place, *(part for setting in settings for part in ("--set", setting))) as (_, address):
        for _ in range(6):
            ask(address, "/search-code", {"query": "retry"})
        counts = {ask(f"http://127.0.0.1:{port}", "/metrics")[1] for _ in range(3)}
        assert all('codequarry_searches_total{outcome="found"} 6.0' in text for text in counts)
        assert all("codequarry_catalog_up 1.0" in text for text in counts)
        assert all("codequarry_http_requests_waiting 0.0" in text for text in counts)
        assert ask(f"http://127.0.0.1:{port}", "/healthz")[0] == 200
        with pytest.raises(HTTPError, match="404"):
            ask(address, "/metrics")
        assert "/metrics" not in json.loads(ask(address, "/openapi.json")[1])["paths"]


def test_without_a_key_requests_are_refused_and_the_service_says_what_to_do(place, indexed):
    """A proxy that adds no header sends the same requests."""
    command = [sys.executable, "-m", "codequarry.cli.main", "serve", "--port", "0"]
    process = subprocess.Popen(command, env=place.environment, stderr=subprocess.PIPE, text=True)
    try:
        note, announced = process.stderr.readline(), process.stderr.readline()
        assert "codequarry keys create" in note and "--trust-loopback" in note
        with pytest.raises(HTTPError) as refused:
            ask(ADDRESS.search(announced).group(), "/repos")
        with refused.value as answer:
            assert answer.code == 401
            assert "--socket PATH or --trust-loopback" in json.loads(answer.read())["detail"]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_beyond_loopback_it_refuses_to_start_without_keys(place, host):
    outcome = place.run("serve", "--host", host)
    assert outcome.code == 2
    assert "no key is configured" in outcome.err


def test_any_wsgi_server_can_load_the_application(place, indexed):
    trusting = {"CODEQUARRY_API__TRUST_LOOPBACK": "true"}
    asked = "app.test_client().get('/repos').get_json()['repos'][0]['name']"
    code = f"from codequarry.search_api.http.wsgi import app; print({asked})"
    done = subprocess.run(
        [sys.executable, "-c", code], env=place.environment | trusting, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "core"
