"""`codequarry keys` as users run it, and the service that requires them."""

import json
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

TIMEOUT_SECONDS = 60


def ask(url, path, key=None):
    """Send a request and return status and body."""
    request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {key}"} if key else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_key_made_before_any_index_survives_the_choice_of_another_model(workspace, place_table):
    place_table(workspace.folder / "home" / "models" / "small", 64)
    made = workspace.run("keys", "create", "ci", "--repo", "team-*", "--scope", "index", "--scope", "search")
    assert made.code == 0, made.err
    key = made.out.strip()
    assert key.startswith("cq_") and key not in made.err
    listed = workspace.run("keys", "list", "--json").json["keys"]
    assert [(entry["name"], entry["scopes"], entry["state"]) for entry in listed] == [
        ("ci", ["search", "index"], "active")
    ]
    assert key.rpartition("_")[2] not in workspace.run("keys", "list", "--json").out
    repository = workspace.repository("project", {"a.py": "x = 1\n"})
    smaller = {"CODEQUARRY_EMBEDDING__MODEL": "small"}
    assert workspace.run("index", repository.folder, variables=smaller).code == 0
    assert [entry["name"] for entry in workspace.run("keys", "list", "--json").json["keys"]] == ["ci"]


def test_grants_are_added_and_removed_and_end_with_their_repository(workspace):
    workspace.indexed("core", {"a.py": "x = 1\n"})
    workspace.run("keys", "create", "reader", "--repo", "core", "--path", "docs/", "--not-path", "docs/x/")
    granted = workspace.run("keys", "grant", "reader", "--repo", "site", "--json").json
    core = granted["grants"][0].pop("repo_id")
    assert re.fullmatch("[0-9a-f]{16}", core)
    assert granted["grants"] == [
        {"repos": "core", "include": ["docs/"], "exclude": ["docs/x/"], "state": "bound"},
        {"repos": "site", "include": [], "exclude": [], "repo_id": None, "state": "pending"},
    ]
    assert "site (no such repository yet)" in workspace.run("keys", "show", "reader").out
    assert workspace.run("repos", "rm", "core", "--yes").code == 0
    assert [grant["repos"] for grant in workspace.run("keys", "show", "reader", "--json").json["grants"]] == ["site"]
    taken = workspace.run("keys", "grant", "reader", "--remove", "--repo", "site", "--json").json
    assert taken["grants"] == []


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("create", "x"), 2, "--repo"),
        (("create", "x", "--repo", "a?"), 2, "only *"),
        (("create", "x", "--repo", "*", "--scope", "read"), 2, "unknown scope 'read'"),
        (("create", "x", "--repo", "*", "--expires", "soon"), 2, "90d"),
        (("create", "x", "--repo", "*", "--expires", "2001-01-01"), 2, "is in the past"),
        (("rotate", "x"), 1, "no key 'x'"),
        (("show", "x"), 1, "no key 'x'"),
        (("grant", "x", "--remove", "--repo", "a", "--path", "b/"), 2, "--remove"),
    ],
)
def test_wrong_usage_is_refused_in_one_line(workspace, arguments, code, says):
    outcome = workspace.run("keys", *arguments)
    assert outcome.code == code
    assert says in outcome.error


def test_a_key_is_rotated_without_a_gap_and_revoked_while_the_service_runs(workspace):
    workspace.indexed("core", {"a.py": "x = 1\n"})
    first = workspace.run("keys", "create", "ci", "--repo", "core").out.strip()
    command = [sys.executable, "-m", "codequarry.cli.main", "serve", "--host", "0.0.0.0", "--port", "0"]
    process = subprocess.Popen(
        command, cwd=workspace.folder, env=workspace.environment, stderr=subprocess.PIPE, text=True
    )
    try:
        announced = next(line for line in process.stderr if "listens on" in line)
        url = f"http://127.0.0.1:{announced.strip().rpartition(':')[2]}"
        assert ask(url, "/repos")[0] == 401
        assert [repo["name"] for repo in json.loads(ask(url, "/repos", first)[1])["repos"]] == ["core"]
        second = workspace.run("keys", "rotate", "ci", "--keep", "1h").out.strip()
        assert _soon(url, second, 200)
        assert ask(url, "/repos", first)[0] == 200
        workspace.run("keys", "revoke", "ci")
        assert _soon(url, second, 401)
        assert ask(url, "/repos", first)[0] == ask(url, "/repos")[0] == 401
        assert ask(url, "/healthz")[0] == 200
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT_SECONDS)
    assert workspace.run("keys", "list", "--json").json["keys"][0]["last_used_at"].endswith(":00:00+00:00")


def _soon(url, key, status):
    """Return whether a key gets this status within the seconds that the service takes to notice a change."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while ask(url, "/repos", key)[0] != status:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
