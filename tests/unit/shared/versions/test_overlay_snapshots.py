import pytest

from codequarry.shared.errors import Conflict
from codequarry.shared.model import Layer
from codequarry.shared.versions.head import Head, Lease
from codequarry.shared.versions.snapshots import draft_snapshot, version_layers, version_snapshot
from codequarry.shared.versions.transactions import (
    TransactionRecord,
    abort,
    begin,
    drop_name,
    drop_timeline,
    new_timeline,
    publish,
    raise_floor,
    rename_default,
    take_over,
)


def moved(head: Head, timeline: int, commit: str, **options) -> tuple[Head, int]:
    """Return the head after another published transaction, and its number."""
    base = options.pop("base", None)
    head, number = begin(head, timeline, "me", base)
    return publish(head, timeline, "me", number, commit, **options), number


def repository(commits: int = 3) -> tuple[Head, int, list[int]]:
    """Return a head with one default timeline and the numbers of its transactions."""
    head, timeline = new_timeline(Head(), "r")
    numbers = []
    for commit in range(commits):
        head, number = moved(head, timeline, f"c{commit}", default=True)
        numbers.append(number)
    return head, timeline, numbers


def test_an_overlay_pins_its_base_from_its_start():
    head, base, numbers = repository()
    head, branch = new_timeline(head, "r", "refs/heads/dev")
    head, number = begin(head, branch, "me", (base, numbers[1]))
    assert head.pinned(base) == {numbers[1]}
    assert head.timelines[branch].lease == Lease("me", number, base=(base, numbers[1]))
    assert Head.from_json(head.to_json()) == head
    assert abort(head, branch, "me", number).pinned(base) == frozenset()
    head = take_over(head, branch, head.timelines[branch].lease, "you")
    head = publish(head, branch, "you", number, "d0")
    assert head.pinned(base) == {numbers[1]}
    assert head.timelines[branch].pins == {(base, numbers[1])}
    assert Head.from_json(head.to_json()) == head


def test_an_overlay_keeps_the_bases_of_its_older_commits_until_they_expire():
    head, base, numbers = repository()
    head, branch = new_timeline(head, "r", "refs/heads/dev")
    head, _ = moved(head, branch, "d0", base=(base, numbers[0]))
    head, newest = moved(head, branch, "d1", base=(base, numbers[2]))
    assert head.pinned(base) == {numbers[0], numbers[2]}
    head = raise_floor(head, branch, newest, newest, [(base, numbers[2])])
    assert head.pinned(base) == {numbers[2]}
    assert head.timelines[branch].floor == newest


def test_an_overlay_needs_a_kept_base_that_is_not_an_overlay():
    head, base, numbers = repository()
    head = raise_floor(head, base, numbers[2], numbers[1], [])
    head, branch = new_timeline(head, "r", "refs/heads/dev")
    with pytest.raises(Conflict, match="no longer kept"):
        begin(head, branch, "me", (base, numbers[0]))
    with pytest.raises(Conflict, match="no longer kept"):
        begin(head, branch, "me", (base, numbers[2] + 1))
    with pytest.raises(Conflict, match="no longer kept"):
        begin(head, branch, "me", (99, numbers[2]))
    head, first = moved(head, branch, "d0", base=(base, numbers[1]))
    head, other = new_timeline(head, "r", "refs/heads/other")
    with pytest.raises(Conflict, match="an overlay itself"):
        begin(head, other, "me", (branch, first))


def test_a_floor_is_raised_only_to_the_examined_state():
    head, base, numbers = repository()
    with pytest.raises(Conflict, match="moved on"):
        raise_floor(head, base, numbers[1], numbers[1], [])
    head = raise_floor(head, base, numbers[2], numbers[2] + 5, [])
    assert head.timelines[base].floor == numbers[2]
    assert raise_floor(head, base, numbers[2], numbers[0], []).timelines[base].floor == numbers[2]


def test_a_timeline_that_is_the_base_of_an_overlay_is_not_dropped():
    head, base, numbers = repository()
    head, branch = new_timeline(head, "r", "refs/heads/dev")
    head, _ = moved(head, branch, "d0", base=(base, numbers[2]))
    head, rebuilt = new_timeline(head, "r")
    head, _ = moved(head, rebuilt, "c9", default=True)
    with pytest.raises(Conflict, match="overlay lies on"):
        drop_timeline(head, base)
    assert base not in drop_timeline(drop_timeline(head, branch), base).timelines


def test_dropping_an_overlay_releases_its_base():
    head, base, numbers = repository()
    head, overlay = new_timeline(head, "r", "refs/heads/dev")
    head, _ = moved(head, overlay, "d0", base=(base, numbers[2]))
    head, whole = new_timeline(head, "r", "refs/heads/dev")
    head, _ = moved(head, whole, "d1")
    head = drop_timeline(head, overlay)
    assert set(head.timelines) == {base, whole}
    assert not head.pinned(base)


def test_the_mask_of_an_overlay_applies_only_to_its_base():
    head, base, numbers = repository()
    head, branch = new_timeline(head, "r", "refs/heads/dev")
    head, number = begin(head, branch, "me", (base, numbers[1]))
    record = TransactionRecord(
        branch, number, "r", "dev", "d0", "", 1, "", base_timeline=base, base_number=numbers[1], mask=("a", "b")
    )
    draft = draft_snapshot(head, record)
    assert draft.layers == (
        Layer((branch,), number, frozenset()),
        Layer((base,), numbers[1], frozenset(), frozenset({"a", "b"})),
    )
    assert version_snapshot(publish(head, branch, "me", number, "d0"), record) == draft
    assert len(version_layers(TransactionRecord(base, 2, "r", "main", "c0", "", 1, ""), frozenset())) == 1


def test_the_default_branch_can_be_renamed():
    head, base, _ = repository()
    assert head.default_branch("r") == ""
    head, number = begin(head, base, "me")
    head = publish(head, base, "me", number, "c7", branch="main")
    assert rename_default(head, "r", "main") is head
    renamed = rename_default(head, "r", "trunk")
    assert (head.default_branch("r"), renamed.default_branch("r")) == ("main", "trunk")
    assert Head.from_json(renamed.to_json()) == renamed
    assert rename_default(head, "unknown", "trunk") is head


def test_a_timeline_that_lost_its_version_is_marked_as_gone():
    head, _, _ = repository()
    head, whole = new_timeline(head, "r", "refs/heads/dev")
    head, _ = moved(head, whole, "d1")
    head = drop_name(head, whole)
    assert (head.timelines[whole].gone, head.timelines[whole].ref) == (True, "")
    assert Head.from_json(head.to_json()) == head
