import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codequarry.shared.errors import Conflict, LeaseHeld
from codequarry.shared.model import Layer, LayerState
from codequarry.shared.versions.head import Head, Lease, Timeline
from codequarry.shared.versions.snapshots import OPEN, disjoint, draft_snapshot, head_snapshot, is_live, snapshot_at
from codequarry.shared.versions.transactions import (
    TransactionRecord,
    abort,
    beat,
    begin,
    check_held,
    drop_timeline,
    forget,
    new_timeline,
    publish,
    take_over,
)


def begun(repo: str = "r", holder: str = "me") -> tuple[Head, int, int]:
    head, timeline = new_timeline(Head(), repo)
    head, number = begin(head, timeline, holder)
    return head, timeline, number


def published(repo: str = "r") -> tuple[Head, int, int]:
    head, timeline, number = begun(repo)
    return publish(head, timeline, "me", number, "c1", default=True), timeline, number


def test_a_head_survives_a_round_trip_through_json():
    head, timeline, _ = published()
    head, number = begin(head, timeline, "me")
    head = abort(head, timeline, "me", number)
    head, number = begin(head, timeline, "you")
    assert Head.from_json(head.to_json()) == head
    assert Head.from_json(Head().to_json()) == Head()


def test_numbers_of_transactions_and_timelines_are_never_reused():
    head, first = new_timeline(Head(), "r")
    head, number = begin(head, first, "me")
    head = forget(abort(head, first, "me", number), "r")
    head, again = new_timeline(head, "r")
    head, newer = begin(head, again, "me")
    assert first < number < again < newer


def test_a_number_and_the_lease_are_taken_together():
    head, timeline, number = begun()
    assert head.open == {number: timeline}
    assert head.timelines[timeline].lease == Lease("me", number)


def test_a_timeline_grants_only_one_lease():
    head, timeline, _ = begun()
    with pytest.raises(LeaseHeld, match="r is being indexed by another process"):
        begin(head, timeline, "you")


def test_publishing_shows_the_commit_and_releases_the_lease():
    head, timeline, number = published()
    state = head.timelines[timeline]
    assert (state.published, state.commit, state.lease) == (number, "c1", None)
    assert head.defaults == {"r": timeline}
    assert not head.open
    assert not head.hidden


@pytest.mark.parametrize("change", [publish, abort, beat])
def test_a_holder_that_lost_its_lease_cannot_change_anything(change):
    head, timeline, number = begun()
    lease = head.timelines[timeline].lease
    assert lease is not None
    head = take_over(head, timeline, lease, "you")
    commit = ("c",) if change is publish else ()
    with pytest.raises(Conflict, match="no longer held by this run"):
        change(head, timeline, "me", number, *commit)
    change(head, timeline, "you", number, *commit)


def test_a_number_that_is_not_open_is_not_held():
    head, timeline, number = published()
    with pytest.raises(Conflict):
        check_held(head, timeline, "me", number)
    with pytest.raises(Conflict):
        check_held(head, 999, "me", number)


def test_a_number_is_published_once_and_never_behind_a_newer_one():
    head, timeline, number = begun()
    ahead = Head(head.counter, head.open, head.aborted, {timeline: Timeline("r", 99, "c", Lease("me", number))})
    with pytest.raises(Conflict, match="older than the published state"):
        publish(ahead, timeline, "me", number, "c")


def test_a_lease_with_a_newer_heartbeat_is_not_taken_over():
    head, timeline, number = begun()
    seen = head.timelines[timeline].lease
    assert seen is not None
    head = beat(head, timeline, "me", number)
    with pytest.raises(Conflict, match="changed hands"):
        take_over(head, timeline, seen, "you")


def test_the_lease_of_a_dropped_timeline_is_not_taken_over():
    head, timeline, _ = begun()
    seen = head.timelines[timeline].lease
    assert seen is not None
    with pytest.raises(Conflict, match="changed hands"):
        take_over(forget(head, "r"), timeline, seen, "you")


def test_an_aborted_number_stays_hidden():
    head, timeline, number = begun()
    head = abort(head, timeline, "me", number)
    head, newer = begin(head, timeline, "me")
    head = publish(head, timeline, "me", newer, "c", default=True)
    assert head.hidden == {number}


def test_forgetting_a_repository_hides_its_open_transactions():
    head, _, number = begun("gone")
    head, kept = new_timeline(head, "kept")
    head, other = begin(head, kept, "me")
    head = forget(head, "gone")
    assert set(head.timelines) == {kept}
    assert head.open == {other: kept}
    assert number in head.aborted


def test_the_default_timeline_of_a_repository_is_not_dropped():
    head, timeline, _ = published()
    with pytest.raises(Conflict, match="is the default timeline"):
        drop_timeline(head, timeline)
    head, rebuilt = new_timeline(head, "r")
    head, number = begin(head, rebuilt, "me")
    head = drop_timeline(head, rebuilt)
    assert rebuilt not in head.timelines
    assert number in head.aborted


