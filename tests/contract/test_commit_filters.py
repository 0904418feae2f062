"""Filters on the author and the day of commits, in the search and in the count."""

import pytest

from codequarry.shared.model import CommitFilters, Filters
from codequarry.shared.store.records import RecallQuery

ADA = {"author": "ada lovelace <ada@example.com>", "commit_day": 19_000}
BOB = {"author": "bob_* o'brien?", "commit_day": 19_010}
EVE = {"author": "ève \\ <1f2e3d>", "commit_day": 19_020}


@pytest.fixture
def fitting(store, snapshot):
    """Return a function that maps commit filters to the paths of matching chunks, by search, count and find."""

    def paths(**commits: object) -> list[str]:
        filters = Filters(commits=CommitFilters(**commits))
        query = RecallQuery(snapshot(), filters=filters, terms=("word",), term_limit=1000)
        found = sorted(candidate.chunk.path for candidate in store.recall(query).candidates.values())
        assert store.count(snapshot(), filters) == len(found)
        assert sorted(chunk.path for chunk in store.find(snapshot(), filters, 1000)) == found
        return found

    return paths


@pytest.fixture(autouse=True)
def rows(store, make_row, write):
    write(
        store,
        make_row("word", "ada", **ADA),
        make_row("word", "bob", **BOB),
        make_row("word", "eve", **EVE),
        make_row("word", "code"),
    )


def test_any_part_of_an_author_matches(fitting):
    assert fitting(authors=("lovelace",)) == ["ada"]
    assert fitting(authors=("a lov",)) == ["ada"]
    assert fitting(authors=("example.com",)) == ["ada"]
    assert fitting(authors=("ève",)) == ["eve"]
    assert fitting(authors=("e",)) == ["ada", "bob", "eve"]
    assert fitting(authors=("nobody",)) == []


def test_special_characters_of_patterns_are_literal(fitting):
    assert fitting(authors=("bob_*",)) == ["bob"]
    assert fitting(authors=("brien?",)) == ["bob"]
    assert fitting(authors=("ve \\",)) == ["eve"]
    assert fitting(authors=("a*e",)) == []
    assert fitting(authors=("b.b",)) == []


def test_any_of_several_authors_matches_and_none_of_the_excluded(fitting):
    assert fitting(authors=("ada", "bob")) == ["ada", "bob"]
    assert fitting(excluded=("ada",)) == ["bob", "code", "eve"]
    assert fitting(authors=("e",), excluded=("bob", "1f2e3d")) == ["ada"]


def test_both_ends_of_a_span_of_days_are_included(fitting):
    assert fitting(since=19_010) == ["bob", "eve"]
    assert fitting(until=19_010) == ["ada", "bob"]
    assert fitting(since=19_001, until=19_019) == ["bob"]
    assert fitting(since=19_011, until=19_019) == []
    assert fitting(since=0, until=30_000, authors=("ada",)) == ["ada"]


def test_nearest_vectors_obey_the_filters(store, snapshot, make_vector):
    filters = Filters(commits=CommitFilters(authors=("bob",)))
    query = RecallQuery(snapshot(), filters=filters, vector=make_vector("anything"), vector_limit=10)
    assert [candidate.chunk.path for candidate in store.recall(query).candidates.values()] == ["bob"]
