"""The collector: raises a floor, waits, deletes rows that can't be read any more, and drops unused timelines."""

from codequarry.shared.errors import Conflict
from codequarry.shared.versions import transactions
from codequarry.shared.versions.head import Head
from tests.property.simulator.chores import drop
from tests.property.simulator.rules import Rule
from tests.property.simulator.world import GRACE, Steps, World


def collect(world: World) -> Steps:
    """Collect one timeline once, keeping its newest commits."""
    yield
    head = world.head
    timelines = [key for key in head.timelines if world.retained(head, key)]
    if not timelines:
        return
    timeline = world.chance.choice(timelines)
    state = head.timelines[timeline]
    if not state.ref and timeline not in head.defaults.values() and world.chance.random() < 0.4:
        yield from drop(world, timeline)
        return
    floor = world.retained(head, timeline)[-world.chance.randint(1, 2) :][0]
    if world.keeps(Rule.FLOOR_FIRST):
        head = yield from _raise_floor(world, timeline, state.published, floor)
        if head is None:
            return
        floor = head.timelines[timeline].floor
    pins = head.pinned(timeline)
    if world.keeps(Rule.GRACE):
        yield world.clock + GRACE + 1
    if not world.keeps(Rule.PINS_BEFORE_GRACE):
        pins = world.head.pinned(timeline)
    after = -1
    for until in sorted({*_below(world, pins, floor), floor}):
        yield from world.rows.collect(timeline, after, until, head.aborted)
        after = until
    world.events["collected"] += 1
    if not world.keeps(Rule.FLOOR_FIRST):
        yield from _raise_floor(world, timeline, state.published, floor)


def _below(world: World, pins: frozenset[int], floor: int) -> set[int]:
    return {pin for pin in pins if pin < floor} if world.keeps(Rule.PINS_ARE_SPARED) else set()


def _raise_floor(world: World, timeline: int, published: int, floor: int) -> Steps:
    """Raise the floor and release the pins of transactions below it; return the new head, or None on a conflict."""
    yield
    kept = [number for number in world.published[timeline] if floor <= number <= published]
    records = [world.records.get((timeline, number)) for number in kept]
    pins = {record.base for record in records if record and record.base}

    def change(head: Head) -> tuple[Head, Head]:
        state = head.timelines.get(timeline)
        newest = published
        if not world.keeps(Rule.PINS_OF_NEWEST) and state:
            newest = state.published
        changed = transactions.raise_floor(head, timeline, newest, floor, pins)
        return changed, changed

    try:
        return (yield from world.change(change))
    except Conflict:
        return None
