"""The end of a migration, as changes of the head document."""

import threading
from dataclasses import replace

import pytest

from codequarry.shared.catalog import ledger
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.errors import Conflict, IndexMoved, LeaseHeld
from codequarry.shared.versions.head import Head, Lease, Move, Timeline
from codequarry.shared.versions.moves import beat, hold_timelines, release_timelines, successor, switch_edition
from codequarry.shared.versions.transactions import check_held, new_timeline

HEAD = Head(
    counter=9,
    open={7: 1, 9: 8},
    aborted=frozenset({3}),
    timelines={1: Timeline("a", 5, "c1", Lease("writer", 7)), 8: Timeline("b", lease=Lease("writer", 9))},
    defaults={"a": 1},
)
STILL = hold_timelines(HEAD, "mover", 2, "other")


@pytest.fixture
def store(make_workshop):
    return make_workshop().store


def add(head):
    return new_timeline(head, "repo")


def test_a_move_survives_json_and_is_absent_by_default():
    assert "move" not in HEAD.to_json()
    for head in (HEAD, STILL, beat(STILL, "mover"), switch_edition(STILL, "mover", HEAD, "2024")):
        assert Head.from_json(head.to_json()) == head


def test_the_next_edition_starts_with_exactly_the_published_timelines():
    begun = successor(STILL)
    assert begun == Head(9, {}, frozenset({3, 7, 9}), {1: Timeline("a", 5, "c1")}, {"a": 1})


def test_only_one_migration_finishes_at_a_time():
    assert hold_timelines(STILL, "mover", 2, "other") == STILL
    with pytest.raises(LeaseHeld):
        hold_timelines(STILL, "another", 3, "third")


def test_a_move_that_others_assumed_dead_cannot_finish():
    for late in (HEAD, hold_timelines(HEAD, "another", 3, "third")):
        for act in (lambda head: beat(head, "mover"), lambda head: switch_edition(head, "mover", HEAD, "2024")):
            with pytest.raises(Conflict):
                act(late)
        assert release_timelines(late, "mover") == late
    assert release_timelines(STILL, "mover") == HEAD


def test_changes_after_the_copy_are_never_lost():
    """Another process assumed the move dead and published, then the migration froze the head again."""
    published = replace(STILL, timelines=STILL.timelines | {1: Timeline("a", 6, "c2")})
    with pytest.raises(Conflict):
        switch_edition(published, "mover", STILL, "2024")


def test_an_edition_that_was_left_accepts_no_change_and_no_batch(store):
    change_head(store, lambda head: (hold_timelines(head, "mover", 2, "other"), None))
    change_head(store, lambda head: (switch_edition(head, "mover", head, "2024"), None), "mover")
    for mover in ("", "mover"):
        with pytest.raises(IndexMoved, match="moved to model 'other'"):
            change_head(store, add, mover)
    with pytest.raises(IndexMoved):
        check_held(read_head(store), 1, "writer", 7)


def test_writers_wait_until_the_migration_releases_the_head(store):
    change_head(store, lambda head: (hold_timelines(head, "mover", 2, "other"), None))
    writer = threading.Thread(target=change_head, args=(store, add))
    writer.start()
    change_head(store, lambda head: (beat(head, "mover"), None), "mover")
    assert read_head(store).counter == 0
    change_head(store, lambda head: (release_timelines(head, "mover"), None), "mover")
    writer.join()
    assert read_head(store).counter == 2


def test_writers_stop_waiting_for_a_silent_migration(store, monkeypatch):
    monkeypatch.setattr(ledger, "MOVE_SECONDS", 0.1)
    change_head(store, lambda head: (hold_timelines(head, "mover", 2, "other"), None))
    assert change_head(store, add) == 1
    assert read_head(store).move is None
    with pytest.raises(Conflict):
        change_head(store, lambda head: (switch_edition(head, "mover", head, "2024"), None), "mover")


def test_the_move_names_the_new_edition():
    assert switch_edition(STILL, "mover", HEAD, "2024").move == Move("mover", 2, "other", 0, True, "2024")
