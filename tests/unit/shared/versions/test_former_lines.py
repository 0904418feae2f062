"""Former timelines in the head document."""

import json

import pytest

from codequarry.shared.versions.former_lines import is_line
from codequarry.shared.versions.head import Head, Lease, Timeline
from codequarry.shared.versions.transactions import drop_unused, retire_version

SINCE = "2026-05-01T12:00:00+00:00"


def former(repo: str = "r", key: str = "refs/heads/x", **fields: object) -> Timeline:
    return Timeline(repo, 7, "c" * 40, repo_id=f"id of {repo}", former=key, expiring_since=SINCE, **fields)


@pytest.mark.parametrize(
    "state",
    [
        former(),
        former(floor=5, pins=frozenset({(1, 3), (2, 4)})),
        former(key=r"refs/heads/caf\xe9"),
        former(key="refs/heads/é"),
        Timeline("r", 7, former="refs/pull/7", expiring_since=SINCE),
        Timeline("r", 7, "c", former="workspace/a b", expiring_since=SINCE),
        Timeline("r", 7, "c", former="refs/heads/x", gone=True),
        Timeline("r", 7, "c", ref="refs/heads/x", lease=Lease("me", 8)),
    ],
)
def test_a_timeline_is_read_as_it_was_written(state):
    head = Head(9, timelines={1: Timeline("r", 2, "a", branch="main"), 5: state}, defaults={"r": 1})
    assert Head.from_json(json.loads(json.dumps(head.to_json()))) == head


def test_only_former_timelines_without_a_lease_are_lines():
    assert is_line(former())
    assert not is_line(Timeline("r", 7, ref="refs/heads/x"))
    assert not is_line(former(lease=Lease("me", 8)))


def test_repositories_of_one_name_and_other_ids_are_kept_apart():
    timelines = {1: former("a"), 2: former("b"), 3: former("a", key="refs/heads/y")}
    head = Head(9, timelines=timelines)
    assert Head.from_json(head.to_json()).timelines == timelines
    assert [repo for repo, _, _ in head.to_json()["former"]] == ["a", "b"]


def test_a_retired_timeline_keeps_what_it_pins():
    pins = frozenset({(1, 2)})
    head = Head(9, timelines={1: Timeline("r", 2), 5: Timeline("r", 7, ref="refs/heads/x", pins=pins)})
    head = retire_version(head, 5, SINCE)
    assert (head.timelines[5].former, head.timelines[5].pins, head.pinned(1)) == ("refs/heads/x", pins, {2})


def test_timelines_are_dropped_together_unless_something_needs_them():
    needs = frozenset({(2, 7)})
    timelines = {
        1: Timeline("r", 2),
        2: former(),
        3: former(pins=needs),
        4: former(),
        5: Timeline("r", 8, ref="refs/heads/y", pins=frozenset({(4, 7)})),
        6: former(),
    }
    head = Head(9, timelines=timelines, defaults={"r": 1})
    left, dropped = drop_unused(head, {1: 2, 2: 7, 3: 7, 4: 7, 6: 6, 77: 7})
    assert (set(left.timelines), dropped) == ({1, 4, 5, 6}, {2, 3}), "3 lay on 2, 5 lies on 4, and 6 has moved on"
    left, dropped = drop_unused(head, {2: 7})
    assert (left, dropped) == (head, frozenset()), "3 needs 2"
