"""Which commits expire, and which rows become invisible."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from codequarry.ingest.transaction.retention import (
    RetentionLimits,
    TimelineExtent,
    VersionHistory,
    cut_history,
    expired_histories,
    histories,
)
from codequarry.shared.model import Layer
from codequarry.shared.settings.index import RetentionSettings
from codequarry.shared.versions.head import Head, Timeline
from codequarry.shared.versions.snapshots import OPEN, is_live
from codequarry.shared.versions.transactions import TransactionRecord, raise_floor

NOW = datetime(2026, 6, 1, tzinfo=UTC)
FOREVER = 10_000.0


def record(timeline: int, number: int, days_ago: float = 0, base=None) -> TransactionRecord:
    began = (NOW - timedelta(days=days_ago)).isoformat(timespec="seconds")
    base_timeline, base_number = base or (None, None)
    return TransactionRecord(timeline, number, "r", "main", f"c{number}", "rules", 1, began, base_timeline, base_number)


def world(*numbers: int, days=None) -> tuple[Head, dict[int, list[TransactionRecord]]]:
    """Return a head with one default timeline, number 1, and its records."""
    days = days or [0] * len(numbers)
    records = [record(1, number, ago) for number, ago in zip(numbers, days, strict=True)]
    head = Head(numbers[-1], timelines={1: Timeline("r", numbers[-1])}, defaults={"r": 1})
    return head, {1: records}


def lines(head: Head, leaving=()) -> list[tuple[int, ...]]:
    return [history.timelines for history in histories(head, "r", leaving)]


def test_a_commit_that_is_published_twice_in_a_row_counts_once():
    """Other settings or another name of the repository publish the same commit again."""
    head, records = world(2, 3, 5, 8)
    records[1][3] = replace(records[1][3], commit="c5")
    (cut,) = cut_history(head, VersionHistory((1,)), records, RetentionLimits(2, FOREVER), NOW)
    assert (cut.floor, [expired.number for expired in cut.given_up]) == (3, [2])


def test_the_newest_commits_are_kept():
    head, records = world(2, 3, 5, 8)
    (cut,) = cut_history(head, VersionHistory((1,)), records, RetentionLimits(3, FOREVER), NOW)
    assert (cut.floor, [expired.number for expired in cut.given_up]) == (3, [2])
    assert cut_history(head, VersionHistory((1,)), records, RetentionLimits(4, FOREVER), NOW) == []


def test_a_commit_is_kept_for_keep_days_after_its_replacement():
    head, records = world(2, 3, 5, days=[100, 80, 10])
    assert cut_history(head, VersionHistory((1,)), records, RetentionLimits(10, 90), NOW) == [], (
        "2 was head until 80 days ago"
    )
    (cut,) = cut_history(head, VersionHistory((1,)), records, RetentionLimits(10, 79), NOW)
    assert cut.floor == 3
    (cut,) = cut_history(head, VersionHistory((1,)), records, RetentionLimits(10, 9), NOW)
    assert cut.floor == 5


def test_both_limits_apply():
    head, records = world(2, 3, 5, days=[3, 2, 1])
    (cut,) = cut_history(head, VersionHistory((1,)), records, RetentionLimits(1, 90), NOW)
    assert cut.floor == 5
    (cut,) = cut_history(head, VersionHistory((1,)), records, RetentionLimits(200, 1.5), NOW)
    assert cut.floor == 3


def test_the_newest_commit_is_kept_however_old_it_is():
    head, records = world(2, 3, days=[500, 400])
    (cut,) = cut_history(head, VersionHistory((1,)), records, RetentionLimits(1, 0), NOW)
    assert (cut.floor, cut.dropped) == (3, False)


def test_an_unreadable_time_counts_as_recent():
    head, records = world(2, 3)
    records[1][1] = TransactionRecord(1, 3, "r", "main", "c3", "rules", 1, "yesterday")
    assert cut_history(head, VersionHistory((1,)), records, RetentionLimits(10, 1), NOW) == []


def test_former_and_current_default_timelines_form_one_history():
    timelines = {1: Timeline("r", 4), 5: Timeline("r", 8), 9: Timeline("r", 10, ref="refs/heads/x"), 11: Timeline("r")}
    head = Head(11, timelines=timelines, defaults={"r": 5})
    assert lines(head) == [(1, 5), (9,)], "a timeline without publications has no history"
    records = {1: [record(1, 2), record(1, 3), record(1, 4)], 5: [record(5, 6), record(5, 8)]}
    (cut,) = cut_history(head, VersionHistory((1, 5)), records, RetentionLimits(3, FOREVER), NOW)
    assert (cut.timeline, cut.floor, cut.dropped) == (1, 4, False)
    (cut,) = cut_history(head, VersionHistory((1, 5)), records, RetentionLimits(2, FOREVER), NOW)
    assert (cut.timeline, cut.dropped, len(cut.given_up)) == (1, True, 3)


def test_a_leaving_timeline_is_not_part_of_the_history():
    head = Head(10, timelines={1: Timeline("r", 4), 5: Timeline("r", 8)}, defaults={"r": 5})
    assert lines(head, leaving=[1]) == [(5,)]
    assert lines(head, leaving=[5]) == [(1, 5)], "a timeline that is about to be replaced is still the default"


def test_a_former_default_timeline_is_kept_as_the_base_of_an_overlay():
    overlay = Timeline("r", 10, ref="refs/heads/x", pins=frozenset({(1, 3)}))
    head = Head(10, timelines={1: Timeline("r", 4), 5: Timeline("r", 8), 9: overlay}, defaults={"r": 5})
    records = {1: [record(1, 2), record(1, 3), record(1, 4)], 5: [record(5, 6), record(5, 8)]}
    (cut,) = cut_history(head, VersionHistory((1, 5)), records, RetentionLimits(2, FOREVER), NOW)
    assert (cut.timeline, cut.floor, cut.dropped) == (1, 4, False)
    head = raise_floor(head, 1, 4, cut.floor, cut.pins)
    assert TimelineExtent.of(head, 1).gaps() == [(-1, 3), (3, 4)]


def test_an_expired_overlay_commit_releases_its_base_unless_still_needed():
    overlay = Timeline("r", 12, ref="refs/heads/x", pins=frozenset({(1, 2), (1, 3)}))
    head = Head(12, timelines={1: Timeline("r", 4), 9: overlay}, defaults={"r": 1})
    records = {9: [record(9, 10, base=(1, 2)), record(9, 11, base=(1, 3)), record(9, 12, base=(1, 3))]}
    (cut,) = cut_history(head, VersionHistory((9,)), records, RetentionLimits(2, FOREVER), NOW)
    assert (cut.floor, cut.pins) == (11, {(1, 3)})
    assert raise_floor(head, 9, 12, cut.floor, cut.pins).pinned(1) == {3}


def test_a_repository_can_have_its_own_limits():
    settings = RetentionSettings(keep_commits=5, keep_days=7, repositories={"a": {"keep_commits": 2}})
    assert RetentionLimits.of(settings, "a") == RetentionLimits(2, 7)
    assert RetentionLimits.of(settings, "b") == RetentionLimits(5, 7)


@pytest.mark.parametrize("seed", range(20))
def test_exactly_the_rows_invisible_at_kept_and_pinned_numbers_are_freed(seed):
    chance = random.Random(seed)
    numbers = sorted(chance.sample(range(2, 30), 12))
    floor, pins = numbers[7], tuple(sorted(chance.sample(numbers[:7], chance.randint(0, 3))))
    extent = TimelineExtent(floor, pins)
    looked_from = [*pins, *numbers[7:]]
    for born in numbers:
        for died in [*(number for number in numbers if number > born), OPEN]:
            seen = any(is_live(Layer((1,), at), 1, born, died, "a.py") for at in looked_from)
            assert extent.frees(born, died) == (not seen)


def aging(number: int, days_ago: float, *, ended: bool = True) -> VersionHistory:
    since = (NOW - timedelta(days=days_ago)).isoformat()
    return VersionHistory((number,), since, has_ended=ended)


def test_former_timelines_belong_to_the_history_of_their_version():
    dev = "refs/heads/dev"
    timelines = {
        1: Timeline("r", 4),
        5: Timeline("r", 6, former=dev, expiring_since="2026-05-01"),
        7: Timeline("r", 8, ref=dev),
        9: Timeline("r", 10, former="refs/pull/7", expiring_since="2026-05-02"),
    }
    head = Head(11, timelines=timelines, defaults={"r": 1})
    assert histories(head, "r") == [
        VersionHistory((1,)),
        VersionHistory((5, 7)),
        VersionHistory((9,), "2026-05-02", has_ended=True),
    ]


def test_an_ended_version_expires_after_keep_days():
    found = [VersionHistory((1,)), aging(2, 91), aging(3, 89)]
    assert expired_histories(found, RetentionLimits(200, 90), NOW) == {found[1]}


def test_of_many_ended_versions_those_that_ended_last_are_kept():
    found = [VersionHistory((1,)), *(aging(number, number) for number in range(2, 8))]
    assert {history.timelines for history in expired_histories(found, RetentionLimits(200, 90, ended=4), NOW)} == {
        (6,),
        (7,),
    }


def test_a_version_that_a_search_asked_for_stays_for_a_day_whatever_the_limits():
    young, old = aging(2, 0.5, ended=False), aging(3, 1.5, ended=False)
    assert expired_histories([young, old], RetentionLimits(1, 0, ended=0), NOW) == {old}
    assert expired_histories([young, aging(4, 0.5)], RetentionLimits(1, 0), NOW) == {aging(4, 0.5)}


def test_an_expired_history_is_dropped_with_its_newest_commit():
    timelines = {1: Timeline("r", 4), 5: Timeline("r", 7, former="refs/heads/x", expiring_since="2026-01-01")}
    head = Head(8, timelines=timelines, defaults={"r": 1})
    records = {5: [record(5, 6), record(5, 7)]}
    history = VersionHistory((5,), "2026-01-01", has_ended=True)
    (cut,) = cut_history(head, history, records, RetentionLimits(200, 90), NOW, expired=True)
    assert (cut.dropped, len(cut.given_up)) == (True, 2)
    assert cut_history(head, history, records, RetentionLimits(200, 90), NOW) == []
