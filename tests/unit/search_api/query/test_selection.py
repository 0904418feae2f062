import pytest

from codequarry.search_api.query.filters import MAX_FILTER_VALUES
from codequarry.search_api.query.language import Clause
from codequarry.search_api.query.names import Name
from codequarry.search_api.query.selection import select
from codequarry.shared.errors import UsageError
from codequarry.shared.model import Filters, PathGlobs


def test_nothing_asked_selects_everything():
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


def test_repositories_are_no_field_filter():
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


def test_path_globs_of_the_body_are_taken_as_they_are():
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
def test_path_in_the_query_fits_anywhere(value, glob):
    assert select({}, [Clause("path", value)], include_tests=True).filters.paths.include == (glob,)


def test_paths_in_both_places_are_refused():
    with pytest.raises(UsageError, match="not in both"):
        select({"path": ("a",)}, [Clause("path", "b")], include_tests=True)


def asked(filters, *clauses):
    version = select(filters, clauses, include_tests=True).version
    return [(one.kind, one.text) for one in version.all]


def test_what_branch_and_ref_both_name_is_a_branch():
    assert asked({"ref": ("v1",)}) == [("ref", "v1")]
    assert asked({"branch": ("main", "dev")}) == [("branch", "main"), ("branch", "dev")]
    assert asked({"ref": ("main",), "branch": ("main", "dev")}) == [("branch", "main")]


def test_versions_may_stand_in_the_query():
    assert asked({}, Clause("ref", "v1"), Clause("commit", "a1b2c3d")) == [
        ("ref", "v1"),
        ("commit", "a1b2c3d"),
    ]
    with pytest.raises(UsageError, match="contradict"):
        asked({"ref": ("v1",)}, Clause("ref", "v2"))


def test_a_version_can_not_be_excluded():
    with pytest.raises(UsageError, match="'-branch:'"):
        asked({}, Clause("branch", "main", negated=True))


def test_no_more_paths_are_asked_for_than_an_engine_takes():
    asked = [Clause("path", f"folder-{number}/", bool(number % 2)) for number in range(MAX_FILTER_VALUES)]
    assert len(select({}, asked, include_tests=True).filters.paths.include) == MAX_FILTER_VALUES // 2
    with pytest.raises(UsageError, match="at most 200 included and excluded paths"):
        select({}, [*asked, Clause("path", "one-more")], include_tests=True)
