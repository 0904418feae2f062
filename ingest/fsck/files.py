"""Compares the files of a version with git, by path, blob and verdict. Pure functions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from codequarry.ingest.files.scan import FileTask
from codequarry.shared.catalog.ledger import INCOMPLETE
from codequarry.shared.model import FileRecord

InconsistencyKind = Literal[
    "missing", "extra", "blob", "verdict", "doubled", "rows", "text",
    "counter", "open", "leftover", "chore", "pin", "base", "vectors", "storage", "log",
]  # fmt: skip

KINDS: dict[InconsistencyKind, str] = {
    "missing": "the path is in git but not in the index",
    "extra": "the path is in the index but not in git",
    "blob": "the index has a different blob at the path",
    "verdict": "the file's verdict in the index differs from the verdict that the rules give",
    "doubled": "the index has more than one file version at the path",
    "rows": "the number of chunk rows differs from the file record",
    "text": "a chunk's text differs from the file at its lines, or a line is in no chunk",
    "counter": "a row is newer than the head document",
    "open": "a transaction is open, but no run is working on it",
    "leftover": "an aborted transaction still has rows",
    "chore": "a noted clean-up is due but not done",
    "pin": "the base of an overlay is not pinned",
    "base": "the base of an overlay is gone",
    "vectors": "vectors differ from what was written, in any repository",
    "log": "the commits in the index differ from the version's history, or parts of them are missing",
    "storage": "the store itself is damaged; codequarry fsck --repair rebuilds it",
}
"""The kinds of problem, and what each means."""

# Both depend on more than the file: on how long the chunker took, and on what the embedding model refused.
UNCHECKABLE_VERDICTS = frozenset({"chunker-failed", "embedder-refused"})


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """A problem; ``path`` is empty if the problem does not concern a single file."""

    kind: InconsistencyKind
    path: str
    detail: str


Counts = Mapping[tuple[str, str], int]
"""Number of live chunk rows by (path, blob)."""


def check_files(
    tasks: Iterable[FileTask], records: Iterable[FileRecord], counts: Counts, *, same_rules: bool
) -> list[Inconsistency]:
    """Compare a commit's files with the index, verdicts only if ``same_rules``; return the problems sorted by path."""
    found: dict[str, list[FileRecord]] = {}
    for record in records:
        found.setdefault(record.path, []).append(record)
    in_tree = {task.path: task for task in tasks}
    problems = [Inconsistency("missing", path, f"blob {in_tree[path].blob}") for path in in_tree.keys() - found.keys()]
    for path, versions in found.items():
        problems += _check_path(in_tree.get(path), versions, same_rules=same_rules)
    problems += _check_rows(found, counts)
    return sorted(problems, key=lambda problem: (problem.path, problem.kind))


def _check_path(task: FileTask | None, versions: Sequence[FileRecord], *, same_rules: bool) -> Iterator[Inconsistency]:
    path = versions[0].path
    if task is None:
        yield Inconsistency("extra", path, f"blob {versions[0].blob}, written by transaction {versions[0].born}")
        return
    if len(versions) > 1:
        listed = ", ".join(f"{record.blob} by transaction {record.born}" for record in versions)
        yield Inconsistency("doubled", path, f"{len(versions)} file versions: {listed}")
    for record in versions:
        if record.blob != task.blob:
            yield Inconsistency("blob", path, f"the index has {record.blob}, git has {task.blob}")
        elif same_rules and (wrong := _wrong_verdict(task, record)):
            yield Inconsistency("verdict", path, wrong)


def _wrong_verdict(task: FileTask, record: FileRecord) -> str:
    """Return what is wrong with a verdict, as far as the path decides it, or "" if nothing is."""
    if task.skip and record.verdict != task.skip:
        return f"the index says {record.verdict}, the rules say {task.skip}"
    if record.rules.removesuffix(INCOMPLETE) != task.rules:
        return f"the index says {record.verdict} by rules {record.rules}, the rules are now {task.rules}"
    return ""


def _check_rows(found: Mapping[str, Sequence[FileRecord]], counts: Counts) -> Iterator[Inconsistency]:
    expected: Counter[tuple[str, str]] = Counter()
    for versions in found.values():
        for record in versions:
            expected[record.path, record.blob] += record.rows
    for path, blob in sorted(expected.keys() | counts.keys()):
        rows, planned = counts.get((path, blob), 0), expected[path, blob]
        if rows != planned:
            yield Inconsistency("rows", path, f"{rows} chunk rows of blob {blob}, but the file record says {planned}")


def is_readable(record: FileRecord, task: FileTask | None) -> bool:
    """Return whether reading the blob can check more: the record has this blob, and its verdict required reading it."""
    return (
        task is not None
        and task.blob == record.blob
        and task.skip is None
        and record.verdict not in UNCHECKABLE_VERDICTS
    )
