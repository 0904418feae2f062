"""How often each event happens in a schedule: drawn by seed, so that every rare event is common in some schedules."""

import random
from dataclasses import dataclass, replace

# Branches come and go over a base that moves and is collected while readers use them: all of this must be common.
BRANCHES = {
    "steps": 900,
    "repos": ("r",),
    "refs": ("", "", "x"),
    "paths": ("a", "b", "c", "d"),
    "pushes": 0.1,
    "deletions": 0.08,
    "runs": 0.12,
    "rebuilds": 0.0,
    "reads": 0.15,
    "overlay_reads": 0.9,
    "collections": 0.05,
    "refreshes": 0.1,
    "stalls": 0.003,
    "deaths": 0.0,
}
# Workers stall for a long time while others publish their transactions and collect.
SLEEPERS = {
    "steps": 900,
    "repos": ("r",),
    "refs": ("", "x"),
    "paths": ("a", "b"),
    "pushes": 0.03,
    "deletions": 0.0,
    "runs": 0.12,
    "rebuilds": 0.0,
    "reads": 0.08,
    "overlay_reads": 0.0,
    "collections": 0.08,
    "refreshes": 0.1,
    "stalls": 0.08,
    "deaths": 0.01,
    "losses": 0.0,
}


@dataclass(frozen=True)
class Habits:
    """Chances at each step of the schedule; ``redeliveries`` and ``losses`` are chances for each batch."""

    steps: int
    repos: tuple[str, ...]
    refs: tuple[str, ...]
    paths: tuple[str, ...]
    pushes: float
    deletions: float
    runs: float
    rebuilds: float
    reads: float
    overlay_reads: float
    collections: float
    refreshes: float
    stalls: float
    deaths: float
    redeliveries: float
    losses: float

    @classmethod
    def drawn(cls, chance: random.Random) -> "Habits":
        habits = cls._any(chance)
        return replace(habits, **chance.choice(({}, {}, BRANCHES, SLEEPERS)))

    @classmethod
    def _any(cls, chance: random.Random) -> "Habits":
        return cls(
            steps=chance.choice((400, 600, 900)),
            repos=chance.choice((("r",), ("r", "r", "r", "s"))),
            refs=chance.choice((("",), ("", "x"), ("", "x", "y"))),
            paths=chance.choice((("a", "b"), ("a", "b", "c", "d"))),
            pushes=chance.choice((0.01, 0.03, 0.1)),
            deletions=chance.choice((0.0, 0.003, 0.03)),
            runs=chance.choice((0.03, 0.06, 0.12)),
            rebuilds=chance.choice((0.0, 0.1, 0.3)),
            reads=chance.choice((0.03, 0.08, 0.15)),
            overlay_reads=chance.choice((0.0, 0.9)),
            collections=chance.choice((0.0, 0.01, 0.05, 0.12)),
            refreshes=chance.choice((0.01, 0.1)),
            stalls=chance.choice((0.003, 0.02, 0.08)),
            deaths=chance.choice((0.0, 0.005, 0.02)),
            redeliveries=chance.choice((0.0, 0.3)),
            losses=chance.choice((0.0, 0.05)),
        )
