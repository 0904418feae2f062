"""Patterns match what git says they match: random patterns and paths, judged by `git check-ignore`."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codequarry.shared.globs import globs_of_file

NAMES = ["a", "b", "ab", "abc", "a.b", "B", "a b", "a-b", "a]b", "a\\b", "[ab]", "#a", "!a", "b*", "x1", "a\nb"]
PIECES = [
    "a", "b", "c", "B", ".", "*", "**", "***", "?", "/", "/", "[ab]", "[!a]", "[^ab]", "[a-c]", "[c-a]", "[]a]", "[!]]",
    "[a-]", "[-a]", "[[:alpha:]]", "[![:digit:]]", "[[:punct:]]", "[[:graph:]]", "[[:nope:]]", "[\\]]", "[a\\-z]",
    "[.-0]", "[/]", "[!/]", "[a", "\\*", "\\a", "\\", "\\ ", " ", "#", "!", "]", "-",
]  # fmt: skip

paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)
patterns = st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join)


@pytest.fixture(scope="module")
def excluded_by_git(tmp_path_factory):
    """Return a function that asks git which of some paths a pattern excludes."""
    folder = tmp_path_factory.mktemp("ignored")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    rules = folder / "rules"

    def ask(pattern: str, asked: list[str]) -> set[str]:
        rules.write_text(pattern + "\n")
        command = [
            "git",
            "-C",
            str(folder),
            "-c",
            f"core.excludesFile={rules}",
            "check-ignore",
            "--no-index",
            "--stdin",
        ]
        done = subprocess.run([*command, "-z"], input="\0".join(asked).encode(), capture_output=True)
        assert done.returncode in (0, 1), done.stderr
        return {path.decode() for path in done.stdout.split(b"\0") if path}

    return ask


@settings(max_examples=400, deadline=None)
@given(
    pattern=patterns.filter(lambda pattern: not pattern.startswith("!")), asked=st.lists(paths, min_size=1, max_size=30)
)
def test_a_pattern_excludes_the_same_paths_as_in_git(excluded_by_git, pattern, asked):
    """Each pattern is compared with git on its own."""
    globs = globs_of_file("rules", [pattern])
    assert {path for path in asked if globs.matches(path)} == excluded_by_git(pattern, asked)
