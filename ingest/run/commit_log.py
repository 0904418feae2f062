"""The log of a transaction: which commits it brings and which it loses, their documents, and the check of both."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from codequarry.ingest.files.reader import ReadFile
from codequarry.ingest.files.reading_pool import Readers
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.git.ancestry import commits_of
from codequarry.ingest.git.commits import ReadCommit, read_commits
from codequarry.ingest.history.documents import commit_tasks
from codequarry.ingest.history.log_rules import LogRules
from codequarry.ingest.request.progress import Watch
from codequarry.ingest.transaction.lease import Heartbeat, Held
from codequarry.ingest.transaction.run_report import LogCounts, Run
from codequarry.ingest.transaction.writer import Writer
from codequarry.shared.catalog.ledger import read_head, read_transaction
from codequarry.shared.errors import GitError, StoreError
from codequarry.shared.model import FileRecord
from codequarry.shared.store.port import RowReader
from codequarry.shared.versions.commit_log import log_timeline, message_path
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.snapshots import snapshot_at
from codequarry.shared.versions.transactions import MAX_COMMITS, TransactionRecord


@dataclass(frozen=True, slots=True)
class LogPlan:
    """What a transaction does to its timeline's log.

    It writes the commits of ``tips`` (``^COMMIT`` excludes a history) except those that are ``known``, and retires the
    paths in ``retired``. ``digest`` and ``mask`` are ``log_rules`` and ``log_mask`` of the transaction's record.
    """

    rules: LogRules
    digest: str
    tips: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    retired: frozenset[str] = frozenset()
    mask: tuple[str, ...] | None = ()


@dataclass(frozen=True, slots=True)
class WrittenLog:
    """The documents of a transaction: those of this run, and those that an interrupted run had written before."""

    plan: LogPlan
    rows: int
    files: int
    counts: LogCounts


class HistoryChanged(StoreError):
    """The mirror no longer has the history that an interrupted run read, or has another one."""


def plan_log(
    run: Run, held: Held, base: TransactionRecord | None, new_commits: int, lost: Collection[str] | None
) -> LogPlan:
    """Decide what the transaction does to the log.

    ``new_commits`` is how many commits the previous commit lacked, and ``lost`` are those that only it had. Raise
    HistoryChanged if an interrupted run decided something else, which can no longer be done.
    """
    known = read_transaction(run.workshop.store, held.timeline, held.number) if held.resumed else None
    is_readable = (
        bool(new_commits) or run.source.commit == read_head(run.workshop.store).timelines[held.timeline].commit
    )
    plan = _decide(run, held, base, lost, is_readable=is_readable and (known is None or bool(known.log_rules)))
    if known and (known.log_rules, known.log_mask) != (plan.digest, plan.mask):
        raise HistoryChanged("the history of the commit changed while the run was interrupted; run again")
    return plan


def _decide(
    run: Run, held: Held, base: TransactionRecord | None, lost: Collection[str] | None, *, is_readable: bool
) -> LogPlan:
    store, commit = run.workshop.store, run.source.commit
    rules = LogRules.of(run.repository.name, run.workshop.settings, run.source.rules)
    head = read_head(store)
    state = head.timelines[held.timeline]
    before = read_transaction(store, held.timeline, state.published) if state.published else None
    if not rules.digest or not is_readable:
        # Without a digest, the next transaction writes the log anew, for example because the mirror has the commit.
        return LogPlan(rules, "", retired=_paths(_live(store, head, before)), mask=None)
    if before is None or before.log_rules != rules.digest:
        # Other rules make other documents: the log is written anew.
        tips, mask = _over_base(run, head, base, rules)
        return LogPlan(rules, rules.digest, tips, retired=_paths(_live(store, head, before)), mask=mask)
    live = _live(store, head, before) if base or before.base or lost is None or lost else []
    if base is None and before.base is None and lost is not None:
        tips = (commit, f"^{before.commit}") if before.commit != commit else ()
        return LogPlan(rules, rules.digest, tips, retired=_paths(live, lost))
    tips, mask = _over_base(run, head, base, rules)
    wanted = commits_of(run.source.mirror, *tips, most=rules.commits if base else None)
    gone = {file.blob for file in live}.difference(wanted or ())
    known = frozenset(file.blob for file in live) - gone
    return LogPlan(rules, rules.digest, tips, known, _paths(live, gone), mask)


def _over_base(
    run: Run, head: Head, base: TransactionRecord | None, rules: LogRules
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Return the commits of the version's own log, and the mask of the base's log, or None if that is not used.

    The base's log is a part of the version's if it has the same rules and few commits that the version lacks.
    """
    commit, mirror = run.source.commit, run.source.mirror
    if base is None:
        return (commit,), ()
    if base.log_rules != rules.digest:
        return (commit,), None
    lacking = commits_of(mirror, base.commit, f"^{commit}", most=MAX_COMMITS + 1)
    if lacking is None or len(lacking) > MAX_COMMITS:
        return (commit,), None
    mask = _paths(_live(run.workshop.store, head, base), lacking) if lacking else frozenset[str]()
    return (commit, f"^{base.commit}"), tuple(sorted(mask))


