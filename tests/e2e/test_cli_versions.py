"""Versions on the command line: branches, tags, commits and working trees are searched, listed and compared."""

from collections.abc import Callable
from typing import Any

import pytest

FILES = {
    "src/retry.py": "def retry_delay(attempt: int) -> float:\n    return 2.0**attempt\n",
    "src/queue.py": "def take_job(queue: list) -> object:\n    return queue.pop()\n",
    "src/stay.py": "def stay_as_it_is() -> None:\n    return None\n",
}


@pytest.fixture(scope="module")
def place(new_workspace: Callable[[], Any]) -> Any:
    """Return a workspace with a repository indexed at main, at an older tag, at a branch and as a working tree."""
    place = new_workspace()
    repository = place.repository("project", FILES)
    repository.git("tag", "v1")
    repository.commit(
        {
            "src/retry.py": "def retry_delay(attempt: int) -> float:\n    return min(2.0**attempt, 60.0)\n",
            "src/queue.py": None,
            "src/jobs/queue.py": FILES["src/queue.py"],
            "src/limits.py": "def retry_limit() -> int:\n    return 5\n",
        }
    )
    repository.git("checkout", "--quiet", "-b", "dev")
    repository.commit({"src/dev.py": "def retry_on_dev() -> None: ...\n"})
    repository.git("checkout", "--quiet", "main")
    (repository.folder / "src/dirty.py").write_text("def retry_dirty() -> None: ...\n")
    for flags in ([], ["--tag", "v1"], ["--branch", "dev"]):
        assert place.run("index", repository.folder, *flags).code == 0
    assert place.run("index", "--workspace", repository.folder).code == 0
    return place


def commit_of(place: Any, name: str) -> str:
    return str(place.work_tree("project").git("rev-parse", name))


@pytest.mark.parametrize(
    ("flags", "ref", "query", "path"),
    [
        ([], "main", "retry_limit", "src/limits.py"),
        (["--branch", "dev"], "dev", "retry_on_dev", "src/dev.py"),
        (["--tag", "v1"], "v1", "take_job", "src/queue.py"),
        (["--workspace", "project"], None, "retry_dirty", "src/dirty.py"),
        (["--workspace", "project/src"], None, "retry_dirty", "src/dirty.py"),
    ],
)
def test_a_search_uses_the_named_version(place: Any, flags: list[str], ref: str, query: str, path: str) -> None:
    hit = place.run("search", query, *flags, "--json").json["results"][0]
    assert hit["path"] == path
    assert hit["ref"] == (ref or f"workspace:{place.folder / 'project'}")


def test_every_version_is_searched_and_named_at_once(place: Any) -> None:
    """retry_delay is different at v1; working trees are left out unless they are named."""
    answer = place.run("search", "retry_delay", "--all-versions", "--json").json
    (hit,) = [hit for hit in answer["results"] if hit["symbol_name"] == "retry_delay"]
    (variant,) = hit["variants"]
    groups = sorted(sorted(version["ref"] for version in text["versions"]) for text in (hit, variant))
    assert groups == [["dev", "main"], ["v1"]]
    assert answer["versions_searched"] == 3
    shown = place.run("search", "retry_delay", "--all-versions", "--top-k", "1", "--lines", "0").out
    assert ("main, dev" in shown and "v1 has another text at 1-2" in shown) or "main, dev have another text" in shown


