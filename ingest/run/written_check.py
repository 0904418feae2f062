"""Checks what a transaction wrote, and sums up what it will publish."""

from collections import Counter
from collections.abc import Collection

from codequarry.ingest.run.commit_log import WrittenLog
from codequarry.ingest.transaction.lease import Held
from codequarry.ingest.transaction.plan import skips
from codequarry.ingest.transaction.run_report import Run, RunWork
from codequarry.ingest.transaction.written import Written
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import Summary, save_summary
from codequarry.shared.errors import StoreError
from codequarry.shared.model import INDEXED, Filters
from codequarry.shared.secret_counts import SecretCounts
from codequarry.shared.versions.commit_log import log_timeline
from codequarry.shared.versions.snapshots import draft_snapshot
from codequarry.shared.versions.transactions import TransactionRecord


class Miscounted(StoreError):
    """The store does not hold what the transaction wrote."""


def check_files(run: Run, held: Held, work: RunWork, done: Written) -> None:
    """Raise Miscounted unless the store holds what was planned, and no old rows on the changed paths (rule 6)."""
    plan = work.plan
    rows = done.rows + sum(file.rows for file in work.before.values())
    _check(run, held, held.timeline, plan.retired, rows, len(plan.changed), "files", " on the changed paths")


def check_commits(run: Run, held: Held, log: WrittenLog) -> None:
    """Raise Miscounted unless the store holds the commits that were written, and none of those that were lost."""
    timeline = log_timeline(held.timeline)
    _check(run, held, timeline, log.plan.retired, log.rows, log.files, "documents of commits")


def _check(
    run: Run,
    held: Held,
    timeline: int,
    retired: Collection[str],
    rows: int,
    files: int,
    what: str,
    place: str = "",
) -> None:
    store = run.workshop.store
    tally = store.tally(timeline, held.number, retired, read_head(store).aborted)
    if (tally.rows, tally.files, tally.retirable) != (rows, files, 0):
        raise Miscounted(
            f"transaction {held.number} wrote {tally.rows} rows of {tally.files} {what} instead of {rows} of {files}, "
            f"and left {tally.retirable} old rows{place}; it was undone, so run again"
        )


def summarise(run: Run, record: TransactionRecord, work: RunWork, done: Written) -> Summary:
    """Save and return what the transaction's version holds: the files by verdict, chunks, and masked secrets."""
    store = run.workshop.store
    verdicts = Counter(work.plan.kept_verdicts) + done.verdicts
    verdicts += Counter(file.verdict for file in work.before.values())
    verdicts += Counter(work.base.plan.kept_verdicts if work.base else {})
    chunks = store.count(draft_snapshot(read_head(store), record), Filters())
    secrets = work.plan.kept_secrets + done.secrets
    secrets += SecretCounts.of_details(file.detail for file in work.before.values())
    secrets += work.base.plan.kept_secrets if work.base else SecretCounts()
    files, skipped = verdicts[INDEXED], skips(verdicts)
    summary = Summary(record.timeline, record.number, files, chunks, skipped, secrets.by_rule, secrets.files)
    save_summary(store, summary)
    return summary
