import pytest

from codequarry.search_api.query.filters import MAX_FILTER_VALUES
from codequarry.search_api.query.language import Clause
from codequarry.search_api.query.names import Name
from codequarry.search_api.query.selection import select
from codequarry.shared.errors import UsageError
from codequarry.shared.model import Filters, PathGlobs


def test_no_filters_select_everything():
    selection = select({}, (), include_tests=True)
    assert selection.filters == Filters()
    assert not selection.chooses_kind


def test_body_and_query_filters_must_both_hold():
    selection = select({"language": ("go",)}, [Clause("kind", "method")], include_tests=True)
    assert selection.filters.terms == (("language", ("go",)), ("symbol_type", ("method",)))
    assert selection.chooses_kind


def test_repeated_clauses_are_alternatives_and_negated_ones_exclude():
    clauses = [Clause("lang", "py"), Clause("lang", "go"), Clause("lang", "c", negated=True)]
    selection = select({}, clauses, include_tests=False)
    assert selection.filters.terms == (("language", ("python", "go")),)
    assert selection.filters.excluded == (("language", ("c",)), ("kind_of_file", ("test",)))


def test_repositories_are_not_field_filters():
    selection = select({"repo": ("a", "b")}, [Clause("repo", "b"), Clause("repo", "c", True)], include_tests=True)
    assert selection.repos == ("b",)
    assert selection.excluded_repos == ("c",)
    assert selection.filters == Filters()


def test_contradicting_repositories_are_refused():
    with pytest.raises(UsageError, match="contradict"):
        select({"repo": ("a",)}, [Clause("repo", "b")], include_tests=True)


def test_symbol_filters_by_its_last_part_and_keeps_the_scope_for_ranking():
    selection = select({}, [Clause("symbol", "Session.request")], include_tests=True)
    assert selection.filters.terms == (("defines", ("request",)),)
    assert selection.symbols == (Name("request", ("Session",)),)


def test_path_globs_of_the_body_are_used_unchanged():
    selection = select({"path": ("src/**", "!*.md")}, (), include_tests=True)
    assert selection.filters.paths == PathGlobs(("src/**",), ("*.md",))


@pytest.mark.parametrize(
    ("value", "glob"),
    [
        ("port", "**/*port*"),
        ("store/port.py", "**/*store/port.py*"),
        ("store/", "**/store/"),
        ("src/**/x.py", "src/**/x.py"),
        ("*.go", "*.go"),
        ("/cmd", "/cmd"),
    ],
)
def test_a_path_in_the_query_matches_anywhere(value, glob):
    assert select({}, [Clause("path", value)], include_tests=True).filters.paths.include == (glob,)


def test_paths_in_both_places_are_refused():
    with pytest.raises(UsageError, match="not in both"):
        select({"path": ("a",)}, [Clause("path", "b")], include_tests=True)


def versions(filters, *clauses):
    version = select(filters, clauses, include_tests=True).version
    return [(named.kind, named.text) for named in version.all]


def test_a_name_given_as_branch_and_ref_is_a_branch():
    assert versions({"ref": ("v1",)}) == [("ref", "v1")]
    assert versions({"branch": ("main", "dev")}) == [("branch", "main"), ("branch", "dev")]
    assert versions({"ref": ("main",), "branch": ("main", "dev")}) == [("branch", "main")]


def test_versions_may_be_given_in_the_query():
    assert versions({}, Clause("ref", "v1"), Clause("commit", "a1b2c3d")) == [
        ("ref", "v1"),
        ("commit", "a1b2c3d"),
    ]
    with pytest.raises(UsageError, match="contradict"):
        versions({"ref": ("v1",)}, Clause("ref", "v2"))


def test_branches_and_tags_add_up():
    assert versions({"tag": ("v2.*",)}, Clause("branch", "main")) == [("branch", "main"), ("tag", "v2.*")]
    assert versions({"ref": ("v1",), "tag": ("v1", "v2")}) == [("tag", "v1")]


def test_a_pattern_in_one_place_narrows_the_names_in_the_other():
    assert versions({"branch": ("feature/*",)}, Clause("branch", "feature/a")) == [("branch", "feature/a")]
    assert versions({"ref": ("*",)}, Clause("ref", "v1"), Clause("ref", "main")) == [("ref", "v1"), ("ref", "main")]
    assert versions({"ref": ("*",)}, Clause("ref", "*")) == [("ref", "*")]
    with pytest.raises(UsageError, match="contradict"):
        versions({"branch": ("feature/*",)}, Clause("branch", "main"))


def test_a_version_cannot_be_excluded():
    with pytest.raises(UsageError, match="'-branch:'"):
        versions({}, Clause("branch", "main", negated=True))


def test_the_number_of_paths_is_limited_to_what_an_engine_accepts():
    clauses = [Clause("path", f"folder-{number}/", bool(number % 2)) for number in range(MAX_FILTER_VALUES)]
    assert len(select({}, clauses, include_tests=True).filters.paths.include) == MAX_FILTER_VALUES // 2
    with pytest.raises(UsageError, match="at most 200 included and excluded paths"):
        select({}, [*clauses, Clause("path", "one-more")], include_tests=True)
