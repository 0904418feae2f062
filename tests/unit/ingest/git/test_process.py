import base64
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from pydantic import SecretStr

from codequarry.ingest.git.environment import account_of, git_environment
from codequarry.ingest.git.origins import parse_origin
from codequarry.ingest.git.process import BoundedOutput, explain, run_git, run_git_bounded
from codequarry.shared.errors import GitError
from codequarry.shared.settings.git import GitSettings

SECRET = "s3cr3t-t0ken"


def test_the_token_of_a_host_is_preferred_to_the_common_token():
    settings = GitSettings(token=SecretStr("common"), tokens={"git.example": SecretStr("special")})
    special = account_of(parse_origin("https://git.example/a/b"), settings)
    common = account_of(parse_origin("https://other.example/a/b"), settings)
    assert special is not None and (special.user, special.secret) == ("x-access-token", "special")
    assert common is not None and common.secret == "common"


def test_a_guarded_origin_gets_the_common_token_only_if_its_host_is_allowed(tmp_path):
    """Otherwise a client that may add repositories could have the token sent to its own host."""

    def secret(origin, **git):
        settings = GitSettings(token=SecretStr("common"), tokens={"git.example": SecretStr("special")}, **git)
        account = account_of(parse_origin(origin), settings, guarded=True)
        return account and account.secret

    assert secret("https://elsewhere.example/a") is None
    assert secret("https://elsewhere.example/a", allowed_hosts=("*",)) is None
    assert secret("https://elsewhere.example/a", allowed_hosts=("*.example",)) == "common"
    assert secret("https://elsewhere.example:8443/a", allowed_hosts=("elsewhere.example",)) == "common"
    assert secret("https://git.example/a") == "special"
    settings = GitSettings(token=SecretStr(SECRET))
    origin = parse_origin("https://elsewhere.example/a")
    assert SECRET in git_environment(settings, tmp_path, origin).values()
    assert SECRET not in git_environment(settings, tmp_path, origin, bound={}).values()


@pytest.mark.parametrize("origin", ["http://git.example/a/b", "git@git.example:a/b", "ssh://git.example/a/b"])
def test_a_token_is_sent_only_over_https(origin):
    assert account_of(parse_origin(origin), GitSettings(token=SecretStr(SECRET))) is None


def test_credentials_in_the_url_are_preferred_and_a_lone_user_gets_the_token():
    settings = GitSettings(token=SecretStr(SECRET))
    own = account_of(parse_origin("https://me:mine@git.example/a/b"), settings)
    user = account_of(parse_origin("https://me@git.example/a/b"), settings)
    assert own is not None and (own.user, own.secret) == ("me", "mine")
    assert user is not None and (user.user, user.secret) == ("me", SECRET)


def test_git_inherits_no_variables_that_redirect_it_or_contain_secrets(monkeypatch, tmp_path):
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_TRACE_CURL", "SSH_ASKPASS", "CODEQUARRY_GIT__TOKEN"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("GIT_SSL_CAINFO", "/ca.pem")
    environment = git_environment(GitSettings(), tmp_path / "config")
    assert not environment.keys() & {"GIT_DIR", "GIT_WORK_TREE", "GIT_TRACE_CURL", "SSH_ASKPASS"}
    assert not [name for name in environment if name.startswith("CODEQUARRY_")]
    assert environment["GIT_SSL_CAINFO"] == "/ca.pem"
    assert environment["GIT_TERMINAL_PROMPT"] == "0"


def test_proxy_ca_and_ssh_command_are_passed_to_git(tmp_path):
    settings = GitSettings(proxy="http://proxy:3128", ca_file=tmp_path / "ca.pem", ssh_command="ssh -i key")
    environment = git_environment(settings, tmp_path / "config")
    assert (environment["GIT_CONFIG_KEY_0"], environment["GIT_CONFIG_VALUE_0"]) == ("http.proxy", "http://proxy:3128")
    assert environment["GIT_SSL_CAINFO"] == str(tmp_path / "ca.pem")
    assert environment["GIT_SSH_COMMAND"] == "ssh -i key"


def test_ssh_never_prompts_unless_a_command_is_configured(tmp_path, monkeypatch):
    assert "BatchMode=yes" in git_environment(GitSettings(), tmp_path)["GIT_SSH_COMMAND"]
    monkeypatch.setenv("GIT_SSH_COMMAND", "ssh -v")
    assert git_environment(GitSettings(), tmp_path)["GIT_SSH_COMMAND"] == "ssh -v"


