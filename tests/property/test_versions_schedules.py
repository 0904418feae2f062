"""The rules of docs/versioned-index.md under random schedules: with all of them, and with rules left out."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from tests.property.simulator.chores import drop
from tests.property.simulator.collecting import collect
from tests.property.simulator.habits import BRANCHES, Habits
from tests.property.simulator.readers import check_version
from tests.property.simulator.rules import Rule
from tests.property.simulator.schedules import simulate
from tests.property.simulator.world import Violation, World
from tests.property.simulator.writers import Worker

SCHEDULES = 2_000
# Number of schedules that a search for a violation tries.
SEARCHED = 1_000
# Events that must be frequent; otherwise the schedules would prove little.
EVENTS = (
    "read",
    "published",
    "published an overlay",
    "collected",
    "dropped",
    "killed",
    "taken over",
    "resumed",
    "silent run undone",
    "aborted",
    "undo finished by another",
    "lost its lease",
    "redelivered",
    "batch lost",
    "tally differed",
    "publication refused",
)


def test_no_schedule_breaks_the_rules():
    """Every reader sees exactly the contents of its published commit, whichever actors stall, die or come late."""
    events: Counter[str] = Counter()
    for seed in range(SCHEDULES):
        outcome = simulate(seed)
        assert not outcome.violation, f"seed {seed}: {outcome.violation}"
        events += outcome.events
    assert {event: events[event] for event in EVENTS if events[event] < 100} == {}


# The rules left out, and the seed from which to search, where a violation was found before. If two rules are left out,
# either of them alone keeps the damage of the other from being published or seen.
CASES = (
    ((Rule.OWN_IDS, Rule.CREATE_ONLY), 0),
    ((Rule.OWN_IDS, Rule.ROWS_COUNTED), 0),
    ((Rule.CREATE_ONLY, Rule.BATCH_NEEDS_OPEN_NUMBER), 2),
    ((Rule.BATCH_NEEDS_OPEN_NUMBER,), 55),
    ((Rule.RETIRE_OLDER_ONLY,), 0),
    ((Rule.RETIRE_LIVING_ONLY,), 0),
    ((Rule.RETIRE_AGAIN_AFTER_ABORT, Rule.RETIRED_COUNTED), 0),
    ((Rule.COMPARE_AND_SET,), 3),
    ((Rule.OPEN_WITH_NUMBER,), 4),
    ((Rule.RECORD_FIRST,), 3),
    ((Rule.REFRESH_FIRST, Rule.ROWS_COUNTED), 0),
    ((Rule.ROWS_COUNTED,), 0),
    ((Rule.LEASE_TO_PUBLISH,), 2),
    ((Rule.FIXED_TARGET,), 20),
    ((Rule.SILENT_IS_NOT_RESUMED,), 132),
    ((Rule.GIVEN_UP_WITH_LEASE,), 29_119),
    ((Rule.ABORT_FIRST,), 5),
    ((Rule.UNDO_REVIVES, Rule.ABORTED_IS_SPARED), 0),
    ((Rule.ABORTED_FOR_EVER,), 0),
    ((Rule.HIDDEN_RETIRES_NOTHING,), 0),
    ((Rule.LOOKED_UP_ONCE,), 0),
    ((Rule.NEW_BRANCH_NEW_TIMELINE,), 5),
    ((Rule.MASK_OF_BASE_ALONE,), 2),
    ((Rule.BASE_IS_NO_OVERLAY,), 60),
    ((Rule.PINNED_WITH_NUMBER,), 37),
    ((Rule.PINNED_IS_NOT_DROPPED,), 103),
    ((Rule.PINS_ARE_SPARED,), 3),
    ((Rule.PINS_OF_NEWEST,), 199),
    ((Rule.FLOOR_FIRST,), 0),
    ((Rule.ABORTED_IS_SPARED,), 55),
    ((Rule.GRACE,), 15),
)


@pytest.mark.parametrize(("left_out", "start"), CASES)
def test_without_a_rule_some_schedule_has_a_violation(left_out, start):
    """This shows that the simulator notices a broken rule."""
    assert any(simulate(seed, left_out).violation for seed in range(start, start + SEARCHED))


def test_every_rule_is_left_out_once():
    tried = {rule for left_out, _ in CASES for rule in left_out} | {Rule.PINS_BEFORE_GRACE}
    assert tried == set(Rule)


class Stage:
    """A world in which the test decides which actor takes the next step."""

    def __init__(self, *left_out: Rule) -> None:
        chance = random.Random(0)
        self.world = World(chance, frozenset(left_out), replace(Habits.drawn(chance), **BRANCHES, losses=0.0))
        self.world.trees = [{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 2}]

    def finish(self, steps) -> None:
        for wakes in steps:
            self.world.clock = max(self.world.clock, wakes or 0)

    def index(self, ref: str, commit: int) -> None:
        self.world.origin["r", ref] = commit
        self.finish(Worker(self.world, "r", ref, full=False, spawn=list).run())


@pytest.mark.parametrize("left_out", [(), (Rule.PINS_BEFORE_GRACE,)])
def test_a_pin_released_during_the_grace_still_counts(left_out):
    """A branch is deleted while a reader uses it and a collector waits: too rare for random schedules."""
    stage = Stage(*left_out)
    world = stage.world
    stage.index("", 0)
    while not any(state.pins for state in world.head.timelines.values()):
        stage.index("x", 1)
    (base,) = world.head.defaults.values()
    (branch,) = (key for key, state in world.head.timelines.items() if state.ref)
    stage.index("", 1)
    stage.index("", 2)
    world.chance.seed(next(seed for seed in range(100) if _chooses(world, seed, base)))
    collector = collect(world)
    while not (wakes := next(collector)):
        pass
    world.clock = wakes - 2
    reader = check_version(world, world.head, branch, world.head.timelines[branch].published)
    next(reader)
    dropping = drop(world, branch)
    while branch in world.head.timelines:
        next(dropping)
    world.clock = wakes
    stage.finish(collector)
    world.rows.refresh()
    if left_out:
        with pytest.raises(Violation):
            stage.finish(reader)
    else:
        stage.finish(reader)


def _chooses(world: World, seed: int, timeline: int) -> bool:
    """Return whether a collector with this seed takes the timeline and keeps only its newest commit."""
    chance = random.Random(seed)
    known = [key for key in world.head.timelines if world.retained(world.head, key)]
    return chance.choice(known) == timeline and chance.randint(1, 2) == 1
