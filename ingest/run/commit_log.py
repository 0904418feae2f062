"""The log of a transaction: which commits it brings and which it loses, their documents, and the check of both."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from codequarry.ingest.files.read_file import ReadFile
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
from codequarry.shared.errors import GitError, LimitExceeded, StoreError
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
    paths in ``retired``. ``digest`` and ``mask`` are ``log_rules`` and ``log_mask`` of the transaction's record. If the
    log is written ``is_anew``, the retired paths are those of all earlier documents.
    """

    rules: LogRules
    digest: str
    tips: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    retired: frozenset[str] = frozenset()
    mask: tuple[str, ...] | None = ()
    is_anew: bool = False


@dataclass(frozen=True, slots=True)
class WrittenLog:
    """The documents of a transaction: those of this run, and those that an interrupted run had written before.

    ``is_incomplete`` if git failed: the next transaction must write the log anew.
    """

    plan: LogPlan
    rows: int
    files: int
    counts: LogCounts
    is_incomplete: bool = False


class HistoryChanged(StoreError):
    """The mirror no longer has the history that an interrupted run read, or has another one."""


def plan_log(run: Run, held: Held, base: TransactionRecord | None, lost: Collection[str] | None) -> LogPlan:
    """Decide what the transaction does to the log; ``lost`` are the commits that only the previous commit had.

    Raise HistoryChanged if an interrupted run decided something else, which can no longer be done.
    """
    known = read_transaction(run.workshop.store, held.timeline, held.number) if held.resumed else None
    plan = _decide(run, held, base, lost, is_readable=known is None or bool(known.log_rules))
    if known and (known.log_rules, known.log_mask) != (plan.digest, plan.mask):
        raise HistoryChanged("the history of the commit changed while the run was interrupted; run again")
    return plan


def _decide(
    run: Run, held: Held, base: TransactionRecord | None, lost: Collection[str] | None, *, is_readable: bool
) -> LogPlan:
    store, mirror, commit = run.workshop.store, run.source.mirror, run.source.commit
    rules = LogRules.of(run.repository.name, run.workshop.settings, run.source.rules)
    head = read_head(store)
    state = head.timelines[held.timeline]
    before = read_transaction(store, held.timeline, state.published) if state.published else None
    if not rules.digest:
        return LogPlan(rules, "", retired=_paths(_live(store, head, before)), mask=None)
    # Without a digest, the log stays as it is, and the next transaction writes it anew.
    unreadable = LogPlan(rules, "", mask=None)
    if not is_readable or mirror.commit_of(commit) is None:
        return unreadable
    if before is None or before.log_rules != rules.digest:
        # Other rules make other documents: the log is written anew.
        tips, mask = _over_base(run, head, base, rules)
        return LogPlan(rules, rules.digest, tips, retired=_paths(_live(store, head, before)), mask=mask, is_anew=True)
    live = _live(store, head, before) if base or before.base or lost is None or lost else []
    if base is None and before.base is None and lost is not None:
        tips = (commit, f"^{before.commit}") if before.commit != commit else ()
        return LogPlan(rules, rules.digest, tips, retired=_paths(live, lost))
    tips, mask = _over_base(run, head, base, rules)
    wanted = commits_of(mirror, *tips, most=rules.commits if base else None)
    if wanted is None:
        return unreadable
    gone = {file.blob for file in live}.difference(wanted)
    known = frozenset(file.blob for file in live) - gone
    return LogPlan(rules, rules.digest, tips, known, _paths(live, gone), mask)


def _over_base(
    run: Run, head: Head, base: TransactionRecord | None, rules: LogRules
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Return the commits of the version's own log, and the mask of the base's log, or None if that is not used.

    The base's log is a part of the version's if it has the same rules and few commits that the version lacks: the base
    may have the newest commits only, of which many must be left, and among them the version's own.
    """
    commit, mirror = run.source.commit, run.source.mirror
    if base is None:
        return (commit,), ()
    if base.log_rules != rules.digest:
        return (commit,), None
    most = min(MAX_COMMITS, rules.commits // 2)
    lacking = commits_of(mirror, base.commit, f"^{commit}", most=most + 1)
    own = commits_of(mirror, commit, f"^{base.commit}", most=1)
    if lacking is None or own is None or len(lacking) > most:
        return (commit,), None
    live = _live(run.workshop.store, head, base) if lacking or not own else []
    if not own and message_path(commit) not in _paths(live):
        return (commit,), None
    mask = _paths(live, lacking) if lacking else frozenset[str]()
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
    commits = _CommitReader(run, plan)
    kinds: Counter[bool] = Counter()

    def tasks() -> Iterator[FileTask]:
        for commit, diffs in commits.read():
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
    if commits.has_failed and plan.is_anew:  # the earlier documents are better than none
        again = {file.path for file in store.written_files(log.timeline, log.number)}
        plan = replace(plan, retired=plan.retired & again)
    counts = LogCounts(
        kinds[True], kinds[False], written.embedded, written.reused, written.tokens, tuple(commits.problems)
    )
    return WrittenLog(plan, rows, written.files + len(before), counts, commits.has_failed)


class _CommitReader:
    """Reads the commits to write, and notes what could not be read."""

    def __init__(self, run: Run, plan: LogPlan) -> None:
        self._mirror, self._plan = run.source.mirror, plan
        self.problems: list[str] = []
        self.has_failed = False

    def read(self) -> Iterator[tuple[ReadCommit, bool]]:
        """Yield commits, newest first, and whether their changed lines are indexed."""
        if not self._plan.tips:
            return
        rules = self._plan.rules
        with_lines, seen = min(rules.diffs, rules.commits), 0
        try:
            for commit in read_commits(self._mirror, self._plan.tips, most=with_lines):
                seen += 1
                if commit.id not in self._plan.known:
                    yield commit, True
        except (GitError, LimitExceeded) as error:
            # A partial clone lacks old files, and a huge commit takes too long: the messages can still be read.
            self.problems.append(f"the changed lines of some commits are missing: {error}")
            with_lines = seen
        if seen < with_lines:
            return
        most = rules.commits - with_lines
        try:
            for commit in read_commits(self._mirror, self._plan.tips, most=most, skip=with_lines, patches=False):
                if commit.id not in self._plan.known:
                    yield commit, False
        except (GitError, LimitExceeded) as error:
            self.problems.append(f"some commits are missing: {error}")
            # Beyond a limit, the next transaction can read no more either.
            self.has_failed = isinstance(error, GitError)
