"""Plans, writes, checks and publishes one transaction."""

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from codequarry.ingest.files.reading_pool import Readers, most_processes, open_readers, reading_processes
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.git.ancestry import lost_commits, new_commits
from codequarry.ingest.git.file_log import paths_between
from codequarry.ingest.history.file_histories import DatingReaders, FileHistories
from codequarry.ingest.request.repository_entry import (
    RemovedMeanwhile,
    ensure_entry,
    has_timelines,
    retract_entry,
    retract_identity,
)
from codequarry.ingest.run.commit_log import HistoryChanged, LogPlan, WrittenLog, plan_log, write_log
from codequarry.ingest.run.freshness import note_fetch, observe_published
from codequarry.ingest.run.written_check import Miscounted, check_commits, check_files, summarise
from codequarry.ingest.shared_import.coordinator import HelperSilent, is_shared, write_shared
from codequarry.ingest.shared_import.share import SharedImport
from codequarry.ingest.transaction.acquisition import undo_transaction
from codequarry.ingest.transaction.bases import WORKSPACES
from codequarry.ingest.transaction.chores import drop_noted, note_purge, note_undo
from codequarry.ingest.transaction.expiry import aging_from
from codequarry.ingest.transaction.lease import Heartbeat, Held, release_lease
from codequarry.ingest.transaction.placement import Placer, current_timeline, timelines_of
from codequarry.ingest.transaction.plan import make_plan
from codequarry.ingest.transaction.run_report import Run, RunWork
from codequarry.ingest.transaction.version_removal import drafts_of, note_undos, retired, without_timelines
from codequarry.ingest.transaction.writer import Writer
from codequarry.ingest.transaction.written import Written
from codequarry.shared.catalog.ledger import INCOMPLETE, amend_transaction, read_head, record_transaction
from codequarry.shared.catalog.repositories import Summary, clear_progress, count_tokens
from codequarry.shared.errors import (
    CodequarryError,
    Conflict,
    LeaseHeld,
    LimitExceeded,
    ModelMismatch,
    Stopped,
)
from codequarry.shared.telemetry.metrics import count_transaction
from codequarry.shared.timestamps import now
from codequarry.shared.versions.commit_log import log_timeline
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import snapshot_at
from codequarry.shared.versions.transactions import TransactionRecord, check_held, publish

# Errors after which the next run can't use what was written.
NOT_RESUMED = (LimitExceeded, Stopped, ModelMismatch, Miscounted, RemovedMeanwhile, HelperSilent, HistoryChanged)


def transact(run: Run, held: Held, placer: Placer) -> tuple[RunWork, Written, WrittenLog, Summary]:
    """Write and publish one transaction."""
    store, watch = run.workshop.store, run.watch
    lease_seconds = run.workshop.settings.indexing.lease_seconds
    with Heartbeat(store, held, lease_seconds) as heartbeat, _close_on_failure(run, held):
        watch.say("scanning")
        ensure_entry(run.repository, run.workshop)
        if run.is_first:
            note_fetch(run)
        work = _plan(run, held, placer)
        record, log_plan = _record(run, held, work)
        record_transaction(store, record)
        watch.say("indexing")
        watch.expect(len(work.plan.changed), done=len(work.before))
        left = [task for task in work.plan.changed if task.path not in work.before]
        if held.resumed:
            SharedImport(store, held.timeline, held.number).clear()  # left by the interrupted run
        with closing(_open_readers(run, left, log_plan)) as readers:
            histories = _histories(run, left)
            dated = DatingReaders(readers, histories)
            done = _read_and_write(run, held, heartbeat, left, dated) if left else Written()
            done.history_problem = done.history_problem or histories.problem
            if log_plan.tips:
                watch.say("history")
            log = write_log(run, held, heartbeat, log_plan, readers, done.tokens)
        if done.commentary_missing or any(file.rules.endswith(INCOMPLETE) for file in work.before.values()):
            # The next run then compares all files, and finds those that lack commentary.
            amend_transaction(store, record, rules=record.rules + INCOMPLETE)
        if log.is_incomplete:
            amend_transaction(store, record, log_rules=record.log_rules + INCOMPLETE)
        watch.say("publishing")
        heartbeat.check()
        _retire(run, held, work, log.plan)
        check_files(run, held, work, done)
        check_commits(run, held, log)
        summary = summarise(run, record, work, done)
        count_tokens(store, run.repository, done.tokens + log.counts.tokens)
        ensure_entry(run.repository, run.workshop)
        heartbeat.check()
        _publish(run, held)
    count_transaction("published")
    observe_published(run)
    return work, done, log, summary


