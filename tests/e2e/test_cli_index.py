"""A repository from git to the index and to search results, through the command line."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FILES = {
    "README.md": "# Project\n\nA small project about retries.\n",
    "src/retry.py": (
        '"""Retries."""\n\nMAX_ATTEMPTS = 5\n\n\ndef retry_delay(attempt: int) -> float:\n'
        '    """Return the seconds to wait before the next attempt."""\n    return min(2.0**attempt, 60.0)\n'
    ),
    "src/server.go": "package server\n\n// Serve answers requests.\nfunc Serve(port int) error {\n\treturn nil\n}\n",
    "logo.png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(64),
    "empty.py": "",
}


@pytest.fixture
def indexed(workspace: Any) -> Any:
    """Return a small indexed repository."""
    return workspace.indexed("project", FILES)


def test_the_first_run_reports_what_it_did(workspace: Any) -> None:
    repository = workspace.repository("project", FILES)
    outcome = workspace.run("index", repository.folder)
    assert outcome.code == 0
    head = repository.git("rev-parse", "HEAD")
    first, files, chunks, history, embeddings = outcome.out.splitlines()
    assert first.startswith(f"project: main at {head[:12]}, indexed in ")
    assert files == "  files       4 indexed, 1 skipped: 1 binary"
    assert chunks.startswith("  chunks      ")
    assert history == "  history     1 commit, 0 changed files of them"
    assert embeddings.endswith(" made, 0 reused")
    assert "project: indexing" in outcome.err


def test_the_report_as_json(workspace: Any) -> None:
    repository = workspace.repository("project", FILES)
    body = workspace.run("index", repository.folder, "--json").json
    assert body["repo"] == "project"
    assert body["commit"] == repository.git("rev-parse", "HEAD")
    assert (body["files_indexed"], body["skipped"], body["changed"]) == (4, {"binary": 1}, True)
    assert body["embedded"] > 0


def test_a_mistaken_line_of_the_ignore_file_is_named_and_the_others_count(workspace: Any) -> None:
    repository = workspace.repository("project", FILES | {".codequarryignore": "[a\n*.go\n"})
    warning = ".codequarryignore, line 1: '[a' matches no path: its bracket is not closed"
    planned = workspace.run("index", repository.folder, "--dry-run")
    assert f"warning: {warning}\n" in planned.err
    outcome = workspace.run("index", repository.folder)
    assert outcome.code == 0
    assert f"warning: {warning}\n" in outcome.err
    assert "1 excluded" in outcome.out
    assert workspace.run("index", repository.folder, "--json").json["warnings"] == [warning]


@pytest.mark.parametrize("pattern", ["[a", "[z-a].txt", "[[:nope:]]", "./src"])
def test_a_mistaken_pattern_of_the_settings_is_refused(workspace: Any, pattern: str) -> None:
    repository = workspace.repository("project", FILES)
    outcome = workspace.run("--set", f'scan.exclude=["{pattern}"]', "index", repository.folder)
    assert outcome.code == 2
    assert f"[scan] exclude: '{pattern}' is not a valid .gitignore pattern: " in outcome.err


def test_a_second_run_reads_only_what_changed(workspace: Any, indexed: Any) -> None:
    before = indexed.git("rev-parse", "HEAD")
    indexed.commit({"src/retry.py": FILES["src/retry.py"] + "\n\ndef give_up() -> None:\n    raise OSError\n"})
    outcome = workspace.run("index", indexed.folder)
    assert f"  since {before[:12]}: only 1 changed path\n" in outcome.out
    assert workspace.run("search", "give_up", "--json").json["results"][0]["symbol_name"] == "give_up"


def test_a_removed_file_is_no_longer_listed(workspace: Any, indexed: Any) -> None:
    indexed.commit({"src/server.go": None})
    assert "only 1 changed path, 1 of them removed" in workspace.run("index", indexed.folder).out
    paths = [file["path"] for file in workspace.run("files", "project", "--json").json["files"]]
    assert "src/server.go" not in paths


def test_a_run_without_changes_says_so(workspace: Any, indexed: Any) -> None:
    outcome = workspace.run("index", indexed.folder)
    assert outcome.out.startswith("project: main at ")
    assert ", nothing new (" in outcome.out
    assert workspace.run("index", indexed.folder, "--json").json["changed"] is False


def test_a_full_run_reuses_the_embeddings(workspace: Any, indexed: Any) -> None:
    body = workspace.run("index", indexed.folder, "--full", "--json").json
    assert (body["full"], body["embedded"]) == (True, 0)
    assert body["reused_embeddings"] > 0


def test_a_branch_can_be_indexed_under_another_name(workspace: Any) -> None:
    repository = workspace.repository("project", FILES)
    repository.git("checkout", "--quiet", "-b", "next")
    repository.commit({"src/next.py": "def only_on_next() -> None: ...\n"})
    repository.git("checkout", "--quiet", "main")
    body = workspace.run("index", repository.folder, "--branch", "next", "--name", "other", "--json").json
    assert (body["repo"], body["ref"]) == ("other", "next")
    assert (
        workspace.run("search", "only_on_next", "--repo", "other", "--json").json["results"][0]["path"] == "src/next.py"
    )


def test_a_dry_run_changes_nothing(workspace: Any) -> None:
    repository = workspace.repository("project", FILES)
    body = workspace.run("index", repository.folder, "--dry-run", "--json").json
    real = workspace.run("repos", "list", "--json").json
    assert real == {"repos": []}
    done = workspace.run("index", repository.folder, "--json").json
    assert (body["files"], body["skipped"]) == (done["files_indexed"] + 1, done["skipped"])
    assert body["largest_files"][0] == {"path": "src/retry.py", "size": len(FILES["src/retry.py"]), "chunks": 3}
    assert abs(body["chunks"] - done["chunks_live"]) <= 0.3 * done["chunks_live"]


@pytest.mark.parametrize("limit", ["--max-chunks", "--max-tokens"])
def test_a_run_that_exceeds_a_limit_publishes_nothing(workspace: Any, limit: str) -> None:
    repository = workspace.repository("project", FILES)
    outcome = workspace.run("index", repository.folder, limit, 1)
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1].startswith("error: ")
    assert workspace.run("repos", "list", "--json").json == {"repos": []}


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        ("missing", "error: "),
        ("empty", "error: "),
        ("https://localhost:1/nothing.git", "error: "),
    ],
)
def test_an_origin_that_cannot_be_indexed_is_reported_in_one_line(workspace: Any, origin: str, message: str) -> None:
    workspace.repository("empty")
    outcome = workspace.run("index", origin)
    assert outcome.code in (1, 2)
    assert outcome.err.splitlines()[-1].startswith(message)
    assert "Traceback" not in outcome.err


def test_a_folder_that_is_not_a_repository_is_wrong_usage(workspace: Any) -> None:
    (workspace.folder / "plain").mkdir()
    outcome = workspace.run("index", "plain")
    assert outcome.code in (1, 2)
    assert "plain" in outcome.err


@pytest.fixture
def branched(workspace: Any) -> Any:
    """Return a repository with an indexed default branch, another branch and a tag."""
    files = FILES | {f"src/module_{number}.py": f"def module_{number}(): ...\n" for number in range(12)}
    repository = workspace.indexed("project", files)
    repository.git("checkout", "--quiet", "-b", "next")
    repository.commit({"src/next.py": "def only_on_next() -> None: ...\n", "src/module_0.py": None})
    repository.git("tag", "--annotate", "--message", "one", "v1")
    repository.git("checkout", "--quiet", "main")
    return repository


def test_the_report_of_a_branch_names_its_base(workspace: Any, branched: Any) -> None:
    outcome = workspace.run("index", branched.folder, "--branch", "next")
    base, tip = branched.git("rev-parse", "main"), branched.git("rev-parse", "next")
    lines = outcome.out.splitlines()
    assert lines[0].startswith(f"project: branch next at {tip[:12]}, indexed in ")
    assert lines[1] == f"  layer       2 changed paths over main at {base[:12]}"
    assert lines[-1] == "  embeddings  1 made, 0 reused"
    found = workspace.run("search", "only_on_next", "--branch", "next", "--json").json["results"]
    assert found[0]["path"] == "src/next.py"
    assert "src/next.py" not in [
        hit["path"] for hit in workspace.run("search", "only_on_next", "--json").json["results"]
    ]


def test_the_report_of_a_version_as_json(workspace: Any, branched: Any) -> None:
    body = workspace.run("index", branched.folder, "--tag", "v1", "--json").json
    assert (body["kind"], body["key"], body["base_ref"], body["base_paths"], body["mask"]) == (
        "overlay", "refs/tags/v1", "main", 2, 1,
    )  # fmt: skip
    assert (body["default_branch"], body["dropped"]) == (None, [])


def test_a_dry_run_of_a_branch_counts_its_diff(workspace: Any, branched: Any) -> None:
    body = workspace.run("index", branched.folder, "--branch", "next", "--dry-run", "--json").json
    assert (body["files"], body["base_paths"], body["base_ref"]) == (1, 2, "main")
    assert "2 changed paths over main" in workspace.run("index", branched.folder, "--branch", "next", "--dry-run").out


def test_a_tag_of_an_unindexed_repository_indexes_the_default_branch_first(workspace: Any) -> None:
    repository = workspace.repository("project", FILES)
    repository.git("tag", "v1")
    outcome = workspace.run("index", repository.folder, "--tag", "v1")
    lines = outcome.out.splitlines()
    assert lines[0].startswith("project: main at ")
    assert any(line.startswith("project: tag v1 at ") for line in lines)


def test_a_deleted_branch_is_dropped_and_reported(workspace: Any, branched: Any) -> None:
    workspace.run("index", branched.folder, "--branch", "next")
    branched.git("branch", "--delete", "--force", "next")
    outcome = workspace.run("index", branched.folder, "--branch", "next")
    assert outcome.code == 0
    assert (
        outcome.out == "project: the origin no longer has branch next; its commits stay searchable until they expire\n"
    )
    outcome = workspace.run("index", branched.folder, "--branch", "next")
    assert outcome.code == 1
    assert "has no branch next; it has main" in outcome.err


def test_a_branch_that_a_clone_only_follows_is_named_with_the_command_that_makes_it(
    workspace: Any, branched: Any, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", branched.folder, clone], check=True)
    outcome = workspace.run("index", clone, "--branch", "next")
    assert outcome.code == 1
    assert outcome.err.endswith("has no branch next; it has main; to make one: git branch next origin/next\n")
    subprocess.run(["git", "branch", "next", "origin/next"], cwd=clone, check=True)
    assert workspace.run("index", clone, "--branch", "next").code == 0


def test_a_run_of_another_version_reports_dropped_branches(workspace: Any, branched: Any) -> None:
    workspace.run("index", branched.folder, "--branch", "next")
    branched.git("branch", "--delete", "--force", "next")
    branched.commit({"src/more.py": "x = 1\n"})
    assert workspace.run("index", branched.folder).out.splitlines()[-1] == (
        "  ended       next: the origin no longer has it; its commits stay searchable until they expire"
    )


def test_a_single_version_is_removed(workspace: Any, branched: Any) -> None:
    workspace.run("index", branched.folder, "--tag", "v1")
    outcome = workspace.run("repos", "rm", "project", "--tag", "v1", "--json")
    assert outcome.json == {"removed": "project", "ref": "v1"}
    outcome = workspace.run("repos", "rm", "project", "--tag", "v1")
    assert (outcome.code, outcome.error) == (
        1, "error: project has no indexed tag v1; indexed versions: only the default branch",
    )  # fmt: skip


def test_a_working_tree_can_be_indexed_from_a_subfolder(workspace: Any, branched: Any) -> None:
    (branched.folder / "src" / "draft.py").write_text("def only_a_draft() -> None: ...\n")
    outcome = workspace.run("index", "--workspace", branched.folder / "src")
    assert outcome.out.startswith(f"project: workspace {branched.folder} at ")
    assert "  layer       1 changed path over main at " in outcome.out
    body = workspace.run("search", "only_a_draft", "--workspace", branched.folder, "--json").json
    assert body["results"][0]["path"] == "src/draft.py"
    assert branched.git("status", "--short") == "?? src/draft.py"
    assert workspace.run("repos", "rm", "project", "--workspace", branched.folder / "src").code == 0


def test_working_trees_with_deleted_folders_are_named_and_removed(workspace: Any, branched: Any) -> None:
    trees = [workspace.folder / name for name in ("one", "two", "three")]
    for tree in trees:
        branched.git("worktree", "add", "--quiet", "--detach", str(tree))
        assert workspace.run("index", "--workspace", tree).code == 0
    for tree in trees[:2]:
        shutil.rmtree(tree)
    assert workspace.run("search", "retry", "--workspace", trees[0], "--json").json["results"], "it is still there"
    assert workspace.run("repos", "list").out.count("no such folder here") == 2
    removed = workspace.run("repos", "rm", "project", "--workspace", trees[0], "--json").json
    assert removed["ref"] == f"workspace:{trees[0]}"
    named = workspace.run("repos", "collect")
    assert f"workspace:{trees[1]} of project: this machine has no such folder; --gone would drop it" in named.err
    gone = [{"repo": "project", "ref": f"workspace:{trees[1]}"}]
    for flags, dropped in ((["--dry-run", "--gone"], False), (["--gone"], True)):
        body = workspace.run("repos", "collect", *flags, "--json").json
        assert (body["gone"], body["dropped"]) == (gone, dropped)
    versions = workspace.run("repos", "list", "--json").json["repos"][0]["versions"]
    assert [version["ref"] for version in versions] == ["main", f"workspace:{trees[2]}"]


def test_a_working_tree_can_be_searched_from_a_subfolder(workspace: Any, branched: Any) -> None:
    (branched.folder / "src" / "draft.py").write_text("def only_a_draft() -> None: ...\n")
    workspace.run("index", "--workspace", branched.folder)
    inside = branched.folder / "src"
    for command in (
        ("search", "only_a_draft", "--workspace", inside),
        ("search", f"only_a_draft ref:workspace:{inside}"),
    ):
        assert workspace.run(*command, "--json").json["results"][0]["path"] == "src/draft.py"
    listed = workspace.run("files", "project", "--workspace", inside, "--json").json
    assert listed["ref"] == f"workspace:{branched.folder}"
    outside = workspace.run("search", "only_a_draft", "--workspace", workspace.folder)
    assert f"codequarry index --workspace {workspace.folder}" in outside.error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("project", "--branch", "a", "--tag", "b"), "--branch and --tag are mutually exclusive"),
        (("--commit", "abcdef1", "--workspace", "."), "--commit and --workspace are mutually exclusive"),
        (("project", "--branch", "a", "--branch", "b"), "--branch is given 2 times: name one version"),
        (("project", "--pull", "1", "--pull", "1"), "--pull is given 2 times: name one version"),
        (("--workspace", ".", "--workspace", "project"), "--workspace is given 2 times: name one version"),
        (("project", "--commit", "xyz"), "must be 7 to 64 hexadecimal digits"),
        (("project", "--default"), "--default needs --branch"),
        ((), "give the path of a git repository or its URL, or --workspace PATH"),
        (("project", "--branch", "a..b"), "is not the name of a branch"),
    ],
)
def test_invalid_version_options_are_wrong_usage(workspace: Any, options: tuple[str, ...], message: str) -> None:
    workspace.repository("project", FILES)
    outcome = workspace.run("index", *options)
    assert outcome.code == 2
    assert message in outcome.error


def test_a_branch_name_that_is_not_utf_8_can_be_given_as_typed_or_as_shown(workspace: Any, indexed: Any) -> None:
    indexed.git("update-ref", b"refs/heads/caf\xe9", "HEAD")
    missing = workspace.run("index", indexed.folder, "--branch", "x")
    assert missing.err.endswith(r"has no branch x; it has caf\xe9, main" "\n")
    assert workspace.run("index", indexed.folder, "--branch", r"caf\xe9", "--json").json["ref"] == r"caf\xe9"
    assert workspace.run("files", "project", "--branch", os.fsdecode(b"caf\xe9"), "--json").json["ref"] == r"caf\xe9"


def test_an_interrupted_run_says_how_to_continue_and_the_next_run_does(workspace: Any) -> None:
    # Enough for some seconds on any machine, so that the signal arrives before the end.
    functions = "".join(f"def function_{number}() -> int:\n    return {number} * 'x'\n\n\n" for number in range(400))
    files = {f"module_{number}.py": f"NUMBER = {number}\n\n\n{functions}" for number in range(300)}
    repository = workspace.repository("project", files)
    process = subprocess.Popen(
        [sys.executable, "-m", "codequarry.cli.main", "index", str(repository.folder)],
        cwd=workspace.folder, env=workspace.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        # A shell that starts the tests in the background makes them and their children ignore Ctrl-C.
        start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert process.stderr is not None
    while "indexing" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    if process.returncode == 0:
        pytest.fail("the run was over before it could be interrupted")
    assert process.returncode == 130
    assert err.splitlines()[-1] == "stopped; nothing was published. Run the same command again to resume."
    assert workspace.run("index", repository.folder, "--json").json["files_indexed"] == 300
