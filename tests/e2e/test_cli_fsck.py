"""`codequarry fsck` and `codequarry repos collect` as users run them."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest

from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.index.opened_index import open_index
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import editions_of
from codequarry.shared.store.port import Store
from codequarry.shared.store.records import StoredFile, StoredRow

FILES = {f"src/{name}.py": f"def {name}():\n    return 1\n" for name in ("alpha", "beta", "gamma", "delta")}


@contextmanager
def opened(workspace) -> Iterator[Store]:
    """Open the index of a workspace in order to damage it."""
    settings = SettingsModel(home=workspace.folder / "home")
    with closing(editions_of(settings)) as editions, closing(open_index(settings, editions)) as index:
        yield index.store


@pytest.fixture
def project(workspace):
    """Return a repository of two commits, both indexed."""
    repository = workspace.indexed("project", FILES)
    repository.commit({"src/alpha.py": "def alpha():\n    return 2\n"})
    assert workspace.run("index", repository.folder).code == 0
    return repository


def lose(workspace, path: str) -> None:
    """Retire a path although no new version has replaced it."""
    with opened(workspace) as store:
        ((timeline, state),) = read_head(store).timelines.items()
        store.retire(timeline, state.published, [path], [])


def test_a_clean_index_is_reported_as_clean(workspace, project):
    outcome = workspace.run("fsck", "project")
    assert outcome.code == 0
    head = project.git("rev-parse", "HEAD")
    assert outcome.out.splitlines() == [
        f"project: main at {head[:12]}, 4 files compared, 4 of them with their text",
        "  clean",
    ]
    older = project.git("rev-parse", "HEAD~1")
    body = workspace.run("fsck", "project", "--commit", older[:10], "--json").json
    assert body == {
        "repo": "project",
        "ref": "main",
        "commit": older,
        "clean": True,
        "files": 4,
        "texts": 4,
        "same_rules": True,
        "problems": [],
    }


def test_problems_are_listed_and_repaired(workspace, project):
    lose(workspace, "src/beta.py")
    outcome = workspace.run("fsck", "project")
    assert outcome.code == 1
    assert "missing  src/beta.py  blob" in outcome.out
    assert "1 problem in 1 path; codequarry fsck project --repair repairs" in outcome.err
    outcome = workspace.run("fsck", "project", "--json")
    assert outcome.code == 1
    assert '"problems": [{"kind": "missing", "path": "src/beta.py"' in outcome.out
    body = workspace.run("fsck", "project", "--repair", "--json").json
    assert (body["clean"], body["problems"]) == (True, [])
    assert [(problem["kind"], problem["path"]) for problem in body["repaired"]] == [("missing", "src/beta.py")]
    assert workspace.run("fsck", "project").code == 0
    assert workspace.run("search", "beta", "--json").json["results"][0]["path"] == "src/beta.py"


def test_a_branch_can_be_checked_by_name(workspace, project):
    project.git("checkout", "--quiet", "-b", "dev")
    tip = project.commit({"src/beta.py": "def beta():\n    return 5\n"})
    assert workspace.run("index", project.folder, "--branch", "dev").code == 0
    body = workspace.run("fsck", "project", "--branch", "dev", "--full-text", "--json").json
    assert (body["ref"], body["commit"], body["clean"]) == ("dev", tip, True)


def test_an_older_commit_cannot_be_repaired(workspace, project):
    with opened(workspace) as store:
        ((timeline, state),) = read_head(store).timelines.items()
        dead = [stored for stored in store.history(timeline) if stored.died <= state.published]
        assert {type(stored) for stored in dead} == {StoredRow, StoredFile}
        # The file of the older commit, which the newest commit no longer has.
        store.collect(timeline, -1, state.published, [])
    older = project.git("rev-parse", "HEAD~1")
    assert workspace.run("fsck", "project").code == 0
    outcome = workspace.run("fsck", "project", "--commit", older, "--repair")
    assert outcome.code == 2
    assert f"error: {older} is not the newest commit of main" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nothing",), 1, "'nothing' is not indexed"),
        (("project", "--branch", "nothing"), 1, "branch 'nothing' is not indexed"),
        (("project", "--commit", "123"), 2, "must be 7 to 64 hexadecimal digits"),
        (("project", "--branch", "a", "--tag", "b"), 2, "mutually exclusive"),
    ],
)
def test_an_unknown_name_is_an_error(workspace, project, arguments, code, message):
    outcome = workspace.run("fsck", *arguments)
    assert outcome.code == code
    assert message in outcome.error


def test_an_index_whose_rows_are_newer_than_its_head_is_refused(workspace, project):
    with opened(workspace) as store:
        head = read_head(store)
        (timeline,) = head.timelines
        stored = next(item for item in store.history(timeline) if isinstance(item, StoredRow))
        late = replace(stored.row, born=head.counter + 9)
        store.create([late], [], store.cached_vectors([late.vector_key]))
    for command in (("index", project.folder), ("serve", "--port", "0")):
        outcome = workspace.run(*command)
        assert outcome.code == 1
        assert "restore rows and catalog from the same backup" in outcome.err.splitlines()[-1]
    outcome = workspace.run("fsck", "project")
    assert outcome.code == 1
    assert "counter" in outcome.out


def test_old_commits_are_dropped_by_command(workspace, project):
    older = project.git("rev-parse", "HEAD~1")
    keep_one = ("--set", "retention.keep_commits=1", "--set", "retention.grace_seconds=0")
    foreseen = workspace.run(*keep_one, "repos", "collect", "--dry-run", "--json").json
    assert [(commit["repo"], commit["ref"], commit["commit"]) for commit in foreseen["commits"]] == [
        ("project", "main", older)
    ]
    assert (foreseen["dry_run"], foreseen["rows"], foreseen["files"]) == (True, 1, 1)
    assert foreseen["bytes"] > 1000
    assert workspace.run("fsck", "project", "--commit", older).code == 0, "nothing has changed"
    outcome = workspace.run(*keep_one, "repos", "collect", "project")
    assert (outcome.code, older[:12] in outcome.out) == (0, True)
    assert "1 commit expired; 2 rows and records deleted" in outcome.err
    assert workspace.run("fsck", "project", "--commit", older).code == 1
    assert workspace.run("fsck", "project").code == 0
    nothing = workspace.run(*keep_one, "repos", "collect", "--json").json
    assert nothing == {"dry_run": False, "commits": [], "deleted": 0, "waiting": 0, "gone": [], "dropped": False}


def test_collecting_an_unindexed_repository_is_an_error(workspace, project):
    assert "'nothing' is not indexed; indexed: project" in workspace.run("repos", "collect", "nothing").error


def test_an_index_run_collects_automatically(workspace, project):
    older = project.git("rev-parse", "HEAD~1")
    limits = ("--set", "retention.keep_commits=1", "--set", "retention.grace_seconds=0")
    assert workspace.run(*limits, "index", project.folder).code == 0
    outcome = workspace.run("search", "alpha", "--commit", older)
    assert outcome.code == 1
    assert workspace.run("fsck", "project").code == 0
