"""Filters and writes as query clauses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codequarry.shared.errors import UnknownName
from codequarry.shared.model import Filters, PathGlobs
from codequarry.shared.store.opensearch.clauses import (
    MAX_TERMS,
    any_value,
    collectable_clause,
    filter_clauses,
    retirable_clause,
)
from codequarry.shared.versions.snapshots import OPEN

NUMBERS = st.integers(1, 12)
PATHS = st.sampled_from(["a", "b/a", "c"])


rows = st.fixed_dictionaries(
    {"timeline": NUMBERS, "born": NUMBERS, "died": st.one_of(NUMBERS, st.just(OPEN)), "path": PATHS}
)


@given(NUMBERS, NUMBERS, st.frozensets(PATHS), st.frozensets(NUMBERS), rows)
def test_retirable_rows_are_older_and_live_or_retired_by_an_aborted_number(
    holds, timeline, number, paths, aborted, row
) -> None:
    expected = (
        row["timeline"] == timeline
        and row["path"] in paths
        and row["born"] < number
        and (row["died"] == OPEN or row["died"] in aborted - {number})
    )
    assert holds(retirable_clause(timeline, number, paths, aborted), row) == expected


@given(NUMBERS, st.integers(-1, 12), NUMBERS, st.frozensets(NUMBERS), rows)
def test_collectable_rows_were_born_and_retired_in_the_range(holds, timeline, after, until, aborted, row) -> None:
    expected = (
        row["timeline"] == timeline and row["born"] > after and row["died"] <= until and row["died"] not in aborted
    )
    assert holds(collectable_clause(timeline, after, until, aborted), row) == expected


def test_too_many_values_are_split_into_several_clauses(holds) -> None:
    many = list(range(2 * MAX_TERMS + 1))
    clause = any_value("timeline", many)
    assert [len(part["terms"]["timeline"]) for part in clause["bool"]["should"]] == [MAX_TERMS, MAX_TERMS, 1]
    assert all(holds(clause, {"timeline": value}) for value in (many[0], many[MAX_TERMS], many[-1]))
    assert not holds(any_value("timeline", []), {"timeline": 1})


def test_filters_become_required_and_excluded_clauses() -> None:
    filters = Filters(
        terms=(("language", ("config",)), ("exported", ("true",))),
        excluded=(("repo", ("old",)),),
        paths=PathGlobs(include=("src/", "lib/"), exclude=("*.min.js",)),
    )
    required, refused = filter_clauses(filters)
    assert "yaml" in required[0]["terms"]["language"]
    assert required[1] == {"terms": {"exported": ("true",)}} or required[1] == {"terms": {"exported": ["true"]}}
    assert len(required[2]["bool"]["should"]) == 2
    assert refused[0] == {"terms": {"repo": ["old"]}}
    assert refused[1]["regexp"]["path"]["flags"] == "NONE"


def test_an_unknown_filter_is_named() -> None:
    with pytest.raises(UnknownName, match="colour"):
        filter_clauses(Filters(terms=(("colour", ("red",)),)))
