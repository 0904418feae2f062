"""All that the steps of one run share, and what it says at its end."""

import time
from dataclasses import dataclass

from codequarry.ingest.request.index_request import IndexReport, IndexRequest, TransactionKind, Workshop
from codequarry.ingest.request.progress import Watch
from codequarry.ingest.request.repository_entry import MirrorSeen
from codequarry.ingest.source.source import FileSource
from codequarry.ingest.transaction.bases import Base
from codequarry.ingest.transaction.plan import TransactionPlan
from codequarry.ingest.transaction.writer import Written
from codequarry.shared.catalog.repositories import Repository, Summary
from codequarry.shared.model import FileRecord

NO_PLAN = TransactionPlan((), frozenset(), 0, 0, {})


@dataclass(frozen=True, slots=True)
class Run:
    """One version of one repository on its way into the index; ``dropped`` are versions that its origin lost.

    One that ``is_first`` becomes the default branch if no other run is faster.
    """

    request: IndexRequest
    workshop: Workshop
    source: FileSource
    repository: Repository
    note: str
    mirror: MirrorSeen
    watch: Watch
    started: float
    dropped: tuple[str, ...] = ()
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class RunWork:
    """What one transaction does: ``plan`` compares the version with its own timeline, or what an overlay adds to it.

    ``before`` are the files that an interrupted run wrote for it.
    """

    plan: TransactionPlan
    base: Base | None
    before: dict[str, FileRecord]

    @property
    def paths(self) -> int:
        """In how many paths this version differs from its base, or from what was published."""
        return self.base.paths if self.base else self.plan.paths


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a run leaves published, and what was there before it."""

    summary: Summary
    previous: str
    changed: bool
    kind: TransactionKind
    base_commit: str = ""
    base_ref: str = ""
    base_paths: int = 0
    mask: int = 0


def report(
    run: Run,
    outcome: RunOutcome,
    plan: TransactionPlan = NO_PLAN,
    done: Written | None = None,
    *,
    resumed: bool = False,
) -> IndexReport:
    """Say what a run found and did."""
    done = done or Written()
    return IndexReport(
        repo=run.repository.name,
        ref=run.source.ref.name,
        commit=run.source.commit,
        previous_commit=outcome.previous,
        changed=outcome.changed,
        files_indexed=outcome.summary.files,
        files_changed=len(plan.changed),
        files_removed=plan.removed,
        skipped=dict(outcome.summary.skipped),
        chunks_written=done.chunks,
        chunks_live=outcome.summary.chunks,
        embedded=done.embedded,
        reused_embeddings=done.reused,
        tokens=done.tokens,
        seconds=time.monotonic() - run.started,
        resumed=resumed,
        full=run.request.full,
        name_note=run.note,
        kind=outcome.kind,
        key=run.source.key,
        base_ref=outcome.base_ref,
        base_commit=outcome.base_commit,
        base_paths=outcome.base_paths,
        mask=outcome.mask,
        dropped=run.dropped,
        masked_files=outcome.summary.masked_files,
        masked=dict(outcome.summary.masked),
    )
