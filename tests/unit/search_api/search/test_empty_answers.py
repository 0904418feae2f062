import pytest

from codequarry.search_api.search.empty_answers import did_you_mean, why_empty
from codequarry.search_api.versions.freshness import RepositoryState
from codequarry.shared.model import Filters

READY = RepositoryState("core", "main", "branch", "ready", indexed_commit="c" * 40)
IMPORTING = RepositoryState("site", "main", "branch", "importing", percent=43)


def reason(plan, states, left=0):
    """Return the reason where ``left`` chunks fit any filters."""
    return why_empty(plan, states, [], lambda filters: left)


def test_nothing_indexed(plan):
    assert reason(plan("x"), []).reason == "not indexed yet"


def test_every_repository_excluded(plan):
    assert reason(plan("x -repo:core"), []).reason == "filter leaves nothing: repo is not core"


def test_a_first_import_says_how_far_it_is(plan):
    assert reason(plan("x"), [IMPORTING]).reason == "importing: site 43 %"


def test_no_match_beside_a_running_import_says_both(plan):
    assert reason(plan("x"), [READY, IMPORTING], left=5).reason == "no match; still importing: site 43 %"


def test_no_match(plan):
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


def test_filters_that_only_together_leave_nothing_are_named(plan):
    asked = plan("x lang:go kind:test")
    why = why_empty(asked, [READY], [], lambda filters: 0 if filters == asked.selection.filters else 3)
    assert why.reason == "filter leaves nothing: only together: language = go; kind_of_file = test"


def test_names_that_look_like_the_one_asked_for_are_guessed(plan, make_candidate):
    near = [make_candidate(symbol_name="parseHeader"), make_candidate(symbol_name="flush", id="2")]
    assert did_you_mean(plan("parseHaeder"), near) == "did you mean parseHeader?"
    assert did_you_mean(plan("something_else"), near) is None


def test_no_filters_are_no_reason(plan):
    assert plan("x").selection.filters == Filters()
