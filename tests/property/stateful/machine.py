"""The operations as a state machine, so that hypothesis chooses, repeats and shrinks them."""

import random
from collections import Counter
from typing import ClassVar

import hypothesis
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, get_state_machine_test, initialize, rule

from tests.property.stateful.operations import CHANGE_KINDS, OPERATIONS, RUN_KINDS, Turn
from tests.property.stateful.scene import Scene
from tests.property.stateful.sequence import Crash, Sequence

# From a wider range hypothesis draws small numbers far more often.
SEEDS = st.integers(0, 2**16 - 1)
MOMENTS = st.sampled_from(("before", "within", "after"))
METHODS = ("write_document", "delete_document", "cache_vectors", "create", "retire", "undo", "purge", "collect")
# Methods that few runs call; their first call is fatal.
SELDOM = ("cache_vectors", "create", "retire", "purge", "collect")
# A run has about twenty writes, a rebuild a few more. A run with fewer writes ends before it dies.
CRASHES = st.one_of(
    st.none(),
    st.tuples(st.integers(1, 24), MOMENTS, st.just("")),
    st.tuples(st.just(1), MOMENTS, st.sampled_from(SELDOM)),
)
# Changes between two runs.
MOST_CHANGES = 5


class VersionsMachine(RuleBasedStateMachine):
    """One sequence; ``scene`` and ``counts`` are shared by all sequences of a run."""

    scene: ClassVar[Scene]
    counts: ClassVar[Counter[str]]

    @initialize(seed=SEEDS)
    def begin(self, seed: int) -> None:
        self.sequence = Sequence(self.scene, self.counts, seed)
        self.left = list(RUN_KINDS)
        self.counts["sequences"] += 1

    @rule(seed=SEEDS, crash=CRASHES, again=st.booleans())
    def change_and_run(self, seed: int, crash: Crash | None, again: bool) -> None:
        chance = random.Random(seed)
        # Drawn evenly from the seed, because hypothesis itself hardly ever tries some kinds. No kind of run occurs
        # twice in a sequence.
        kinds = chance.choices(list(CHANGE_KINDS), k=chance.randint(1, MOST_CHANGES))
        kinds.append(self.left.pop(chance.randrange(len(self.left))))
        note(", ".join(kinds))
        for kind in kinds:
            OPERATIONS[kind](self.sequence, Turn(chance, crash, again))
        self.counts.update(kinds)

    def teardown(self) -> None:
        if hasattr(self, "sequence"):
            self.sequence.settle()


def run_sequences(
    scene: Scene, sequences: int, steps: int, *, seed: int = 0, shrink: bool = False, counts: Counter[str] | None = None
) -> Counter[str]:
    """Run this many sequences with at most this many runs each, and return how often each event happened.

    A failure prints its operations; ``shrink`` takes minutes. The same ``seed`` reproduces the same sequences.
    """
    counts = Counter() if counts is None else counts
    machine = type("Versions", (VersionsMachine,), {"scene": scene, "counts": counts})
    how = settings(
        max_examples=sequences,
        stateful_step_count=steps,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        # Sequences are slow and large by nature, so these checks say nothing about the test.
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    hypothesis.seed(seed)(get_state_machine_test(machine, settings=how))()
    return counts
