"""Path globs as regular expressions for two engines, and the keys for looking up names in both stores."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from codequarry.shared.access.grants import Grant
from codequarry.shared.access.keys import check_grants
from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.filters import (
    FILTERABLE_FIELDS,
    MAX_REGEX_CHARACTERS,
    accepted_values,
    check_filters,
    compile_glob,
    glob_to_regex,
    path_matches,
    path_tails,
    symbol_keys,
)
from codequarry.shared.model import Chunk, Filters, PathGlobs

# Constructs with the same meaning in Python's fullmatch and Lucene's regexp: a letter, digit, underscore, slash or
# non-ASCII character, another character after a backslash, a class of these (and ranges), a group, a quantifier.
_ITEM = r"(?:[A-Za-z0-9_]|[^\x00-\x7f]|\\[^A-Za-z0-9])"
PORTABLE = re.compile(rf"(?:{_ITEM}|/|\[\^?/?(?:{_ITEM}(?:-{_ITEM})?)*\]|\(|\)|[*+?])*", re.DOTALL)

SEGMENTS = st.sampled_from(
    ["a", "b", "ab", "*", "**", "?", "a*", "*b", "*a*b", "[ab]", "[!a]", "[a-b]?", "a**b", "x.y"]
)
GLOBS = st.builds(
    lambda start, segments, end: start + "/".join(segments) + end,
    st.sampled_from(["", "/"]),
    st.lists(SEGMENTS, min_size=1, max_size=4),
    st.sampled_from(["", "/"]),
)
# Paths in git have no segment of only dots, and pathspec would resolve it.
NAMES = st.text("abxy.", min_size=1, max_size=4).filter(lambda name: name.strip("."))
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)


class TestGlobs:
    @settings(deadline=None)
    @given(GLOBS, PATHS)
    def test_both_engines_get_the_same_language(self, glob, path):
        assert bool(re.fullmatch(glob_to_regex(glob), path)) == bool(compile_glob(glob).fullmatch(path))

    # A final `**/` is left out: git and its imitators interpret it differently.
    @settings(deadline=None)
    @given(GLOBS.filter(lambda glob: not glob.endswith("**/")), PATHS)
    def test_globs_match_what_gitignore_patterns_match(self, glob, path):
        assert path_matches(PathGlobs((glob,)), path) == GitIgnoreSpec.from_lines([glob]).match_file(path)

    @settings(deadline=None)
    @given(st.text(min_size=1, max_size=30))
    def test_regexes_use_only_constructs_of_both_engines(self, glob):
        try:
            regex = glob_to_regex(glob)
        except UsageError:
            return
        assert PORTABLE.fullmatch(regex)
        re.compile(regex)

    @settings(deadline=None)
    @given(st.lists(st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=8), min_size=1).map("/".join))
    def test_a_quoted_path_matches_itself_and_everything_below(self, path):
        quoted = "/" + "".join("\\" + char if char in "\\*?[" else char for char in path)
        assert re.fullmatch(glob_to_regex(quoted), path)
        assert re.fullmatch(glob_to_regex(quoted), path + "/below/it")
        assert not re.fullmatch(glob_to_regex(quoted), "above/" + path)

    @pytest.mark.parametrize(
        ("glob", "regex"),
        [
            ("src/*.py", r"src/[^/]*\.py(/([^/]+/)*[^/]+)?"),
            ("tests/", r"([^/]+/)*tests(/([^/]+/)*[^/]+)"),
            ("src/**", r"src/([^/]+/)*[^/]+"),
            ("/a/**/b?", r"a/([^/]+/)*b[^/](/([^/]+/)*[^/]+)?"),
            ("[!a-c]", r"([^/]+/)*[^/a-c](/([^/]+/)*[^/]+)?"),
            ('a<1-5>@#&~"{2}|.', r"([^/]+/)*a\<1\-5\>\@\#\&\~\"\{2\}\|\.(/([^/]+/)*[^/]+)?"),
        ],
    )
    def test_globs_are_translated_to_regexes(self, glob, regex):
        assert glob_to_regex(glob) == regex

    def test_a_range_never_matches_a_slash(self):
        assert not any(compile_glob("/a[+-9]b").fullmatch(path) for path in ("a/b", "a*b"))
        assert all(compile_glob("/a[+-9]b").fullmatch(f"a{char}b") for char in "+,-.0159")
        assert not compile_glob("/a[!x]b").fullmatch("a/b")

    def test_no_glob_takes_exponential_time(self):
        assert not compile_glob("*a" * 20 + "b").fullmatch("a" * 2000)
        assert not compile_glob("**/a/" * 20 + "b").fullmatch("/".join("a" * 500))

    @pytest.mark.parametrize("glob", ["", "./", "[b-a]", "[[:digit:]]", "[\\]]", "?" * MAX_REGEX_CHARACTERS])
    def test_an_untranslatable_glob_is_an_error(self, glob):
        with pytest.raises(UsageError, match="glob"):
            glob_to_regex(glob)

    @pytest.mark.parametrize("glob", ["[a", "src/[!]", "a\\", "a/b\\/c", "[a/b]", "x[", "[z-a]", "[[:alpha:]]"])
    def test_a_mistaken_glob_is_refused_where_it_is_given(self, glob):
        with pytest.raises(UsageError, match="path glob"):
            check_filters(Filters(paths=PathGlobs((glob,))))
        grant = Grant("app", PathGlobs((), (glob,)))
        with pytest.raises(UsageError, match="path glob"):
            check_grants([grant])

    @pytest.mark.parametrize(
        "glob", ["[ab]", "[]a]", "[!]a]", "\\[a", "a\\\\", "a]", "[[]id]", "app/[!a-c]*/**", "./a"]
    )
    def test_a_well_formed_glob_is_accepted(self, glob):
        check_filters(Filters(paths=PathGlobs((glob,))))

    def test_a_path_must_be_included_and_not_excluded(self):
        globs = PathGlobs(("src", "*.md"), ("tests",))
        assert path_matches(globs, "src/a.py")
        assert path_matches(globs, "docs/a.md")
        assert not path_matches(globs, "src/tests/a.py")
        assert not path_matches(globs, "lib/a.py")
        assert path_matches(PathGlobs(), "anything")


class TestFields:
    def test_every_filterable_field_belongs_to_the_chunk(self):
        assert set(FILTERABLE_FIELDS) <= set(Chunk.__dataclass_fields__)

    def test_an_unknown_field_is_reported_with_the_known_fields(self):
        with pytest.raises(UnknownName) as caught:
            check_filters(Filters(excluded=(("colour", ("red",)),)))
        assert (caught.value.name, caught.value.known) == ("colour", tuple(FILTERABLE_FIELDS))

    def test_config_includes_its_family_only_for_languages(self):
        assert set(accepted_values("language", ("config", "go"))) >= {"config", "go", "yaml", "java properties"}
        assert accepted_values("language", ("yaml",)) == ("yaml",)
        assert accepted_values("symbol_type", ("config",)) == ("config",)


def chunk(**fields):
    return Chunk("id", "repo", "a.py", "blob", "python", "function", 1, 1, 0, 1, "x", "hash", **fields)


class TestKeys:
    @pytest.mark.parametrize(
        ("qualified", "name"),
        [
            ("a.b.C", "c"),
            ("a::b::C", "c"),
            ("A#b", "b"),
            ("pkg/Sub", "sub"),
            ("A\\B", "b"),
            ("solo", "solo"),
            ("odd.", "odd."),
        ],
    )
    def test_the_last_part_of_a_qualified_name_is_a_key(self, qualified, name):
        assert symbol_keys(chunk(qualified_name=qualified)) == {name: 2}

    def test_the_symbol_name_is_the_best_key(self):
        keys = symbol_keys(chunk(symbol_name="Get", qualified_name="a.Get", defines=("Get", "Other")))
        assert keys == {"get": 3, "other": 1}

    def test_path_tails_consist_of_whole_segments(self):
        assert path_tails("Shared/Store/Port.py") == ("port.py", "store/port.py", "shared/store/port.py")
        assert path_tails("README") == ("readme",)
