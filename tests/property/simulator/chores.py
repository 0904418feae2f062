"""Undoing, dropping and purging, recorded before they begin so that the next run can finish them."""

from dataclasses import replace

from codequarry.shared.errors import Conflict
from codequarry.shared.versions import transactions
from codequarry.shared.versions.head import Head
from tests.property.simulator.rules import Rule
from tests.property.simulator.world import GRACE, Steps, World, unless_conflict


def abandon(world: World, timeline: int, number: int, holder: str) -> Steps:
    """Abort a transaction and undo its writes."""
    world.undos.add((timeline, number))
    if not world.keeps(Rule.ABORT_FIRST):
        yield from undo(world, timeline, number)
    yield from world.change(lambda head: (transactions.abort(head, timeline, holder, number), None))
    world.events["aborted"] += 1
    yield from undo(world, timeline, number)


def undo(world: World, timeline: int, number: int) -> Steps:
    yield from world.rows.undo(timeline, number)
    if not world.keeps(Rule.ABORTED_FOR_EVER):
        yield from world.change(lambda head: (replace(head, aborted=head.aborted - {number}), None))
    yield
    world.undos.discard((timeline, number))


def discard(world: World, timeline: int, number: int, holder: str) -> Steps:
    """Drop a timeline that nobody has seen."""

    def change(head: Head) -> tuple[Head, None]:
        transactions.check_held(head, timeline, holder, number)
        return transactions.drop_timeline(head, timeline), None

    world.purges.add(timeline)
    if (yield from unless_conflict(world.change(change))):
        yield from purge(world, timeline)


def drop(world: World, timeline: int) -> Steps:
    """Drop a timeline that readers may still use; its rows are purged after the grace period."""
    if (yield from drop_from_head(world, timeline)):
        world.events["dropped"] += 1
        yield from purge_later(world, timeline)


def end(world: World, timeline: int) -> Steps:
    """Make a published timeline a former timeline of its version; readers may still ask for its commits."""

    def change(head: Head) -> tuple[Head, None]:
        state = head.timelines.get(timeline)
        if state is None or not state.published or not state.ref:
            raise Conflict("another run was faster")
        if state.lease is not None:
            world.undos.add((timeline, state.lease.number))
        return transactions.retire_version(head, timeline, "2026-01-01"), None

    if (yield from unless_conflict(world.change(change))):
        world.events["ended"] += 1


def drop_from_head(world: World, timeline: int) -> Steps:
    def change(head: Head) -> tuple[Head, None]:
        if timeline not in head.timelines:
            raise Conflict("another run was faster")
        if not world.keeps(Rule.PINNED_IS_NOT_DROPPED):
            others = {key: _unpinned(state) if key != timeline else state for key, state in head.timelines.items()}
            bare = transactions.drop_timeline(replace(head, timelines=others), timeline)
            left = {key: state for key, state in head.timelines.items() if key != timeline}
            return replace(bare, timelines=left), None
        return transactions.drop_timeline(head, timeline), None

    world.purges.add(timeline)
    return (yield from unless_conflict(world.change(change)))


def _unpinned(state):
    lease = replace(state.lease, base=None) if state.lease else None
    return replace(state, pins=frozenset(), lease=lease)


def purge_later(world: World, timeline: int) -> Steps:
    """Purge a dropped timeline after the whole grace period, even if another run dropped it."""
    if world.keeps(Rule.GRACE):
        yield world.clock + GRACE + 1
    yield from purge(world, timeline)


def purge(world: World, timeline: int) -> Steps:
    yield from world.rows.purge(timeline)
    yield
    for key in [key for key in world.records if key[0] == timeline]:
        del world.records[key]
    world.purges.discard(timeline)


def finish_chores(world: World) -> Steps:
    """Finish the chores that other runs recorded but did not complete."""
    yield
    head = world.head
    for timeline, number in list(world.undos):
        if number in head.aborted:
            world.events["undo finished by another"] += 1
            yield from undo(world, timeline, number)
        elif number not in head.open:
            world.undos.discard((timeline, number))
    for timeline in list(world.purges):
        if timeline not in world.head.timelines:
            yield from purge_later(world, timeline)
        elif timeline in world.head.defaults.values():
            world.purges.discard(timeline)
