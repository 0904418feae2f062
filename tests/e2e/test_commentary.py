"""Commentary through whole index runs and searches, with a small server that speaks the chat protocol."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

FILES = {
    "net.py": "def f(a):\n    return 2**a\n\n\nPASSWORD = 'hunter2hunter2'\nKEY = 'ghp_"
    + "a1B2c3D4e5" * 3
    + "f6G7h8'\n",
    "other.py": "def g():\n    return None\n",
}
# No word of it is in the code.
SAID = "Waits exponentially longer after failed attempts."


@dataclass
class ChatServer:
    """Describes every piece of code in the same words, unless it is told to fail."""

    url: str = ""
    sent: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200
    refuses: str = ""
    said: str = SAID
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with self.lock:
            self.sent.append(body)
        content = body["messages"][-1]["content"]
        if self.status != 200 or (self.refuses and self.refuses in content):
            return (self.status if self.status != 200 else 400), {"error": {"message": "this is not possible"}}
        choice = {"index": 0, "message": {"role": "assistant", "content": self.said}}
        return 200, {"object": "chat.completion", "choices": [choice], "usage": {"total_tokens": 50}}

    @property
    def prompts(self) -> list[str]:
        return [body["messages"][-1]["content"] for body in self.sent]

    def settings(self, **more: object) -> tuple[str, ...]:
        given = {"enabled": "true", "model": "m", "base_url": self.url, "max_retries": 0} | more
        return tuple(f"--set=commentary.{name}={value}" for name, value in given.items())


@contextmanager
def serving(chat: ChatServer) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            status, reply = chat.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            content = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        chat.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield
        server.shutdown()
        thread.join()


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    """Run a chat server for one test."""
    found = ChatServer()
    with serving(found):
        yield found


def found_by_commentary(workspace: Any) -> dict[str, Any]:
    """Return the best hit for words that only the commentary has."""
    hits = workspace.run("search", "exponentially failed attempts", "--json").json["results"]
    return hits[0] if hits else {"commentary": ""}


def test_it_is_off_by_default(workspace: Any, chat: ChatServer) -> None:
    repository = workspace.repository("project", FILES)
    outcome = workspace.run(
        "--set=commentary.model=m", f"--set=commentary.base_url={chat.url}", "index", repository.folder
    )
    assert outcome.code == 0
    assert not chat.sent
    assert "commentary" not in outcome.out
    estimate = workspace.run("index", repository.folder, "--dry-run", "--full", "--json").json
    assert estimate["commentary"] is None


def test_chunks_are_described_once_and_found_by_the_description(workspace: Any, chat: ChatServer) -> None:
    repository = workspace.repository("project", FILES)
    settings = chat.settings(input_price_per_million_tokens=1000, output_price_per_million_tokens=1000)
    estimate = workspace.run(*settings, "index", repository.folder, "--dry-run", "--json").json["commentary"]
    assert not chat.sent
    report = workspace.run(*settings, "index", repository.folder, "--json").json
    made = report["commentary_made"]
    assert (made, report["commentary_missing"]) == (len(chat.sent), 0)
    assert made == estimate["chunks"] > 1
    assert report["commentary_tokens"] == 50 * made
    assert estimate["cost"] == pytest.approx((estimate["input_tokens"] + estimate["output_tokens"]) / 1000)
    hit = found_by_commentary(workspace)
    assert hit["commentary"] == SAID
    assert SAID not in hit["text"]
    again = workspace.run(*settings, "index", repository.folder, "--full").out
    assert f"commentary  0 made, {made} reused" in again
    repository.git("checkout", "--quiet", "-b", "dev")
    repository.commit({"new.py": "def h():\n    return 3\n"})
    branch = workspace.run(*settings, "index", repository.folder, "--branch", "dev", "--json").json
    assert branch["commentary_made"] == 1
    assert len(chat.sent) == made + 1
    assert workspace.run(*settings, "fsck").code == 0


def test_secrets_stay_masked_in_what_is_sent(workspace: Any, chat: ChatServer) -> None:
    repository = workspace.repository("project", FILES)
    assert workspace.run(*chat.settings(), "index", repository.folder).code == 0
    sent = json.dumps(chat.sent)
    assert "a1B2c3D4e5" not in sent
    assert "*****" in sent


def test_a_repository_that_must_stay_on_this_machine_is_never_described(workspace: Any, chat: ChatServer) -> None:
    repository = workspace.repository("project", FILES)
    (workspace.folder / "codequarry.toml").write_text(
        f'[[repositories]]\norigin = "{repository.folder}"\nexternal_models = false\n'
    )
    report = workspace.run(*chat.settings(), "index", repository.folder, "--json").json
    assert not chat.sent
    assert (report["commentary_made"], report["commentary_missing"]) == (0, 0)
    assert (
        workspace.run(*chat.settings(), "index", repository.folder, "--dry-run", "--full", "--json").json["commentary"]
        is None
    )
    assert workspace.run(*chat.settings(), "index", repository.folder, "--json").json["changed"] is False


def test_a_failing_server_fails_no_run_and_the_next_run_describes_the_rest(workspace: Any, chat: ChatServer) -> None:
    repository = workspace.repository("project", FILES)
    chat.status = 503
    outcome = workspace.run(*chat.settings(), "index", repository.folder, "--json")
    report = outcome.json
    assert report["commentary_missing"] > 1
    assert (
        f"warning: {report['commentary_missing']} chunks have no commentary (commentary server {chat.url} "
        in outcome.err
    )
    assert "answers 503: this is not possible); the next run of this command describes the rest" in outcome.err
    assert workspace.run("search", "return", "--json").json["results"]
    assert workspace.run(*chat.settings(), "fsck").code == 0
    chat.status = 200
    filled = workspace.run(*chat.settings(), "index", repository.folder, "--json").json
    assert (filled["commentary_made"], filled["commentary_missing"]) == (report["commentary_missing"], 0)
    assert found_by_commentary(workspace)["commentary"] == SAID
    assert workspace.run(*chat.settings(), "index", repository.folder, "--json").json["changed"] is False


def test_a_chunk_that_the_server_refuses_is_not_asked_about_again(workspace: Any, chat: ChatServer) -> None:
    repository = workspace.repository("project", FILES)
    chat.refuses = "def g"
    report = workspace.run(*chat.settings(concurrency=1), "index", repository.folder, "--json").json
    assert report["commentary_missing"] == 0
    asked = len(chat.sent)
    assert workspace.run(*chat.settings(), "index", repository.folder, "--full").code == 0
    assert len(chat.sent) == asked


def test_a_server_that_refuses_everything_is_a_failure(workspace: Any, chat: ChatServer) -> None:
    repository = workspace.repository("project", FILES)
    chat.status = 400
    outcome = workspace.run(*chat.settings(), "index", repository.folder, "--json")
    assert outcome.json["commentary_missing"] > 1
    assert "refuses every chat: this is not possible; see [commentary] model" in outcome.err


def test_a_run_stays_below_the_limit_of_tokens(workspace: Any, chat: ChatServer) -> None:
    repository = workspace.repository("project", FILES)
    outcome = workspace.run(*chat.settings(max_tokens_per_run=10), "index", repository.folder, "--json")
    assert not chat.sent
    assert "([commentary] max_tokens_per_run = 10 is reached)" in outcome.err


def test_removing_a_repository_deletes_its_commentary(workspace: Any, chat: ChatServer) -> None:
    repository = workspace.repository("project", FILES)
    assert workspace.run(*chat.settings(), "index", repository.folder).code == 0
    asked = len(chat.sent)
    assert workspace.run("repos", "rm", "project", "--yes").code == 0
    assert workspace.run(*chat.settings(), "index", repository.folder).code == 0
    assert len(chat.sent) == 2 * asked


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("--set=commentary.enabled=true",), "commentary needs model"),
        (("--set=commentary.enabled=true", "--set=commentary.model=m"), "commentary needs api_key, or base_url"),
    ],
)
def test_incomplete_settings_are_wrong_use(workspace: Any, settings: tuple[str, ...], message: str) -> None:
    repository = workspace.repository("project", FILES)
    outcome = workspace.run(*settings, "index", repository.folder)
    assert outcome.code == 2
    assert message in outcome.error
