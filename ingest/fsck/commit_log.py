"""Compares the log of a version with its history, and has a damaged log written again."""

from collections import Counter
from collections.abc import Iterator

from codequarry.ingest.fsck.files import Inconsistency
from codequarry.ingest.git.ancestry import commits_of
from codequarry.ingest.git.objects import Mirror
from codequarry.shared.catalog.ledger import INCOMPLETE, amend_transaction
from codequarry.shared.store.port import DocumentStore, RowReader
from codequarry.shared.versions.commit_log import message_path
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.snapshots import log_snapshot
from codequarry.shared.versions.transactions import TransactionRecord


def check_log(store: RowReader, head: Head, record: TransactionRecord, mirror: Mirror) -> Iterator[Inconsistency]:
    """Yield the problems of a version's log; nothing is expected of a version without one."""
    if not record.log_rules:
        return
    snapshot = log_snapshot(head, record)
    if record.log_rules.endswith(INCOMPLETE):
        yield Inconsistency("log", "", "git failed when the commits were indexed, so some are missing")
    files, counts = list(store.files(snapshot)), store.row_counts(snapshot)
    paths = Counter(file.path for file in files)
    if doubled := sum(times > 1 for times in paths.values()):
        yield Inconsistency("log", "", f"{doubled} documents of commits are there twice")
    expected = {(file.path, file.blob): file.rows for file in files if file.rows}
    if wrong := {place for place in expected.keys() | counts.keys() if expected.get(place) != counts.get(place)}:
        yield Inconsistency("log", "", f"{len(wrong)} documents of commits have other rows than their records")
    if message_path(record.commit) not in paths:
        yield Inconsistency("log", "", f"the message of {record.commit} is missing")
    history = commits_of(mirror, record.commit)
    if history is not None and (foreign := {file.blob for file in files}.difference(history)):
        yield Inconsistency("log", "", f"{len(foreign)} commits are not in the history of {record.commit}")


def note_incomplete(store: DocumentStore, record: TransactionRecord, *, log: bool = False) -> None:
    """Mark a commit so that the next import of its version compares all files, as if the rules had changed.

    With ``log``, that import also writes the log of its timeline again.
    """
    without_log = {"log_rules": ""} if log else {}
    amend_transaction(store, record, rules=record.rules.removesuffix(INCOMPLETE) + INCOMPLETE, **without_log)
