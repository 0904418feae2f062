import pytest

from codequarry.search_api.search.empty_answers import did_you_mean, why_empty
from codequarry.search_api.versions.freshness import RepositoryState
from codequarry.shared.model import Filters

READY = RepositoryState("core", "main", "branch", "ready", indexed_commit="c" * 40)
IMPORTING = RepositoryState("site", "main", "branch", "importing", percent=43)


def reason(plan, states, left=0):
    """Return the reason if ``left`` chunks match any filters."""
    return why_empty(plan, states, [], lambda filters: left)


def test_an_empty_index_is_the_reason(plan):
    assert reason(plan("x"), []).reason == "not indexed yet"


def test_excluding_every_repository_is_the_reason(plan):
    assert reason(plan("x -repo:core"), []).reason == "filter leaves nothing: repo is not core"


def test_a_first_import_shows_its_progress(plan):
    assert reason(plan("x"), [IMPORTING]).reason == "importing: site 43 %"


def test_no_match_during_an_import_names_both(plan):
    assert reason(plan("x"), [READY, IMPORTING], left=5).reason == "no match; still importing: site 43 %"


def test_no_match_comes_with_a_suggestion(plan):
    why = reason(plan("x"), [READY], left=5)
    assert why.reason == "no match"
    assert why.suggestion


@pytest.mark.parametrize(
    ("query", "blamed"),
    [
        ("x lang:cobol", "language = cobol"),
        ("x kind:test", "kind_of_file = test"),
        ("x -lang:go", "language is not go"),
        ("x path:nowhere/", "path = **/nowhere/"),
        ("x -path:all/", "path is not **/all/"),
    ],
)
def test_a_filter_that_leaves_nothing_is_named(plan, query, blamed):
    assert reason(plan(query), [READY]).reason == f"filter leaves nothing: {blamed}"


def test_filters_that_exclude_everything_together_are_named(plan):
    planned = plan("x lang:go kind:test")
    why = why_empty(planned, [READY], [], lambda filters: 0 if filters == planned.selection.filters else 3)
    assert why.reason == "filter leaves nothing: only the combination of language = go and kind_of_file = test"


def test_a_similar_name_is_suggested(plan, make_candidate):
    near = [make_candidate(symbol_name="parseHeader"), make_candidate(symbol_name="flush", id="2")]
    assert did_you_mean(plan("parseHaeder"), near) == "did you mean parseHeader?"
    assert did_you_mean(plan("something_else"), near) is None


def test_a_plain_query_has_no_filters(plan):
    assert plan("x").selection.filters == Filters()
