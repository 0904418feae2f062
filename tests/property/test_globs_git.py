"""Ignore files exclude what git says they exclude: random files and paths, judged by `git check-ignore`."""

import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from codequarry.shared.glob_patterns import lines_of_file
from codequarry.shared.globs import globs_of_file
from codequarry.shared.paths import printable

NAMES = [
    b"a", b"b", b"ab", b"abc", b"a.b", b"B", b"a b", b"a ", b"a-b", b"a]b", b"a\\b", b"a\\", b"[ab]", b"#a", b"!a",
    b"b*", b"x1", b"a\nb", b"a\rb", b"a\r", b"a\t", b"a\vb", b"a\x0cb", "ä".encode(), "aäb".encode(),
    "\u2028".encode(), b"\xe4", b"a\xffb", b"_", b":", b"-", b"]", b"z", b"[", b"\x7f",
]  # fmt: skip
PIECES = [
    b"a", b"b", b"c", b"B", b".", b"*", b"**", b"***", b"?", b"/", b"/", b"/", b"[ab]", b"[!a]", b"[^ab]", b"[a-c]",
    b"[c-a]", b"[z-a]", b"[]a]", b"[!]]", b"[a-]", b"[-a]", b"[a-c-e]", b"[a-c--9]", b"[a\\-z]", b"[\\a-c]",
    b"[a-\\c]", b"[\\]]", b"[\\", b"[.-0]", b"[/]", b"[!/]", b"[!-~]", b"[a", b"[", b"[!", b"[^", b"]",
    b"[[:alpha:]]", b"[![:digit:]]", b"[[:punct:]]", b"[[:graph:]]", b"[[:print:]]", b"[[:space:]]", b"[[:cntrl:]]",
    b"[[:blank:]]", b"[[:alnum:]_]", b"[[:upper:][:lower:]]", b"[[:xdigit:]-z]", b"[a-[:alpha:]]", b"[[:nope:]]",
    b"[[:]", b"[[::]]", b"[[:al-pha:]]", b"[[:alpha:]", b"[[:alpha]", b"\\*", b"\\a", b"\\", b"\\/", b"\\ ", b" ",
    b"#", b"!", b"-", b"**/", b"/**", b"/**/", "ä".encode(), "[ä]".encode(), b"\xe4", b"[\xe4]", b"[\x80-\xff]",
    b"\t", b"\v", b"\x0c", b"\r", "\u2028".encode(), b"./", b"../",
]  # fmt: skip

paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(b"/".join)
patterns = st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map(b"".join)
ENDS = st.sampled_from([b"\n", b"\r\n", b" \n", b"  \r\n", b"\r\r\n", b"\n\n", b"\0x\n"])
lines = st.tuples(st.sampled_from([b"", b"", b"!", b"/"]), patterns, ENDS).map(b"".join)
files = st.tuples(
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(lines, max_size=6).map(b"".join),
    patterns | st.just(b""),
).map(b"".join)


@pytest.fixture(scope="module")
def excluded_by_git(tmp_path_factory):
    """Return a function that asks git which of some files an ignore file excludes."""
    folder = tmp_path_factory.mktemp("ignored")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    rules = folder / "rules"
    names = f"core.excludesFile={rules}"
    command = ["git", "-C", str(folder), "-c", names, "check-ignore", "--no-index", "--stdin", "-z"]

    def ask(data: bytes, asked: list[bytes]) -> set[bytes]:
        rules.write_bytes(data)
        # Otherwise git would give a colon at the beginning of a path a meaning of its own.
        done = subprocess.run(command, input=b"\0".join(b"./" + path for path in asked), capture_output=True)
        assert done.returncode in (0, 1), done.stderr
        return {path.removeprefix(b"./") for path in done.stdout.split(b"\0") if path}

    return ask


def excluded_by_us(data: bytes, asked: list[bytes]) -> set[bytes]:
    globs = globs_of_file("rules", lines_of_file(data))
    return {path for path in asked if (verdict := globs.verdict(printable(path))) and verdict.excludes}


@settings(max_examples=500, deadline=None)
@given(data=patterns, asked=st.lists(paths, min_size=1, max_size=30))
@example(data=b"a/b**/c", asked=[b"a/bx/y/c", b"a/bc", b"a/b/c"])
@example(data=b"**\\/c", asked=[b"c", b"a/c", b"a/b/c"])
def test_a_pattern_excludes_the_same_paths_as_in_git(excluded_by_git, data, asked):
    """Each pattern is compared with git on its own."""
    assert excluded_by_us(data, asked) == excluded_by_git(data, asked)


@settings(max_examples=500, deadline=None)
@given(data=files, asked=st.lists(paths, min_size=1, max_size=30))
@example(data=b"docs/\n!docs/api/\n", asked=[b"docs/a.md", b"docs/api/a.md"])
@example(data=b"*\n!*/\n!*.b\n", asked=[b"a", b"a.b", b"ab/a.b", b"ab/a"])
def test_a_file_excludes_the_same_paths_as_in_git(excluded_by_git, data, asked):
    """Later lines override earlier ones, except below an excluded folder; lines end as git ends them."""
    assert excluded_by_us(data, asked) == excluded_by_git(data, asked)


@settings(max_examples=300, deadline=None)
@given(data=patterns, asked=st.lists(paths, min_size=30, max_size=30))
def test_no_pattern_with_a_warning_that_it_matches_nothing_matches_in_git(excluded_by_git, data, asked):
    warnings = globs_of_file("rules", lines_of_file(data)).warnings
    if any("matches no path" in warning for warning in warnings):
        assert not excluded_by_git(data, asked)
