"""Patterns as in .gitignore; tests/property compares their matches with those of git."""

import pickle
import time

import pytest

from codequarry.shared.errors import LimitExceeded, UsageError
from codequarry.shared.glob_patterns import NotAPattern, parse_pattern
from codequarry.shared.globs import MAX_PATTERN_CHARACTERS, MAX_PATTERNS, Verdict, globs_of_file, globs_of_setting


@pytest.mark.parametrize(
    "line", ["*a" * 12 + "*b", "**/" + "*a*/**/" * 12 + "b", "[a-z]*" * 40 + "!", "?*" * 100 + "!"]
)
def test_no_pattern_takes_long(line):
    """A backtracking matcher takes hours for the first pattern."""
    began = time.monotonic()
    assert globs_of_file("rules", [line]).verdict("/".join(["a" * 240] * 10)) is None
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("line", ["[z-a]", "[a", "a\\", "[[:nope:]]x", "[", "[]", "[!]"])
def test_an_invalid_line_does_not_affect_others(line):
    """git ignores such lines too."""
    globs = globs_of_file("rules", ["*.log", line, "*.tmp"])
    assert globs.matches("a.log")
    assert globs.matches("a.tmp")
    assert not globs.matches("other")


def test_the_last_matching_pattern_decides():
    globs = globs_of_file("rules", ["*.log", "!keep.log", "# comment", "", "docs/", "!docs/api/"])
    assert globs.verdict("a.log") == Verdict("*.log", True)
    assert globs.verdict("keep.log") == Verdict("!keep.log", False)
    assert globs.verdict("docs/a.md") == Verdict("docs/", True)
    assert globs.verdict("docs/api/a.md") == Verdict("!docs/api/", False)
    assert globs.verdict("src/a.py") is None


def test_trailing_spaces_count_only_if_quoted():
    assert globs_of_file("rules", ["a  "]).matches("a")
    assert globs_of_file("rules", ["a\\ "]).matches("a ")
    assert parse_pattern("   ") is None


def test_many_patterns_are_matched_in_groups():
    globs = globs_of_file("rules", [f"name{number}" for number in range(MAX_PATTERNS)])
    assert globs.verdict("x/name9999/y") == Verdict("name9999", True)
    assert globs.verdict("name") is None


def test_patterns_can_be_pickled():
    globs = globs_of_file("rules", ["*.log"])
    assert globs.matches("a.log")
    assert pickle.loads(pickle.dumps(globs)).matches("b.log")


def test_an_ignore_file_beyond_the_limits_is_refused_with_the_limit():
    with pytest.raises(LimitExceeded, match=r"rules has 10001 lines; the limit is 10000"):
        globs_of_file("rules", ["a"] * (MAX_PATTERNS + 1))
    with pytest.raises(LimitExceeded, match="rules has a pattern of 4097 characters; the limit is 4096"):
        globs_of_file("rules", ["a" * (MAX_PATTERN_CHARACTERS + 1)])


def test_an_invalid_pattern_of_the_settings_is_named():
    with pytest.raises(UsageError, match=r"\[scan\] exclude: 'a\[' is not a valid"):
        globs_of_setting("[scan] exclude", ["ok", "a["])
    with pytest.raises(NotAPattern):
        parse_pattern("a\\")