@pytest.mark.parametrize(
    ("flags", "refs"),
    [(["--all-branches"], {"main", "dev"}), (["--branch", "d*"], {"dev"}), (["--tag", "v*"], {"v1"})],
)
def test_patterns_select_versions(place: Any, flags: list[str], refs: set[str]) -> None:
    answer = place.run("search", "retry_delay", *flags, "--json").json
    assert {entry["ref"] for entry in answer["freshness"]} == refs


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (
            ["search", "x", "--branch", "release/*"],
            "no indexed version matches 'refs/heads/release/*'; indexed: project",
        ),
        (["search", "x", "--all-branches", "--tag", "v1"], "name versions or patterns"),
        (["search", "x", "--all-branches", "--all-versions"], "name versions or patterns"),
        (["files", "project", "--branch", "*"], "this needs one version of project"),
        (["diff-search", "x", "--from", "refs/heads/*", "--to", "v1"], "matches several of project: main, dev"),
    ],
)
def test_patterns_that_match_nothing_or_too_much_are_refused(place: Any, command: list[str], says: str) -> None:
    done = place.run(*command)
    assert done.code != 0 and says in done.err


def test_where_shows_the_versions_of_a_symbol(place: Any) -> None:
    shown = place.run("where", "retry_delay", "--repo", "project").out.splitlines()
    assert shown[0] == "project  src/retry.py  retry_delay  function"
    assert [line.split("  ")[-1] for line in shown[1:]] == ["main, dev", "v1"]
    shown = place.run("where", "take_job").out.splitlines()
    assert shown[0].startswith("project  src/jobs/queue.py") and shown[-1].endswith("main, dev  (file missing)")


def test_where_as_json_is_the_answer_of_the_service(place: Any) -> None:
    answer = place.run("where", "retry_limit", "--json").json
    (item,) = answer["declarations"]
    assert [version["ref"] for version in item["texts"][0]["versions"]] == ["main", "dev"]
    assert item["lacking"] == [{"ref": "v1", "commit": commit_of(place, "v1"), "lack": "file missing"}]
    assert (answer["total"], answer["versions_searched"], answer["next_cursor"]) == (1, 3, None)


def test_where_says_that_nothing_declares_a_symbol(place: Any) -> None:
    done = place.run("where", "no_such_symbol")
    assert (done.code, done.out) == (0, "") and "no declaration of no_such_symbol in 3 versions" in done.err
    assert place.run("where", "?!").code == 2


def test_a_search_accepts_an_abbreviated_commit(place: Any) -> None:
    commit = commit_of(place, "v1")
    answer = place.run("search", "take_job", "--commit", commit[:9], "--json").json
    assert {(hit["path"], hit["commit"]) for hit in answer["results"] if hit["symbol_name"] == "take_job"} == {
        ("src/queue.py", commit)
    }


def test_a_search_covers_all_named_versions(place: Any) -> None:
    old, new = commit_of(place, "v1"), commit_of(place, "main")
    for flags, places in (
        (("--branch", "main", "--branch", "dev"), {"src/jobs/queue.py"}),
        (("--branch", "main", "--tag", "v1"), {"src/queue.py", "src/jobs/queue.py"}),
        (("--commit", old, "--commit", new), {"src/queue.py", "src/jobs/queue.py"}),
        (("--branch", "dev", "--commit", old[:8]), {"src/queue.py", "src/jobs/queue.py"}),
    ):
        answer = place.run("search", "take_job", *flags, "--json").json
        assert {hit["path"] for hit in answer["results"] if hit["symbol_name"] == "take_job"} == places
        assert len(answer["freshness"]) == 2
    near = place.run("embed-check", "take_job", "--nearest", "--branch", "dev", "--tag", "v1", "--json").json
    assert {"src/queue.py", "src/jobs/queue.py", "src/dev.py"} <= {hit["path"] for hit in near["results"]}


def test_the_files_of_a_version_equal_gits_listing(place: Any) -> None:
    listing = place.work_tree("project").git("ls-tree", "-r", "dev").splitlines()
    expected = {line.split("\t")[1]: line.split()[2] for line in listing}
    for flags in (["--branch", "dev"], ["--commit", commit_of(place, "dev")]):
        body = place.run("files", "project", *flags, "--json").json
        assert {file["path"]: file["blob"] for file in body["files"]} == expected
        assert (body["ref"], body["commit"]) == ("dev", commit_of(place, "dev"))
        assert body["freshness"]["commits_behind"] == 0


