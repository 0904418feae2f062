"""Patterns as in .gitignore; tests/property compares their matches with those of git."""

import pickle
import time

import pytest

from codequarry.shared.errors import LimitExceeded, UsageError
from codequarry.shared.glob_patterns import NotAPattern, lines_of_file, parse_pattern
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
    globs = globs_of_file("rules", ["*.log", "!keep.log", "# comment", "", "docs/*", "!docs/api/"])
    assert globs.verdict("a.log") == Verdict("*.log", True)
    assert globs.verdict("keep.log") == Verdict("!keep.log", False)
    assert globs.verdict("docs/a.md") == Verdict("docs/*", True)
    assert globs.verdict("docs/api/a.md") == Verdict("!docs/api/", False)
    assert globs.verdict("src/a.py") is None


def test_nothing_below_an_excluded_folder_is_included_again():
    globs = globs_of_file("rules", ["docs/", "!docs/api/", "!docs/api/a.md"])
    assert globs.verdict("docs/api/a.md") == Verdict("docs/", True)


def test_patterns_that_select_paths_can_take_a_folder_out_of_another():
    globs = globs_of_setting("[scan] include", ["src/", "!src/gen/", "src/gen/keep/"], select=True)
    assert globs.matches("src/a.py")
    assert not globs.matches("src/gen/a.py")
    assert globs.matches("src/gen/keep/a.py")
    assert pickle.loads(pickle.dumps(globs)).matches("src/gen/keep/a.py")


def test_lines_are_split_as_git_splits_them():
    data = b"\xef\xbb\xbfa\r\nb\x0cc\n\xe2\x80\xa8d\r\xff\n\nlast"
    assert lines_of_file(data) == ["a", "b\x0cc", "\u2028d\r\udcff", "", "last"]
    assert lines_of_file(b"a\n") == ["a"]
    assert lines_of_file(b"") == []


def test_a_path_that_is_not_utf8_is_matched_by_its_bytes():
    globs = globs_of_file("rules", lines_of_file(b"caf\xe9\n"))
    assert globs.verdict("caf\\xe9") == Verdict("caf\\xe9", True)
    assert globs_of_file("rules", ["caf?"]).matches("caf\\xe9")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("[a", "'[a' matches no path: its bracket is not closed"),
        ("[[:nope:]]", "'[[:nope:]]' matches no path: there is no class [:nope:]"),
        ("a\\", "'a\\' matches no path: it ends with a backslash that escapes nothing"),
        ("./src", "'./src' matches no path: no path has the part '.'"),
        ("a//b", "'a//b' matches no path: no path has an empty part"),
        ("!", "'!' matches no path: it names no file or folder"),
        ("[z-a]", "'[z-a]' may not mean what it seems to: a range in its brackets is reversed"),
        ("[ä]", "'[ä]' may not mean what it seems to: git compares bytes"),
        ("[\x1b", "'[\\x1b' matches no path"),
    ],
)
def test_a_mistaken_line_is_named_in_a_warning_and_refused_in_a_setting(line, why):
    globs = globs_of_file("rules", ["# comment", "*.log", line, ""])
    [warning] = globs.warnings
    assert warning.startswith(f"rules, line 3: {why}")
    with pytest.raises(UsageError, match=r"^\[scan\] exclude: '.*' is not a valid \.gitignore pattern: "):
        globs_of_setting("[scan] exclude", [line])


@pytest.mark.parametrize("line", ["[[:alpha:]]", "[]a]", "[a-c]", "\\[a", "**/x", "a/**", "# [", "[a/./b]x"])
def test_a_valid_line_has_no_warning(line):
    assert globs_of_file("rules", [line]).warnings == ()


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