def _plan(run: Run, held: Held, placer: Placer) -> RunWork:
    """Compare the version with its own timeline; for an overlay, only the paths that differ from its base."""
    store = run.workshop.store
    head = read_head(store)
    base = placer.base_at(head, held.base) if held.base else None
    tasks = base.plan.changed if base else run.source.tasks
    state = check_held(head, held.timeline, held.holder, held.number)
    live = [] if held.new else list(store.files(snapshot_at(head, held.timeline, state.published)))
    # A file may have the same content by other commits: after a revert, or when its history was rewritten.
    touched = _touched(run, state.commit) if live and base is None else frozenset[str]()
    stale = touched.intersection(file.path for file in live).intersection(task.path for task in tasks)
    before = {file.path: file for file in store.written_files(held.timeline, held.number)} if held.resumed else {}
    # The interrupted run may have been asked to rewrite different paths from this run.
    return RunWork(make_plan(tasks, live, run.source.forced.union(before, stale)), base, before)


def _touched(run: Run, previous: str) -> frozenset[str]:
    """Return the paths whose history differs between the published commit and the wanted one."""
    if previous in ("", run.source.commit) or not run.workshop.settings.history.file_commits:
        return frozenset()
    return paths_between(run.source.mirror, previous, run.source.commit)


def _open_readers(run: Run, tasks: list[FileTask], log: LogPlan) -> Readers:
    settings = run.workshop.settings
    processes = reading_processes(tasks, settings.indexing)
    if log.tips and not processes:  # commits are read apart too, unless the settings say that nothing is
        processes = min(1, most_processes(settings.indexing))
    return open_readers(run.source.assignment(run.repository.name, settings), processes)


def _histories(run: Run, tasks: list[FileTask]) -> FileHistories:
    """Return the histories of the files to write; the log of a few files costs less than a pass over all commits."""
    rules = run.source.assignment(run.repository.name, run.workshop.settings).rules
    return FileHistories(run.source.mirror, run.source.commit, rules, [task.path for task in tasks if not task.skip])


def _read_and_write(run: Run, held: Held, heartbeat: Heartbeat, tasks: list[FileTask], readers: Readers) -> Written:
    if is_shared(run, tasks):
        return write_shared(run, held, heartbeat, tasks, readers)
    writer = Writer(run.repository.name, held, run.workshop, heartbeat, run.request)
    return writer.write(readers.read(tasks), run.watch)


@contextmanager
def _close_on_failure(run: Run, held: Held) -> Iterator[None]:
    """Undo the transaction after an error in NOT_RESUMED; otherwise leave it open for the next run to resume."""
    try:
        with run.mirror.raising_removed():
            yield
    except BaseException as error:
        lost: Conflict | LeaseHeld | None = None
        # Best effort: if this fails, the next run sees that the holder is gone, or waits for the lease to expire.
        with suppress(CodequarryError):
            if _has_ended(run, held):
                lost = _why_lost(run, held)
            elif isinstance(error, NOT_RESUMED):
                lost = _undo(run, held)
            else:
                release_lease(run.workshop.store, held)
        if lost and isinstance(error, CodequarryError):
            raise lost from error
        raise


def _undo(run: Run, held: Held) -> LeaseHeld | None:
    """Undo a transaction, and retract a repository with nothing else; return LeaseHeld if another run was faster."""
    store = run.workshop.store
    try:
        undo_transaction(store, held)
    except Conflict:
        return _lease_lost(run)
    clear_progress(store, run.repository.name, run.source.key)
    retract_entry(store, run.repository)
    retract_identity(store)
    return None


