"""What a transaction has to write and to retire, found by comparing a tree and its verdicts with the live records."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from codequarry.ingest.files.scan import FileTask
from codequarry.shared.model import INDEXED, FileRecord
from codequarry.shared.secret_counts import SecretCounts


@dataclass(frozen=True, slots=True)
class TransactionPlan:
    """``changed`` files are written; the live rows and records of ``retired`` paths end; ``kept`` ones stay.

    ``removed`` of the retired paths are in the tree no more. ``kept_verdicts`` counts the verdicts of those that stay,
    ``kept_secrets`` what was masked in them.
    """

    changed: tuple[FileTask, ...]
    retired: frozenset[str]
    removed: int
    kept: int
    kept_verdicts: Mapping[str, int]
    kept_secrets: SecretCounts = field(default_factory=SecretCounts)

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing has to be written or retired."""
        return not self.changed and not self.retired

    @property
    def paths(self) -> int:
        """In how many paths the two sides differ."""
        return len(self.changed) + self.removed


def make_plan(
    tasks: Iterable[FileTask], live: Iterable[FileRecord], forced: Collection[str] = frozenset()
) -> TransactionPlan:
    """Compare a commit's files with the live records (rule 4); what lies at a ``forced`` path is replaced anyway."""
    records: dict[str, FileRecord] = {}
    doubled: set[str] = set()
    for record in live:
        if record.path in records:
            doubled.add(record.path)
        records[record.path] = record
    changed: list[FileTask] = []
    kept: Counter[str] = Counter()
    details: list[str] = []
    in_tree: set[str] = set()
    for task in tasks:
        in_tree.add(task.path)
        known = records.get(task.path)
        anew = task.path in doubled or task.path in forced
        if known and not anew and (known.blob, known.rules) == (task.blob, task.rules):
            kept[known.verdict] += 1
            details.append(known.detail)
        else:
            changed.append(task)
    removed = records.keys() - in_tree
    replaced = {task.path for task in changed if task.path in records}
    retired = frozenset(removed | replaced).union(forced)
    secrets = SecretCounts.of_details(filter(None, details))
    return TransactionPlan(tuple(changed), retired, len(removed), kept.total(), dict(kept), secrets)


def skips(verdicts: Mapping[str, int]) -> dict[str, int]:
    """Return the skipped files by reason, the most frequent first."""
    found = {reason: count for reason, count in verdicts.items() if reason != INDEXED and count}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
