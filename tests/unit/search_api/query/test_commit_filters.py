"""The filters on commits: their values and combinations."""

from datetime import date

import pytest

from codequarry.search_api.query.commit_filters import asked_commits, day_of, shown_day
from codequarry.search_api.query.plan import make_plan
from codequarry.search_api.query.request import SearchRequest
from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.model import CommitFilters, PathGlobs

TODAY = date(2024, 5, 31)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-05-01", "2024-05-01"),
        ("2024-05-01T23:59:59Z", "2024-05-01"),
        ("today", "2024-05-31"),
        ("Yesterday", "2024-05-30"),
        ("3 days ago", "2024-05-28"),
        ("1 day", "2024-05-30"),
        ("2 weeks ago", "2024-05-17"),
        ("2w", "2024-05-17"),
        ("1 month ago", "2024-05-01"),
        ("1y", "2023-06-01"),
        ("99999 years ago", "1970-01-01"),
    ],
)
def test_days_can_be_written_in_several_ways(text, day):
    assert shown_day(day_of("since", text, TODAY)) == day


@pytest.mark.parametrize("text", ["", "soon", "2024-13-01", "31.05.2024", "-1 days", "3 fortnights"])
def test_other_texts_are_no_days(text):
    with pytest.raises(UsageError, match="must be a day"):
        day_of("since", text, TODAY)


def plan(query, **filters):
    return make_plan(SearchRequest(query, filters={name: tuple(values) for name, values in filters.items()}))


def test_filters_of_the_query_and_of_the_body_are_combined():
    selection = plan("type:commit retry -author:bot", author=["Ada"], since=["2024-01-01"]).selection
    assert selection.documents == ("commit",)
    assert selection.filters.terms == (("symbol_type", ("commit",)),)
    assert selection.filters.commits == CommitFilters(("ada",), ("bot",), 19723)
    both = plan("retry type:diff type:commit since:2024-01-01", since=["2024-02-01"], until=["2024-03-01"]).selection
    assert both.documents == ("commit", "diff")
    assert (both.filters.commits.since, both.filters.commits.until) == (19754, 19783)


def test_a_search_of_code_is_filtered_by_the_last_commits_of_files():
    selection = plan("x author:me since:2024-01-01").selection
    assert selection.documents == ()
    assert selection.filters.commits == CommitFilters(("me",), since=19723)
    assert plan("x type:code").selection == plan("x").selection


def test_the_filters_have_the_names_of_the_fields_too():
    named = plan("x", commit_author=["Ada"], commit_date=["2024-01-01"]).selection
    assert named.filters.commits == CommitFilters(("ada",), (), 19723, 19723)
    with pytest.raises(UsageError, match="takes one day"):
        plan("x", commit_date=["2024-01-01", "2024-01-02"])


def test_combinations_without_meaning_are_refused():
    with pytest.raises(UsageError, match="code or commits, not both"):
        plan("x type:code type:diff")
    with pytest.raises(UsageError, match="excludes nothing"):
        plan("x -type:diff")
    with pytest.raises(UnknownName, match="unknown type 'commits'"):
        plan("x type:commits")
    with pytest.raises(UsageError, match="has no path"):
        plan("x type:commit path:src/")
    with pytest.raises(UnknownName, match="unknown kind 'diff'"):
        plan("x kind:diff")


def test_paths_of_changes_are_those_of_the_files():
    assert plan("x type:diff", path=["src/*.py"]).selection.filters.paths == PathGlobs((".git/*/src/*.py",))


def test_a_search_is_narrowed_by_its_filters_but_not_by_its_type():
    assert not plan("x type:commit").is_narrowed
    assert plan("x type:commit author:me").is_narrowed


def test_nothing_asked_is_code():
    assert asked_commits((), (), (), (), ()).documents == ()
