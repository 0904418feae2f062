"""What a transaction must write and retire, found by comparing a tree and its verdicts with the live records."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from codequarry.ingest.files.scan import FileTask
from codequarry.shared.model import INDEXED, FileRecord
from codequarry.shared.secret_counts import SecretCounts


@dataclass(frozen=True, slots=True)
class TransactionPlan:
    """``changed`` files are written, rows and records of ``retired`` paths are retired, and ``kept`` files stay.

    ``removed`` counts the retired paths that the tree no longer has. ``kept_verdicts`` counts the verdicts of kept
    files, and ``kept_secrets`` the secrets masked in them.
    """

    changed: tuple[FileTask, ...]
    retired: frozenset[str]
    removed: int
    kept: int
    kept_verdicts: Mapping[str, int]
    kept_secrets: SecretCounts = field(default_factory=SecretCounts)

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to write or retire."""
        return not self.changed and not self.retired

    @property
    def paths(self) -> int:
        """The number of paths in which the two sides differ."""
        return len(self.changed) + self.removed


def make_plan(
    tasks: Iterable[FileTask], live: Iterable[FileRecord], forced: Collection[str] = frozenset()
) -> TransactionPlan:
    """Compare a commit's files with the live records (rule 4); files at ``forced`` paths are always replaced."""
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