def test_the_chunks_of_a_version_are_listed(place: Any) -> None:
    old = place.run("chunks", "project", "src/retry.py", "--tag", "v1", "--json").json
    assert "min(" not in old["chunks"][0]["text"]
    assert "min(" in place.run("chunks", "project", "src/retry.py", "--json").json["chunks"][0]["text"]


def test_two_versions_at_once_or_an_unknown_version_are_refused(place: Any) -> None:
    both = place.run("files", "project", "--branch", "dev", "--tag", "v1")
    assert both.code == 2 and "mutually exclusive" in both.error
    for command in (
        ("files", "project"),
        ("chunks", "project", "src/retry.py"),
        ("fsck", "project"),
        ("repos", "rm", "project"),
        ("repos", "add", "project"),
    ):
        twice = place.run(*command, "--tag", "v1", "--tag", "v2")
        assert twice.code == 2 and "--tag is given 2 times: name one version" in twice.error
    missing = place.run("search", "x", "--branch", "nope", "--repo", "project")
    assert missing.code == 1
    assert "branches main, dev" in missing.error and "--branch nope" in missing.error


def test_repositories_are_listed_with_their_versions(place: Any) -> None:
    (project,) = place.run("repos", "list", "--json").json["repos"]
    versions = {(version["kind"], version["ref"]): version["indexed_commit"] for version in project["versions"]}
    assert versions["branch", "main"] == commit_of(place, "main")
    assert versions["branch", "dev"] == commit_of(place, "dev")
    assert versions["tag", "v1"] == commit_of(place, "v1")
    assert next(version["ref"] for version in project["versions"]) == "main"
    assert len(versions) == 4
    shown = [line.split()[:2] for line in place.run("repos", "list").out.splitlines()]
    assert shown[0] == ["project", "main"]
    assert [first for first, _ in shown[1:3]] == ["dev", "v1"]
    assert shown[3][0].startswith("workspace:")


def test_a_comparison_lists_added_removed_moved_and_changed_hits(place: Any) -> None:
    body = place.run("diff-search", "retry job", "--from", "v1", "--to", "dev", "--json").json
    changes = {(hit["change"], hit["symbol"], hit["path"]) for hit in body["results"]}
    assert changes == {
        ("changed", "retry_delay", "src/retry.py"),
        ("moved", "take_job", "src/jobs/queue.py"),
        ("added", "retry_limit", "src/limits.py"),
        ("added", "retry_on_dev", "src/dev.py"),
    }
    moved = next(hit for hit in body["results"] if hit["change"] == "moved")
    assert (moved["from"]["path"], moved["to"]["path"]) == ("src/queue.py", "src/jobs/queue.py")
    assert (moved["from"]["commit"], moved["to"]["commit"]) == (commit_of(place, "v1"), commit_of(place, "dev"))
    back = place.run("diff-search", "retry job", "--from", "dev", "--to", "v1", "--json").json
    assert {hit["change"] for hit in back["results"] if hit["symbol"].startswith("retry_")} == {"changed", "removed"}


def test_a_comparison_as_text_shows_the_changes(place: Any) -> None:
    outcome = place.run("diff-search", "retry_delay", "--from", "v1", "--to", "main", "--repo", "project")
    head, *code = outcome.out.split("\n\n")[0].splitlines()
    assert head.startswith("changed  src/retry.py:1-2  retry_delay")
    assert "    -    return 2.0**attempt" in code and "    +    return min(2.0**attempt, 60.0)" in code
    assert "among the hits:" in outcome.err


def test_unchanged_hits_are_shown_on_request(place: Any) -> None:
    flags = ("diff-search", "stay_as_it_is", "--from", "v1", "--to", "main")
    assert "stay_as_it_is" not in place.run(*flags).out
    assert "unchanged  src/stay.py" in place.run(*flags, "--all").out


