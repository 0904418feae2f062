"""The shared state of a schedule's actors: the head document, the rows, the records, a clock, and the truth."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace

from codequarry.shared.errors import Conflict
from codequarry.shared.model import Layer, Snapshot
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.snapshots import version_snapshot
from codequarry.shared.versions.transactions import TransactionRecord
from tests.property.simulator.habits import Habits
from tests.property.simulator.rows import RECORD, Rows
from tests.property.simulator.rules import Rule

Tree = dict[str, int]
# What an actor yields: None to continue at its next turn, or the time at which it wakes.
Steps = Iterator[int | None]
# In steps of the whole schedule. No request takes longer than GRACE; a process may stall for any time.
GRACE = 60
LEASE = 40


class Violation(Exception):
    """A reader saw rows that no published commit holds, or did not see rows that its commit holds."""


@dataclass
class World:
    """One index and its origin. ``published`` and ``trees`` are the truth that readers are checked against."""

    chance: random.Random
    left_out: Collection[Rule]
    habits: Habits
    head: Head = field(default_factory=Head)
    clock: int = 0
    records: dict[tuple[int, int], TransactionRecord] = field(default_factory=dict)
    undos: set[tuple[int, int]] = field(default_factory=set)
    purges: set[int] = field(default_factory=set)
    trees: list[Tree] = field(default_factory=list)
    origin: dict[tuple[str, str], int] = field(default_factory=dict)
    published: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    commits: dict[int, int] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    names: int = 0
    events: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.rows = Rows(self.left_out)

    def keeps(self, rule: Rule) -> bool:
        return rule not in self.left_out

    def change(self, change: Callable[[Head], tuple[Head, object]]) -> Iterator[None]:
        """Change the head document as ``ledger.change_head`` does; exceptions of ``change`` propagate."""
        yield
        seen = self.head
        changed, result = change(seen)
        if not self.keeps(Rule.COMPARE_AND_SET):
            yield
        self.head = changed
        return result

    def new_name(self) -> str:
        self.names += 1
        return f"worker {self.names}"

    def push(self, repo: str, ref: str) -> None:
        """Move a version of the origin to a changed commit, back to an older commit, or to an unrelated commit."""
        chance = self.chance
        known = self.origin.get((repo, ref), self.origin.get((repo, "")))
        if known is not None and chance.random() < 0.2:
            self.origin[repo, ref] = chance.randrange(len(self.trees))
            return
        tree = dict(self.trees[known]) if known is not None and chance.random() < 0.85 else {}
        paths = self.habits.paths
        for path in chance.sample(paths, chance.randint(1, 2) if tree else len(paths) - 1):
            if path in tree and chance.random() < 0.3:
                del tree[path]
            else:
                tree[path] = chance.randint(1, 3)
        self.trees.append(tree)
        self.origin[repo, ref] = len(self.trees) - 1

    def note_published(self, timeline: int, number: int, commit: int) -> None:
        self.published[timeline].append(number)
        self.commits[number] = commit

    def retained(self, head: Head, timeline: int) -> list[int]:
        """Return the transactions of a timeline that readers with this head can ask for."""
        state = head.timelines[timeline]
        hidden = head.hidden
        return [n for n in self.published[timeline] if state.floor <= n <= state.published and n not in hidden]

    def snapshot_of(self, head: Head, timeline: int, number: int) -> Snapshot:
        record = self.records.get((timeline, number))
        if record is None:
            raise Violation(f"transaction {number} is published without a record")
        snapshot = version_snapshot(head, record)
        if self.keeps(Rule.MASK_OF_BASE_ALONE) or not record.mask:
            return snapshot
        return Snapshot(tuple(replace(layer, mask=frozenset(record.mask)) for layer in snapshot.layers))

    def records_in(self, snapshot: Snapshot) -> list[tuple[str, int]]:
        """Return path and blob of every live file record of a snapshot."""
        return [(row.path, row.blob) for row in self.rows.live(snapshot, self.habits.paths) if row.part == RECORD]

    def expected(self, commit: int) -> Counter[tuple[str, int]]:
        """Return the rows of a commit: the chunk row and the record of each file."""
        return Counter({(path, blob): 2 for path, blob in self.trees[commit].items()})


def own_layer(head: Head, timeline: int, number: int) -> Snapshot:
    return Snapshot((Layer((timeline,), number, head.hidden),))


def unless_conflict(steps: Steps) -> Iterator[int | None]:
    """Take the steps; return False if they end in a conflict."""
    try:
        yield from steps
    except Conflict:
        return False
    return True