def _has_ended(run: Run, held: Held) -> bool:
    """Return whether the version was removed or ended during the run."""
    state = read_head(run.workshop.store).timelines.get(held.timeline)
    return state is None or state.gone or state.version != run.source.key or bool(state.former)


def _why_lost(run: Run, held: Held) -> Conflict | LeaseHeld:
    """Return why the timeline is lost, and have the chores delete what was written since then."""
    store, repo, key = run.workshop.store, run.repository.name, run.source.key
    if held.timeline in read_head(store).timelines:
        note_undo(store, held.timeline, held.number, repo)
    else:
        note_purge(store, held.timeline, repo)
    if not has_timelines(store, repo):
        return RemovedMeanwhile(repo)
    if not timelines_of(read_head(store), repo, key):
        clear_progress(store, repo, key)  # the version was removed, and no other run is indexing it
    return _lease_lost(run)


def _lease_lost(run: Run) -> LeaseHeld:
    version = f"{run.source.ref.name} of '{run.repository.name}'"
    return LeaseHeld(f"{version} was removed or taken over by another process, so nothing was published; run again")


def _record(run: Run, held: Held, work: RunWork) -> tuple[TransactionRecord, LogPlan]:
    target = run.source.target(run.repository)
    state = check_held(read_head(run.workshop.store), held.timeline, held.holder, held.number)
    commits, count = new_commits(run.source.mirror, target.commit, state.commit)
    lost = lost_commits(run.source.mirror, target.commit, state.commit)
    log = plan_log(run, held, work.base.record if work.base else None, lost)
    record = TransactionRecord(
        timeline=held.timeline,
        number=held.number,
        repo=target.repo,
        ref=target.ref,
        commit=target.commit,
        rules=target.rules,
        changed_paths=work.plan.paths,
        indexed_at=now("seconds"),
        base_timeline=held.base[0] if held.base else None,
        base_number=held.base[1] if held.base else None,
        mask=tuple(sorted(work.base.plan.retired)) if work.base else (),
        commits=commits,
        commit_count=count,
        lost=lost,
        log_rules=log.digest,
        log_mask=log.mask,
    )
    return record, log


def _retire(run: Run, held: Held, work: RunWork, log: LogPlan) -> None:
    store = run.workshop.store
    for timeline, paths in ((held.timeline, work.plan.retired), (log_timeline(held.timeline), log.retired)):
        if paths:
            store.retire(timeline, held.number, paths, read_head(store).aborted)
    store.refresh()


def _publish(run: Run, held: Held) -> None:
    """Publish in one write that also drops a replaced timeline; that timeline's rows are deleted later."""
    store, repo, key = run.workshop.store, run.repository.name, run.source.key
    replaced = current_timeline(read_head(store), repo, key) if held.new else None
    branch = "" if key else run.source.ref.value
    stale = Ref("branch", branch).key if branch else ""
    at = now("milliseconds")
    # A version that outgrew its layer keeps its earlier commits, unless nobody can ask for them.
    forgets = run.request.full or key.startswith(WORKSPACES)

    def choose(head: Head) -> list[int]:
        leaving = [replaced] if replaced is not None and forgets else []
        return leaving + (drafts_of(head, repo, stale) if stale else [])

    def change(head: Head) -> Head:
        # Another run may have rebuilt the default branch on a timeline that readers would continue to see.
        expected = replaced if held.new else held.timeline
        if (held.new or not key) and current_timeline(head, repo, key) != expected:
            raise Conflict(f"{repo} has changed since this run began; run again")
        default = held.new and not key
        commit = run.source.commit
        current = current_timeline(head, repo, key)
        since = aging_from(run.request.wish, key, None if current is None else head.timelines[current])
        head = publish(
            head,
            held.timeline,
            held.holder,
            held.number,
            commit,
            branch=branch,
            default=default,
            expiring_since=since,
        )
        if held.new and key:
            others = [timeline for timeline in timelines_of(head, repo, key) if timeline != held.timeline]
            head = without_timelines(head, others) if forgets else retired(head, others, at)
        if stale:
            # A branch that has become the default no longer has a timeline of its own.
            note_undos(store, head, repo, stale)
            head = retired(head, timelines_of(head, repo, stale), at)
        return head

    drop_noted(store, choose, change)
