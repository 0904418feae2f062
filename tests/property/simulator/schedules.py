"""Random schedules: which actor takes the next step, which ones stall and for how long, and which ones die."""

import random
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from tests.property.simulator.collecting import collect
from tests.property.simulator.habits import Habits
from tests.property.simulator.readers import audit, read_head, read_version
from tests.property.simulator.rules import Rule
from tests.property.simulator.world import Steps, Violation, World
from tests.property.simulator.writers import Worker

STALLS = (5, 30, 100, 250, 400)
MOST_ACTORS = 14


@dataclass(frozen=True)
class Outcome:
    """The end of a schedule: the violation that a reader saw, or an empty string, and the number of each event."""

    violation: str
    events: Counter[str]


@dataclass
class Actor:
    """A running actor; ``wakes`` is the time of its next step."""

    steps: Steps
    name: str = ""
    wakes: int = 0


@dataclass
class Schedule:
    """One run of the simulator, determined by its seed."""

    world: World
    chance: random.Random
    habits: Habits
    actors: list[Actor] = field(default_factory=list)

    def run(self) -> None:
        self.world.push("r", "")
        self.world.push("s", "")
        for _ in range(2):
            self.add_worker("")
        for _ in range(self.habits.steps):
            self.meddle()
            self.step()
        audit(self.world)

    def meddle(self) -> None:
        """Cause events from outside the index: pushes, deletions, refreshes, new workers, readers and collectors."""
        chance, world, habits = self.chance, self.world, self.habits
        if chance.random() < habits.pushes:
            world.push(chance.choice(habits.repos), chance.choice(habits.refs))
        if chance.random() < habits.deletions:
            self.delete_branch(chance.choice(habits.repos), chance.choice(("x", "y")))
        if chance.random() < habits.refreshes:
            world.rows.refresh()
        if len(self.actors) >= MOST_ACTORS:
            return
        if chance.random() < habits.runs:
            self.add_worker(chance.choice(habits.refs))
        if chance.random() < habits.reads:
            self.spawn(chance.choice((read_head, read_version))(world))
        if chance.random() < habits.collections:
            self.spawn(collect(world))

    def delete_branch(self, repo: str, ref: str) -> None:
        if self.world.origin.pop((repo, ref), None) is not None:
            self.add_worker(ref, repo)

    def add_worker(self, ref: str, repo: str = "") -> None:
        chance = self.chance
        full = chance.random() < self.habits.rebuilds
        worker = Worker(self.world, repo or chance.choice(self.habits.repos), ref, full, self.spawn)
        self.actors.append(Actor(worker.run(), worker.name))

    def spawn(self, steps: Steps) -> None:
        self.actors.append(Actor(steps))

    def step(self) -> None:
        """Let a random actor that is awake take one step; if all sleep, advance the clock to the first that wakes."""
        world, chance = self.world, self.chance
        world.clock += 1
        awake = [actor for actor in self.actors if actor.wakes <= world.clock]
        if not awake:
            world.clock = min((actor.wakes for actor in self.actors), default=world.clock)
            return
        actor = chance.choice(awake)
        fate = chance.random()
        if fate < self.habits.stalls:
            actor.wakes = world.clock + chance.choice(STALLS)
            return
        if fate < self.habits.stalls + self.habits.deaths and actor.name:
            self.kill(actor)
            return
        try:
            actor.wakes = next(actor.steps) or 0
        except StopIteration:
            self.actors.remove(actor)
            world.gone.add(actor.name)

    def kill(self, actor: Actor) -> None:
        """Stop a worker for good; for half of them others see at once that they are gone, as on the same machine."""
        self.actors.remove(actor)
        self.world.events["killed"] += 1
        if self.chance.random() < 0.5:
            self.world.gone.add(actor.name)


def simulate(seed: int, left_out: Collection[Rule] = ()) -> Outcome:
    """Run the schedule of a seed without some of the rules.

    Batches are lost only if rows are counted or nothing else is left out, because the effect of a lost batch is known.
    """
    chance = random.Random(seed)
    habits = Habits.drawn(chance)
    if Rule.ROWS_COUNTED in left_out and len(left_out) > 1:
        habits = replace(habits, losses=0.0)
    world = World(chance, frozenset(left_out), habits)
    try:
        Schedule(world, chance, habits).run()
    except Violation as violation:
        return Outcome(str(violation), world.events)
    return Outcome("", world.events)
