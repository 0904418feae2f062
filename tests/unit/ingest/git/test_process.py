import base64
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from pydantic import SecretStr

from codequarry.ingest.git.environment import account_of, git_environment
from codequarry.ingest.git.origins import parse_origin
from codequarry.ingest.git.process import explain, run_git
from codequarry.shared.errors import GitError
from codequarry.shared.settings.git import GitSettings

SECRET = "s3cr3t-t0ken"


def test_tokens_are_chosen_by_host_before_the_common_one():
    settings = GitSettings(token=SecretStr("common"), tokens={"git.example": SecretStr("special")})
    special = account_of(parse_origin("https://git.example/a/b"), settings)
    common = account_of(parse_origin("https://other.example/a/b"), settings)
    assert special is not None and (special.user, special.secret) == ("x-access-token", "special")
    assert common is not None and common.secret == "common"


def test_an_origin_that_a_request_named_gets_the_common_token_only_where_its_host_is_listed(tmp_path):
    """Else whoever may add repositories could have it sent to a host of their own."""

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
def test_a_token_goes_over_https_only(origin):
    assert account_of(parse_origin(origin), GitSettings(token=SecretStr(SECRET))) is None


def test_an_account_in_the_url_is_preferred_and_a_user_alone_is_completed():
    settings = GitSettings(token=SecretStr(SECRET))
    own = account_of(parse_origin("https://me:mine@git.example/a/b"), settings)
    user = account_of(parse_origin("https://me@git.example/a/b"), settings)
    assert own is not None and (own.user, own.secret) == ("me", "mine")
    assert user is not None and (user.user, user.secret) == ("me", SECRET)


def test_git_inherits_nothing_that_redirects_it_or_tells_our_secrets(monkeypatch, tmp_path):
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_TRACE_CURL", "SSH_ASKPASS", "CODEQUARRY_GIT__TOKEN"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("GIT_SSL_CAINFO", "/ca.pem")
    environment = git_environment(GitSettings(), tmp_path / "config")
    assert not environment.keys() & {"GIT_DIR", "GIT_WORK_TREE", "GIT_TRACE_CURL", "SSH_ASKPASS"}
    assert not [name for name in environment if name.startswith("CODEQUARRY_")]
    assert environment["GIT_SSL_CAINFO"] == "/ca.pem"
    assert environment["GIT_TERMINAL_PROMPT"] == "0"


def test_proxy_ca_and_ssh_command_are_handed_on(tmp_path):
    settings = GitSettings(proxy="http://proxy:3128", ca_file=tmp_path / "ca.pem", ssh_command="ssh -i key")
    environment = git_environment(settings, tmp_path / "config")
    assert (environment["GIT_CONFIG_KEY_0"], environment["GIT_CONFIG_VALUE_0"]) == ("http.proxy", "http://proxy:3128")
    assert environment["GIT_SSL_CAINFO"] == str(tmp_path / "ca.pem")
    assert environment["GIT_SSH_COMMAND"] == "ssh -i key"


def test_ssh_asks_nothing_unless_a_person_chose_a_command(tmp_path, monkeypatch):
    assert "BatchMode=yes" in git_environment(GitSettings(), tmp_path)["GIT_SSH_COMMAND"]
    monkeypatch.setenv("GIT_SSH_COMMAND", "ssh -v")
    assert git_environment(GitSettings(), tmp_path)["GIT_SSH_COMMAND"] == "ssh -v"


class Recorder(BaseHTTPRequestHandler):
    """Asks for an account and remembers the one it is given."""

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


def test_the_account_reaches_the_server_and_nothing_else(fetch, guarded_server, tmp_path):
    port, seen = guarded_server
    with pytest.raises(GitError) as caught:
        fetch(f"http://someone:{SECRET}@127.0.0.1:{port}/a/b.git")
    assert base64.b64encode(f"someone:{SECRET}".encode()).decode() in seen[0]
    assert "CODEQUARRY_GIT__TOKEN" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_without_an_account_git_gives_up_at_once(fetch, guarded_server):
    port, seen = guarded_server
    with pytest.raises(GitError, match="it wants an account: set CODEQUARRY_GIT__TOKEN"):
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
def test_complaints_become_one_line_without_accounts(complaint, line):
    assert explain(complaint).startswith(line)


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path):
    pid_file = tmp_path / "pid"
    script = tmp_path / "git"
    script.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! > {pid_file}\nwait\n")
    script.chmod(0o755)
    with pytest.raises(GitError, match=r"no answer within 0\.5 s"):
        run_git(["x"], {"PATH": f"{tmp_path}:/usr/bin:/bin"}, 0.5, what="x")
    pid = int(pid_file.read_text())
    deadline = time.monotonic() + 30
    while _runs(pid):
        # The signal is sent; when the machine gets to it is up to the machine.
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.01)


def test_a_command_is_attended_to_as_long_as_it_runs(tmp_path):
    script = tmp_path / "git"
    script.write_text("#!/bin/sh\nsleep 2\nwc -c\n")
    script.chmod(0o755)
    looks = []
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    output = run_git(["x"], environment, 60, what="x", on_tick=lambda: looks.append(1))
    assert int(output) == 0, "git has no input"
    assert len(looks) > 1


def _runs(pid):
    """Tell whether a process is there and no mere entry that its parent has not read yet."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_machine_without_git_is_told_so(tmp_path):
    with pytest.raises(GitError, match="git is not installed"):
        run_git(["version"], {"PATH": str(tmp_path)}, what="x")