def test_a_branch_named_like_the_ref_of_another_branch_hides_neither(new_workspace: Callable[[], Any]) -> None:
    place = new_workspace()
    repository = place.repository("project", FILES)
    repository.git("update-ref", "refs/heads/refs/heads/main", "main")
    for flags in ([], ["--branch", "refs/heads/main"]):
        assert place.run("index", repository.folder, *flags).code == 0
    for branch in ("main", "refs/heads/main"):
        assert place.run("files", "project", "--branch", branch, "--json").json["ref"] == branch


@pytest.fixture(scope="module")
def forked(new_workspace: Callable[[], Any]) -> Any:
    """Return a workspace with a repository whose branch `dev`, also pull request 7, left main before it was indexed."""
    place = new_workspace()
    repository = place.repository("project", FILES)
    repository.git("checkout", "--quiet", "-b", "dev")
    repository.commit({"src/dev.py": "def retry_on_dev() -> None: ...\n", "src/queue.py": FILES["src/queue.py"] * 2})
    repository.git("update-ref", "refs/pull/7/head", "dev")
    repository.git("checkout", "--quiet", "main")
    repository.commit({"src/main.py": "def retry_on_main() -> None: ...\n"})
    for flags in ([], ["--branch", "dev"], ["--pull", "7"]):
        assert place.run("index", repository.folder, *flags).code == 0
    assert place.run("index", "--workspace", repository.folder).code == 0
    return place


def compared(place: Any, *versions: str) -> tuple[set[str], Any]:
    """Return the paths of a comparison's hits, and its answer."""
    body = place.run("diff-search", "retry queue job", *versions, "--json").json
    return {hit["path"] for hit in body["results"]}, body


@pytest.mark.parametrize(
    "versions", [["main...dev"], ["...dev"], ["--from", "main", "--to", "dev", "--merge-base"], ["--pull", "7"]]
)
def test_a_merge_base_is_found_and_indexed_when_a_comparison_needs_it(forked: Any, versions: list[str]) -> None:
    git = forked.work_tree("project").git
    paths, body = compared(forked, *versions)
    assert paths == set(git("diff", "--name-only", "main...dev").split())
    assert [base["commit"] for base in body["merge_bases"]] == [git("merge-base", "main", "dev")]
    assert body["freshness"][0]["indexed_commit"] == git("merge-base", "main", "dev")


def test_the_merge_base_is_named_for_a_person(forked: Any) -> None:
    outcome = forked.run("diff-search", "retry", "dev...main")
    assert "added  src/main.py" in outcome.out and "src/dev.py" not in outcome.out
    base = forked.work_tree("project").git("merge-base", "main", "dev")
    assert f"compared with {base[:12]}, the merge base of dev and main" in outcome.err


def test_a_merge_base_that_no_run_recorded_is_found(forked: Any) -> None:
    repository = forked.work_tree("project")
    repository.git("checkout", "--quiet", "-b", "second", "dev")
    repository.commit({"src/second.py": "def retry_second() -> None: ...\n"})
    repository.git("checkout", "--quiet", "main")
    assert forked.run("index", repository.folder, "--branch", "second").code == 0
    assert compared(forked, "dev...second")[0] == {"src/second.py"}
    assert compared(forked, "second...dev")[0] == set()


def test_working_trees_are_compared_by_any_path_to_them(forked: Any) -> None:
    for folder in ("project", "project/src", "./project/../project"):
        for versions in (["--from", "dev", "--to", f"workspace:{folder}"], [f"dev..workspace:{folder}"]):
            if ".." in folder and len(versions) == 1:
                refused = forked.run("diff-search", "retry", *versions)
                assert refused.code == 2 and "is not a range" in refused.error
                continue
            assert {"src/dev.py", "src/main.py"} <= compared(forked, *versions)[0]
    (forked.folder / "project/src/dirty.py").write_text("def retry_dirty() -> None: ...\n")
    assert forked.run("index", "--workspace", "project").code == 0
    assert compared(forked, "...workspace:project")[0] == {"src/dirty.py"}
    assert "src/dirty.py" in compared(forked, "dev...workspace:project")[0]


