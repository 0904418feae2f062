"""Which rows a backup contains, and when it must restart."""

from dataclasses import replace
from typing import Any

import pytest

from codequarry.shared.store.opensearch.frozen_index import Frozen, keeps_all
from codequarry.shared.versions.head import Head, Timeline
from codequarry.shared.versions.snapshots import OPEN

HEAD = Head(
    counter=9,
    open={7: 1},
    aborted=frozenset({5}),
    timelines={1: Timeline("quarry", 8, floor=2), 3: Timeline("quarry", 6, pins=frozenset({(1, 4)}))},
)


def row(born: int, died: int = OPEN) -> dict[str, Any] | None:
    unused: Any = None
    return Frozen(unused, HEAD).row({"born": born, "died": died, "path": "a"})


@pytest.mark.parametrize("number", [5, 7])
def test_rows_of_hidden_numbers_are_left_out(number: int) -> None:
    assert row(number) is None


@pytest.mark.parametrize("died", [5, 7, 10, OPEN])
def test_rows_retired_by_hidden_or_later_numbers_are_live(died: int) -> None:
    assert row(4, died) == {"born": 4, "died": OPEN, "path": "a"}


def test_retired_rows_stay_retired() -> None:
    assert row(4, 6) == {"born": 4, "died": 6, "path": "a"}
    assert row(4, 9) == {"born": 4, "died": 9, "path": "a"}


def test_rows_newer_than_the_counter_are_excluded() -> None:
    unused: Any = None
    assert Frozen(unused, HEAD).visible == {"range": {"born": {"lte": 9}}}


def changed(key: int, **fields: Any) -> Head:
    return replace(HEAD, timelines={**HEAD.timelines, key: replace(HEAD.timelines[key], **fields)})


def test_publications_during_a_backup_are_harmless() -> None:
    newest = changed(1, published=12)
    more = {**newest.timelines, 11: Timeline("other", 13, pins=frozenset({(1, 8)}))}
    assert keeps_all(HEAD, replace(newest, counter=13, open={}, timelines=more))


def test_possible_deletions_during_a_backup_restart_it() -> None:
    assert not keeps_all(HEAD, replace(HEAD, timelines={1: HEAD.timelines[1]}))
    assert not keeps_all(HEAD, changed(1, floor=6))
    assert not keeps_all(HEAD, changed(3, pins=frozenset()))
