"""`codequarry sync`, `repos add` and `repos rename` as users run them."""

import json

import pytest

SETTINGS = """
[[repositories]]
origin = "core"
refs = ["release/*"]
exclude = ["/docs/"]
"""


@pytest.fixture
def core(workspace):
    repository = workspace.repository("core", {"a.py": "def one():\n    return 1\n", "docs/x.py": "x = 1\n"})
    repository.git("branch", "release/1")
    (workspace.folder / "codequarry.toml").write_text(SETTINGS)
    return repository


def indexed(workspace):
    repos = workspace.run("repos", "list", "--json").json["repos"]
    return {repo["name"]: sorted(version["ref"] for version in repo["versions"]) for repo in repos}


def test_sync_makes_the_index_match_the_settings(workspace, core):
    dry = workspace.run("sync", "--dry-run", "--json").json
    assert [(action["action"], action["ref"]) for action in dry["actions"]] == [
        ("add", ""),
        ("index", "refs/heads/release/1"),
    ]
    assert indexed(workspace) == {}
    done = workspace.run("sync", "--json").json
    assert {action["state"] for action in done["actions"]} == {"done"}
    assert indexed(workspace) == {"core": ["main", "release/1"]}
    assert workspace.run("repos", "list", "--json").json["repos"][0]["skipped"] == {"excluded": 1}
    again = workspace.run("sync")
    assert (again.code, again.out) == (0, "")
    assert "already matches the settings" in again.err


def test_an_error_of_one_repository_fails_the_command_after_the_others_are_done(workspace, core):
    settings = SETTINGS + '\n[[repositories]]\norigin = "nowhere"\n'
    (workspace.folder / "codequarry.toml").write_text(settings)
    outcome = workspace.run("sync")
    assert outcome.code == 1
    assert "nowhere: nowhere does not exist" in outcome.err
    assert list(indexed(workspace)) == ["core"]


def test_a_repository_is_added_renamed_and_left_to_a_service(workspace, core):
    (workspace.folder / "codequarry.toml").unlink()
    [job] = workspace.run("repos", "add", core.folder, "--name", "first", "--json").json["jobs"]
    assert (job["state"], job["trigger"]) == ("done", "command")
    renamed = workspace.run("repos", "rename", "first", "second", "--json").json
    assert (renamed["name"], renamed["versions"]) == ("second", ["main"])
    assert list(indexed(workspace)) == ["second"]
    [job] = workspace.run("repos", "add", core.folder, "--branch", "release/1", "--detach", "--json").json["jobs"]
    assert job["state"] == "queued"
    assert workspace.run("jobs", "list", "--state", "queued", "--json").json["total"] == 1


def test_a_failed_fetch_fails_the_command_although_its_job_is_queued(workspace):
    """There may be no service or worker that retries it."""
    outcome = workspace.run("repos", "add", "http://127.0.0.1:1/team/away.git", "--json")
    assert outcome.code == 1
    [job] = json.loads(outcome.out)["jobs"]
    assert (job["state"], bool(job["error"])) == ("queued", True)
    assert "codequarry serve or a worker will retry it" in outcome.err


def test_queued_jobs_of_a_removed_repository_do_not_bring_it_back(workspace, core):
    (workspace.folder / "codequarry.toml").unlink()
    workspace.run("repos", "add", core.folder)
    workspace.run("repos", "add", core.folder, "--branch", "release/1", "--detach")
    assert workspace.run("repos", "rm", "core", "--yes").code == 0
    states = [job["state"] for job in workspace.run("jobs", "list", "--json").json["jobs"]]
    assert states == ["cancelled", "done"]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("core", "--github-org", "acme"),
        ("--github-org", "acme", "--name", "x"),
        ("--gitlab-group", "acme", "--api-url", "ftp://x"),
    ],
)
def test_wrong_use_is_refused(workspace, core, arguments):
    outcome = workspace.run("repos", "add", *arguments)
    assert outcome.code == 2
    assert outcome.error.startswith("error: ")