def test_unrelated_versions_and_wrong_use_are_refused(forked: Any) -> None:
    repository = forked.work_tree("project")
    repository.git("checkout", "--quiet", "--orphan", "alone")
    repository.commit({"src/alone.py": "def retry_alone() -> None: ...\n"})
    repository.git("checkout", "--quiet", "main")
    assert forked.run("index", repository.folder, "--branch", "alone").code == 0
    unrelated = forked.run("diff-search", "retry", "main...alone")
    assert unrelated.code == 2 and "no common history" in unrelated.error
    assert compared(forked, "main..alone")[0]
    for wrong in (["main"], [], ["main..dev", "--pull", "7"], ["main..dev", "--merge-base"], ["--from", "main"]):
        assert forked.run("diff-search", "retry", *wrong).code == 2
    assert forked.run("diff-search", "retry", "--pull", "99").code == 1


def test_with_index_a_search_first_indexes_what_is_missing_or_outdated(workspace):
    repository = workspace.indexed("moving", {"a.py": "def first():\n    return 1\n"})
    repository.git("tag", "v1")
    commit = repository.commit({"b.py": "def second():\n    return 2\n"})
    outcome = workspace.run("search", "zebra", "--repo", "moving")
    assert f"is behind commit {commit[:12]}" in outcome.err
    refused = workspace.run("search", "first", "--tag", "v1")
    assert refused.error.endswith(f"to index it: codequarry index {repository.folder} --tag v1")
    answer = workspace.run("search", "first", "--tag", "v1", "--index", "--json").json
    assert answer["freshness"][0]["ref"] == "v1"
    answer = workspace.run("search", "second", "--repo", "moving", "--index", "--json").json
    assert (answer["results"][0]["path"], answer["results"][0]["commit"]) == ("b.py", commit)
    repository.git("branch", "dev")
    compared = workspace.run("diff-search", "second", "--from", "v1", "--to", "dev", "--index", "--json").json
    assert [(found["change"], found["path"]) for found in compared["results"]] == [("added", "b.py")]
    (repository.folder / "c.py").write_text("def third():\n    return 3\n")
    answer = workspace.run("search", "third", "--workspace", repository.folder, "--index", "--json").json
    assert answer["results"][0]["path"] == "c.py"
    failed = workspace.run("search", "x", "--branch", "nope", "--index")
    assert failed.code == 1 and "indexing it failed" in failed.err


def test_the_branch_that_is_checked_out_is_indexed_beside_the_default_branch(new_workspace: Callable[[], Any]) -> None:
    place = new_workspace()
    repository = place.repository("project", FILES)
    repository.git("checkout", "--quiet", "-b", "dev")
    repository.commit({"src/dev.py": "def retry_on_dev() -> None: ...\n"})
    outcome = place.run("index", repository.folder)
    lines = [line for line in outcome.out.splitlines() if line.startswith("project: ")]
    assert [line.partition(" at ")[0] for line in lines] == ["project: main", "project: branch dev"]
    note = "dev is checked out, and the default branch is main: search with --branch dev"
    assert outcome.err.splitlines()[-1] == f"note: {note}"
    again = place.run("index", repository.folder, "--json").json
    assert (again["key"], again["version_note"], again["default_branch"]) == ("refs/heads/dev", note, None)
    undo = f"codequarry index {repository.folder} --branch main --default"
    changed = place.run("index", repository.folder, "--branch", "dev", "--default")
    assert changed.err.splitlines()[-1] == (
        f"note: the default branch is now dev instead of main; to undo this: {undo}"
    )
    assert place.run(*undo.split()[1:], "--json").json["replaced_default"] == "dev"
    assert place.run("files", "project", "--json").json["ref"] == "main"
