"""Snapshots and filters as query clauses, compared with the definition in ``snapshots.is_live``."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codequarry.shared.errors import UnknownName
from codequarry.shared.model import Filters, Layer, LayerState, PathGlobs, Snapshot
from codequarry.shared.store.opensearch.clauses import (
    MAX_SNAPSHOT_CLAUSES,
    MAX_TERMS,
    any_value,
    collectable_clause,
    count_clauses,
    filter_clauses,
    retirable_clause,
    snapshot_clause,
    snapshot_parts,
)
from codequarry.shared.versions.snapshots import OPEN, is_live

NUMBERS = st.integers(1, 12)
PATHS = st.sampled_from(["a", "b/a", "c"])


def holds(clause: dict[str, Any], row: dict[str, Any]) -> bool:
    """Evaluate a clause of a snapshot as the engine does."""
    ((kind, body),) = clause.items()
    if kind == "match_none":
        return False
    if kind in ("term", "terms"):
        ((field, wanted),) = body.items()
        return row[field] in (wanted if kind == "terms" else [wanted])
    if kind == "range":
        ((field, bounds),) = body.items()
        tests = {"lte": row[field].__le__, "lt": row[field].__lt__, "gt": row[field].__gt__}
        return all(tests[name](bound) for name, bound in bounds.items())
    assert kind == "bool" and set(body) <= {"filter", "must_not", "should", "minimum_should_match"}
    should = [holds(part, row) for part in body.get("should", ())]
    return (
        all(holds(part, row) for part in body.get("filter", ()))
        and not any(holds(part, row) for part in body.get("must_not", ()))
        and sum(should) >= body.get("minimum_should_match", 0)
    )


states = st.builds(LayerState, NUMBERS, st.frozensets(PATHS))
layers = st.builds(
    Layer,
    st.lists(NUMBERS, max_size=3).map(tuple),
    NUMBERS,
    st.frozensets(NUMBERS, max_size=4),
    st.frozensets(PATHS, max_size=2),
    others=st.just(()) | st.lists(states, max_size=5).map(tuple),
)
rows = st.fixed_dictionaries(
    {"timeline": NUMBERS, "born": NUMBERS, "died": st.one_of(NUMBERS, st.just(OPEN)), "path": PATHS}
)


@given(st.lists(layers, max_size=2), rows)
def test_the_snapshot_clause_matches_exactly_the_live_rows(layers: list[Layer], row: dict[str, Any]) -> None:
    expected = any(is_live(layer, **row) for layer in layers)
    assert holds(snapshot_clause(Snapshot(tuple(layers))), row) == expected


@given(layers.filter(lambda layer: layer.timelines), st.lists(states), rows)
def test_a_large_snapshot_is_cut_into_parts_that_share_no_row(
    layer: Layer, others: list[LayerState], row: dict[str, Any]
) -> None:
    """Three hundred states of one timeline do not fit into a request."""
    many = [replace(layer, at=100 + number, mask=frozenset(), others=()) for number in range(300)]
    seen = Snapshot((*many, replace(layer, others=tuple(others))))
    parts = snapshot_parts(seen)
    assert len(parts) > 1
    assert all(count_clauses(part) <= MAX_SNAPSHOT_CLAUSES for part in parts)
    held = [part for part in parts if holds(part, row)]
    assert len(held) == any(is_live(layer, **row) for layer in seen.layers)


@given(NUMBERS, NUMBERS, st.frozensets(PATHS), st.frozensets(NUMBERS), rows)
def test_retirable_rows_are_older_and_live_or_retired_by_an_aborted_number(
    timeline, number, paths, aborted, row
) -> None:
    expected = (
        row["timeline"] == timeline
        and row["path"] in paths
        and row["born"] < number
        and (row["died"] == OPEN or row["died"] in aborted - {number})
    )
    assert holds(retirable_clause(timeline, number, paths, aborted), row) == expected


@given(NUMBERS, st.integers(-1, 12), NUMBERS, st.frozensets(NUMBERS), rows)
def test_collectable_rows_were_born_and_retired_in_the_range(timeline, after, until, aborted, row) -> None:
    expected = (
        row["timeline"] == timeline and row["born"] > after and row["died"] <= until and row["died"] not in aborted
    )
    assert holds(collectable_clause(timeline, after, until, aborted), row) == expected


def test_too_many_values_are_split_into_several_clauses() -> None:
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