def _live(store: RowReader, head: Head, record: TransactionRecord | None) -> list[FileRecord]:
    """Return the records of the log of a record's own timeline, as of its transaction."""
    if record is None:
        return []
    return list(store.files(snapshot_at(head, log_timeline(record.timeline), record.number)))


def _paths(files: Collection[FileRecord], commits: Collection[str] | None = None) -> frozenset[str]:
    """Return the paths of the documents of ``commits``, or of all documents."""
    wanted = None if commits is None else frozenset(commits)
    return frozenset(file.path for file in files if wanted is None or file.blob in wanted)


def write_log(
    run: Run, held: Held, heartbeat: Heartbeat, plan: LogPlan, readers: Readers, spent_tokens: int
) -> WrittenLog:
    """Write the documents of the transaction's commits; those of an interrupted run are kept.

    ``spent_tokens`` were embedded for files; raise LimitExceeded if the commits need more than the request allows.
    """
    store = run.workshop.store
    log = replace(held, timeline=log_timeline(held.timeline))
    before = {file.path: file for file in store.written_files(log.timeline, log.number)} if held.resumed else {}
    kinds: Counter[bool] = Counter()

    def tasks() -> Iterator[FileTask]:
        for commit, diffs in _commits(run, plan):
            yield from (task for task in commit_tasks(commit, plan.rules, diffs=diffs) if task.path not in before)

    def read() -> Iterator[ReadFile]:
        for file in readers.read(tasks()):
            is_message = file.task.path == message_path(file.task.blob)
            if is_message or file.pieces:
                kinds[is_message] += 1
                yield file

    request, name = replace(run.request, max_chunks=None), run.repository.name
    writer = Writer(name, log, run.workshop, heartbeat, request, spent_tokens=spent_tokens, of_commits=True)
    written = writer.write(read(), Watch(store, lambda _: None, name, saves=False)) if plan.tips else writer.written
    rows = written.rows + sum(file.rows for file in before.values())
    counts = LogCounts(kinds[True], kinds[False], written.embedded, written.reused, written.tokens)
    return WrittenLog(plan, rows, written.files + len(before), counts)


def _commits(run: Run, plan: LogPlan) -> Iterator[tuple[ReadCommit, bool]]:
    """Yield the commits to write, newest first, and whether their changed lines are indexed."""
    if not plan.tips:
        return
    mirror, rules = run.source.mirror, plan.rules
    with_lines = min(rules.diffs, rules.commits)
    seen = 0
    try:
        for commit in read_commits(mirror, plan.tips, most=with_lines):
            seen += 1
            if commit.id not in plan.known:
                yield commit, True
    except GitError:
        # A partial clone lacks old files, and a huge commit takes too long: the messages of the rest can be read.
        with_lines = seen
    if seen < with_lines:
        return
    try:
        for commit in read_commits(mirror, plan.tips, most=rules.commits - with_lines, skip=with_lines, patches=False):
            if commit.id not in plan.known:
                yield commit, False
    except GitError:
        return
