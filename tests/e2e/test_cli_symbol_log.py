"""`codequarry log` as a person uses it, over a repository indexed commit by commit."""

import os
from collections.abc import Callable
from typing import Any

import pytest

TOKEN = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"


def delay(factor: float, more: str = "") -> str:
    return f"def retry_delay(attempt: int) -> float:\n    delay = {factor}**attempt\n    return delay\n\n\n{more}"


@pytest.fixture(scope="module")
def place(new_workspace: Callable[[], Any]) -> Any:
    """Return a workspace with a repository of which the later commits were indexed one after the other."""
    place = new_workspace()
    others = {f"data/{number}.txt": "text\n" for number in range(20)}  # so that a branch is a layer
    repository = place.repository("project", {"src/delay.py": delay(1.0), **others})
    repository.commit({"src/delay.py": delay(1.5)}, f"Grow faster with {TOKEN}")
    repository.commit(
        {"src/other.py": "def retry_limit() -> int:\n    limit = 5\n    limit += 1\n    return limit\n"}, "x"
    )
    for changes, message in (
        ({}, ""),
        ({"src/delay.py": delay(1.5, "X = 1\n")}, "Only a neighbour"),
        ({"src/delay.py": delay(2.0, "X = 1\n")}, "Double it"),
        ({"src/delay.py": None, "lib/delay.py": delay(2.0)}, "To the library"),
    ):
        if changes:
            repository.commit(changes, message)
        assert place.run("index", repository.folder).code == 0
    repository.git("checkout", "--quiet", "-b", "dev")
    repository.commit({"lib/delay.py": None}, "Not on dev")
    repository.git("checkout", "--quiet", "main")
    assert place.run("index", repository.folder, "--branch", "dev").code == 0
    return place


def test_the_history_is_shown_newest_first_with_what_git_says(place: Any) -> None:
    outcome = place.run("log", "retry_delay")
    head, moved, changed, present, grown, made = outcome.out.splitlines()
    assert head == "project  main  lib/delay.py  retry_delay  function"
    assert "moved     src/delay.py:1-3 -> lib/delay.py:1-3" in moved and "To the library" in moved
    assert "changed   src/delay.py:1-3" in changed and "Double it" in changed
    assert "present   src/delay.py:1-3" in present
    assert "Grow faster with ***" in grown and TOKEN not in outcome.out
    assert made.endswith(": first")


def test_without_git_the_history_begins_at_the_first_indexed_commit(place: Any) -> None:
    outcome = place.run("log", "retry_delay", "--no-git")
    lines = outcome.out.splitlines()
    assert len(lines) == 5 and all("indexed 20" in line for line in lines[1:4])
    assert "the history begins at" in lines[-1]
    assert outcome.err == ""
    assert place.run("log", "retry_delay", "--no-git", "--json").json["beyond_reason"] == "--no-git was given"


def test_json_is_the_answer_of_the_service_with_what_git_says(place: Any) -> None:
    body = place.run("log", "retry_delay", "--json").json
    (item,) = body["declarations"]
    assert [event["event"] for event in item["events"]] == ["moved", "changed", "present"]
    assert [event["subject"] for event in item["events"]] == ["To the library", "Double it", "x"]
    assert item["events"][1]["commits"][0]["subject"] == "Double it"
    assert (len(item["beyond"]["commits"]), item["beyond"]["complete"], body["beyond_reason"]) == (2, True, None)


def test_a_branch_shows_where_it_differs_from_its_base(place: Any) -> None:
    body = place.run("log", "retry_delay", "--branch", "dev", "--json").json
    (item,) = body["declarations"]
    events = [(event["event"], event["ref"]) for event in item["events"]]
    assert events == [("vanished", "dev"), ("moved", "main"), ("changed", "main"), ("present", "main")]
    assert not item["exists"]


def test_git_stops_at_its_limit_and_says_so(place: Any) -> None:
    slow = place.folder / "slow"
    slow.mkdir()
    (slow / "git").write_text('#!/bin/sh\ncase "$*" in *-L1,3*) sleep 100;; esac\nPATH=${PATH#*:} exec git "$@"\n')
    (slow / "git").chmod(0o755)
    path = {"PATH": f"{slow}:{os.environ['PATH']}"}
    body = place.run("log", "retry_delay", "--git-seconds", "1", "--json", variables=path).json
    (item,) = body["declarations"]
    assert item["beyond"] == {
        "commits": [], "complete": False, "reason": "git was stopped after 1 s, before it found a commit",
    }  # fmt: skip
    assert body["beyond_reason"].startswith("git was stopped after 1 s")
    assert [event["commits"] for event in item["events"]] == [None, None, None]
    assert place.run("log", "retry_delay", "--git-seconds", "0").code == 2


def test_without_a_mirror_the_index_still_answers(place: Any) -> None:
    moved = place.folder / "mirrors"
    (folder,) = place.folder.rglob("project-*.git")
    folder.rename(moved)
    body = place.run("log", "retry_delay", "--json").json
    moved.rename(folder)
    assert [event["event"] for event in body["declarations"][0]["events"]] == ["moved", "changed", "present"]
    assert body["beyond_reason"] == "this machine has no mirror of project"


def test_several_declarations_come_with_a_hint(place: Any) -> None:
    repository = place.repository("twin", {"a.py": delay(1.0), "b.py": delay(5.0)})
    assert place.run("index", repository.folder).code == 0
    outcome = place.run("log", "retry_delay")
    assert "means 3 declarations; narrow with --repo, --path" in outcome.err
    assert "narrow it, or use --git" in outcome.err
    narrowed = place.run("log", "retry_delay", "--repo", "twin", "--path", "b.py")
    assert narrowed.out.splitlines()[0] == "twin  main  b.py  retry_delay  function"
    assert narrowed.err == ""


def test_pages_continue_with_the_cursor(place: Any) -> None:
    flags = ("log", "retry_delay", "--repo", "project", "--limit", "2", "--no-git")
    first = place.run(*flags, "--json").json
    assert "3 events in total; more: --cursor" in place.run(*flags).err
    second = place.run(*flags, "--json", "--cursor", first["next_cursor"]).json
    events = [event["event"] for page in (first, second) for item in page["declarations"] for event in item["events"]]
    assert (events, second["next_cursor"]) == (["moved", "changed", "present"], None)


def test_wrong_use_is_told_in_one_line(place: Any) -> None:
    assert place.run("log", "1").code == 2
    assert place.run("log", "retry_delay", "--limit", "0").code == 2
    missing = place.run("log", "retry_delay", "--repo", "nope")
    assert (missing.code, len(missing.err.splitlines())) == (1, 1)
    nothing = place.run("log", "nothing_has_this_name")
    assert (nothing.code, nothing.out) == (0, "")
    assert "no indexed commit" in nothing.err