def test_the_head_snapshot_has_the_permitted_published_default_timelines():
    head, one, _ = published("one")
    head, two = new_timeline(head, "two")
    head, number = begin(head, two, "me")
    assert head_snapshot(head).layers == (Layer((one,), head.counter, frozenset({number})),)
    head = publish(head, two, "me", number, "c", default=True)
    assert head_snapshot(head).layers[0].timelines == (one, two)
    assert head_snapshot(head, ["two", "unknown"]).layers[0].timelines == (two,)
    assert head_snapshot(head, []).layers[0].timelines == ()


def test_the_draft_of_a_transaction_equals_its_publication():
    head, timeline, _ = published()
    head, number = begin(head, timeline, "me")
    draft = draft_snapshot(head, TransactionRecord(timeline, number, "r", "main", "c2", "", 1, ""))
    after = publish(head, timeline, "me", number, "c2")
    assert draft == snapshot_at(after, timeline, number)


@pytest.mark.parametrize(
    ("born", "died", "live"),
    [
        (3, OPEN, True),  # published and not retired
        (6, OPEN, False),  # newer than the snapshot
        (4, OPEN, False),  # written by an open or aborted number
        (3, 4, True),  # retired by an open or aborted number
        (3, 5, False),  # retired by a published number
        (3, 6, True),  # retired later
        (5, OPEN, True),
    ],
)
def test_a_row_is_live_according_to_born_died_and_hidden_numbers(born, died, live):
    layer = Layer((1,), at=5, hidden=frozenset({4}))
    assert is_live(layer, 1, born, died, "a") is live
    assert not is_live(layer, 2, born, died, "a")


def test_a_masked_path_is_not_in_its_layer():
    layer = Layer((1,), at=5, mask=frozenset({"a"}))
    assert not is_live(layer, 1, 3, OPEN, "a")
    assert is_live(layer, 1, 3, OPEN, "b")


@pytest.mark.parametrize("seed", range(20))
def test_any_order_of_steps_keeps_the_head_consistent(seed):
    """Numbers are open or settled, never both; a lease belongs to an open number of its own timeline."""
    chance = random.Random(seed)
    head = Head()
    for _ in range(200):
        head = _random_step(head, chance)
        leased = {state.lease.number: key for key, state in head.timelines.items() if state.lease}
        assert leased == dict(head.open)
        assert not head.aborted & set(head.open)
        assert all(head.timelines[key].published for key in head.defaults.values())
        newest = [head.counter, *head.open, *head.aborted, *head.timelines]
        assert max(newest) == head.counter
        assert Head.from_json(head.to_json()) == head


def _random_step(head: Head, chance: random.Random) -> Head:
    timeline = chance.choice([0, *head.timelines])
    if not timeline:
        return new_timeline(head, chance.choice("abc"))[0]
    lease = head.timelines[timeline].lease
    step = chance.choice(["publish", "abort", "beat", "take", "drop", "forget"])
    try:
        if step == "forget" and chance.random() < 0.2:
            return forget(head, head.timelines[timeline].repo)
        if step == "drop" and chance.random() < 0.2:
            return drop_timeline(head, timeline)
        if lease is None:
            return begin(head, timeline, chance.choice("xyz"))[0]
        if step == "publish":
            return publish(head, timeline, lease.holder, lease.number, "c", default=True)
        if step == "take":
            return take_over(head, timeline, lease, chance.choice("xyz"))
        return (abort if step == "abort" else beat)(head, timeline, lease.holder, lease.number)
    except Conflict:
        return head


NUMBERS = st.integers(1, 6)
MASKS = st.frozensets(st.sampled_from("ab"))
LAYERS = st.builds(
    Layer,
    st.lists(NUMBERS, max_size=3, unique=True).map(tuple),
    NUMBERS,
    st.sampled_from([frozenset(), frozenset({2})]),
    MASKS,
    others=st.lists(st.builds(LayerState, NUMBERS, MASKS), max_size=3).map(tuple),
)


@given(st.lists(LAYERS, max_size=5), NUMBERS, NUMBERS, NUMBERS | st.just(OPEN), st.sampled_from("ab"))
def test_layers_of_one_timeline_become_one_layer_that_shows_the_same_rows(layers, timeline, born, died, path):
    joined = disjoint(layers)
    row = (timeline, born, died, path)
    assert any(is_live(layer, *row) for layer in joined) == any(is_live(layer, *row) for layer in layers)
    layers_of_timeline = [layer for layer in joined if timeline in layer.timelines]
    assert len(layers_of_timeline) <= len({layer.hidden for layer in layers})