class Recorder(BaseHTTPRequestHandler):
    """Asks for credentials and records those it receives."""

    seen: list[str]

    def do_GET(self) -> None:
        given = self.headers.get("Authorization")
        if given:
            self.seen.append(given)
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="git"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def guarded_server():
    handler = type("Handler", (Recorder,), {"seen": []})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port, handler.seen
        server.shutdown()
        thread.join()


def test_credentials_reach_the_server_and_no_file_or_message(fetch, guarded_server, tmp_path):
    port, seen = guarded_server
    with pytest.raises(GitError) as caught:
        fetch(f"http://someone:{SECRET}@127.0.0.1:{port}/a/b.git")
    assert base64.b64encode(f"someone:{SECRET}".encode()).decode() in seen[0]
    assert "CODEQUARRY_GIT__TOKEN" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_without_credentials_git_fails_at_once(fetch, guarded_server):
    port, seen = guarded_server
    with pytest.raises(GitError, match="the server requires credentials: set CODEQUARRY_GIT__TOKEN"):
        fetch(f"http://127.0.0.1:{port}/a/b.git")
    assert seen == []


@pytest.mark.parametrize(
    ("complaint", "line"),
    [
        (b"", "git failed without a message"),
        (b"warning: x\nfatal: bad thing\n", "bad thing"),
        (b"error: RPC failed\nfatal: early EOF\n", "RPC failed"),
        (b"fatal: unable to access 'https://u:pw@h/': boom\n", "unable to access 'https://***@h/': boom"),
        (b"fatal: write error: No space left on device\n", "write error: No space left on device; the disk is full"),
    ],
)
def test_error_output_becomes_one_line_without_credentials(complaint, line):
    assert explain(complaint).startswith(line)


def test_a_hanging_command_is_killed_with_its_children(tmp_path):
    pid_file = tmp_path / "pid"
    script = tmp_path / "git"
    script.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! > {pid_file}\nwait\n")
    script.chmod(0o755)
    with pytest.raises(GitError, match=r"no answer within 0\.5 s"):
        run_git(["x"], {"PATH": f"{tmp_path}:/usr/bin:/bin"}, 0.5, what="x")
    pid = int(pid_file.read_text())
    deadline = time.monotonic() + 30
    while _runs(pid):
        # The signal has been sent; its delivery may take a moment.
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.01)


def test_the_attend_callback_runs_while_a_command_runs(tmp_path):
    script = tmp_path / "git"
    script.write_text("#!/bin/sh\nsleep 2\nwc -c\n")
    script.chmod(0o755)
    looks = []
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    output = run_git(["x"], environment, 60, what="x", on_tick=lambda: looks.append(1))
    assert int(output) == 0, "git must not have any input"
    assert len(looks) > 1


def _runs(pid):
    """Return whether a process is running, and not a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_missing_git_is_reported(tmp_path):
    with pytest.raises(GitError, match="git is not installed"):
        run_git(["version"], {"PATH": str(tmp_path)}, what="x")


@pytest.fixture
def fake_git(tmp_path):
    """Return a function that makes a script in place of git, and returns the environment in which it is found."""

    def make(script):
        program = tmp_path / "git"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return {"PATH": f"{tmp_path}:/usr/bin:/bin"}

    return make


def test_a_bounded_command_that_ends_has_its_whole_output(fake_git):
    environment = fake_git("echo one; echo complaint >&2; sleep 0.1; echo two; wc -c")
    found = run_git_bounded(["x"], environment, 60, 1_000, what="x")
    assert (found.output.split(), found.stopped) == ([b"one", b"two", b"0"], "")


def test_a_bounded_command_that_takes_too_long_is_killed_with_its_children(fake_git, tmp_path):
    environment = fake_git(f"echo first\nsleep 1000 &\necho $! > {tmp_path / 'pid'}\nwait")
    found = run_git_bounded(["x"], environment, 1, 1_000, what="x")
    assert found == BoundedOutput(b"first\n", "time")
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 30
    while _runs(pid):
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.01)


def test_a_bounded_command_that_writes_too_much_is_killed(fake_git):
    found = run_git_bounded(["x"], fake_git("yes"), 60, 10, what="x")
    assert found == BoundedOutput(b"y\n" * 5, "size")
    complaining = run_git_bounded(["x"], fake_git("yes >&2"), 60, 10, what="x")
    assert complaining == BoundedOutput(b"", "size")


def test_a_bounded_command_that_fails_is_an_error(fake_git):
    with pytest.raises(GitError, match=r"x: bad revision$"):
        run_git_bounded(["x"], fake_git("echo half; echo 'fatal: bad revision' >&2; exit 128"), 60, 1_000, what="x")
