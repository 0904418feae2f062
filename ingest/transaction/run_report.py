"""State that the steps of one run share, and the report at its end."""

import time
from dataclasses import dataclass

from codequarry.ingest.request.index_request import IndexReport, IndexRequest, TransactionKind, Workshop
from codequarry.ingest.request.progress import Watch
from codequarry.ingest.request.repository_entry import MirrorSeen
from codequarry.ingest.source.source import FileSource
from codequarry.ingest.transaction.bases import Base
from codequarry.ingest.transaction.plan import TransactionPlan
from codequarry.ingest.transaction.written import Written
from codequarry.shared.catalog.repositories import Repository, Summary
from codequarry.shared.model import FileRecord

NO_PLAN = TransactionPlan((), frozenset(), 0, 0, {})


@dataclass(frozen=True, slots=True)
class Run:
    """One run over a version of a repository; ``dropped`` are the versions that its origin no longer has.

    If ``is_first``, the version becomes the default branch unless another run is faster.
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
    """The work of one transaction; ``plan`` compares the version, or its overlay's files, with its own timeline.

    ``before`` has the files that an interrupted run wrote for the transaction, by path.
    """

    plan: TransactionPlan
    base: Base | None
    before: dict[str, FileRecord]

    @property
    def paths(self) -> int:
        """The number of paths in which this version differs from its base, or from the published state."""
        return self.base.paths if self.base else self.plan.paths


@dataclass(frozen=True, slots=True)
class LogCounts:
    """The commits that a run added to the log, the changed files among their documents, and what embedding took.

    ``problems`` say what of the commits could not be read.
    """

    commits: int = 0
    diffs: int = 0
    embedded: int = 0
    reused: int = 0
    tokens: int = 0
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a run leaves published, and what was published before it."""

    summary: Summary
    previous: str
    changed: bool
    kind: TransactionKind
    base_commit: str = ""
    base_ref: str = ""
    base_paths: int = 0
    mask: int = 0
    log: LogCounts = LogCounts()


def report(
    run: Run,
    outcome: RunOutcome,
    plan: TransactionPlan = NO_PLAN,
    done: Written | None = None,
    *,
    resumed: bool = False,
) -> IndexReport:
    """Return the report of what a run found and did."""
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
        warnings=_warnings(run, outcome, done),
        log_commits=outcome.log.commits,
        log_diffs=outcome.log.diffs,
        log_embedded=outcome.log.embedded,
        log_reused=outcome.log.reused,
        log_tokens=outcome.log.tokens,
        commentary_made=done.described,
        commentary_reused=done.commentary_reused,
        commentary_missing=done.commentary_missing,
        commentary_tokens=done.commentary_tokens,
    )


def _warnings(run: Run, outcome: RunOutcome, done: Written) -> tuple[str, ...]:
    unread = filter(None, (done.history_problem, *outcome.log.problems))
    return (*run.source.rules.warnings, *unread, *_lacks_commentary(done))


def _lacks_commentary(done: Written) -> tuple[str, ...]:
    if not done.commentary_missing:
        return ()
    chunks = f"{done.commentary_missing:,} chunks have" if done.commentary_missing > 1 else "1 chunk has"
    why = f" ({done.commentary_problem})" if done.commentary_problem else ""
    return (f"{chunks} no commentary{why}; the next run of this command describes the rest",)
