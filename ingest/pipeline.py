"""One repository from the commit that is published to the newest one, told as one plain function."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace

from codequarry.ingest.acquire import acquire, give_up
from codequarry.ingest.chores import finish_chores, note_purge
from codequarry.ingest.chunking.core import CHUNKER_VERSION
from codequarry.ingest.holder import new_holder, retire_holder
from codequarry.ingest.lease import Heartbeat, Held, give_back
from codequarry.ingest.origins import parse_origin
from codequarry.ingest.plan import Plan, make_plan, skips
from codequarry.ingest.report import IndexReport, IndexRequest, Observe, Workshop, ignore
from codequarry.ingest.scan import FileTask
from codequarry.ingest.sources import Source, enter_catalog, fetch_source, processor_count
from codequarry.ingest.watch import Watch, now
from codequarry.ingest.workers import BATCH_FILES, open_readers
from codequarry.ingest.writing import Writer, Written
from codequarry.shared.errors import CodequarryError, LimitExceeded, StoreError
from codequarry.shared.ledger import change_head, read_head, read_transaction, record_transaction
from codequarry.shared.model import INDEXED, FileRecord, Filters
from codequarry.shared.repositories import (
    Repository,
    Summary,
    clear_progress,
    delete_repository,
    read_summary,
    save_repository,
    save_summary,
)
from codequarry.shared.snapshots import draft_snapshot, snapshot_at
from codequarry.shared.store.identity import check_identity, claim_identity
from codequarry.shared.transactions import TransactionRecord, publish

__all__ = ["IndexReport", "IndexRequest", "Workshop", "index_repository"]


@dataclass(frozen=True, slots=True)
class Run:
    """All that the steps of one run share."""

    request: IndexRequest
    workshop: Workshop
    source: Source
    repository: Repository
    note: str
    watch: Watch
    started: float


def index_repository(request: IndexRequest, workshop: Workshop, observe: Observe = ignore) -> IndexReport:
    """Bring the index to the newest commit of a repository, and say what that took.

    Readers see either all of it or nothing. What is interrupted, in whatever way, the next call resumes or undoes.
    """
    started = time.monotonic()
    store, settings = workshop.store, workshop.settings
    check_identity(store, workshop.embedder, settings.embedding.model)
    finish_chores(store)
    watch = Watch(store, observe, request.name or parse_origin(request.origin).name)
    watch.say("fetching")
    source = fetch_source(request, settings, store)
    claim_identity(store, workshop.embedder, settings.embedding.model, str(CHUNKER_VERSION))
    repository, note = enter_catalog(source, request, store, watch)
    run = Run(request, workshop, source, repository, note, watch, started)
    holder = new_holder()
    try:
        held = acquire(
            store,
            source.target(repository.name),
            holder,
            full=request.full,
            lease_seconds=settings.indexing.lease_seconds,
            say=watch.say,
        )
        return _transact(run, held) if held else _nothing_new(run)
    finally:
        retire_holder(holder)


def _transact(run: Run, held: Held) -> IndexReport:
    """Write and publish one transaction."""
    store, watch = run.workshop.store, run.watch
    head = read_head(store)
    previous = head.timelines[head.defaults.get(run.repository.name, held.timeline)]
    with Heartbeat(store, held, run.workshop.settings.indexing.lease_seconds) as heartbeat, _left_in_order(run, held):
        watch.say("scanning")
        tasks = run.source.tasks()
        live = () if held.new else store.files(snapshot_at(head, held.timeline, previous.published))
        plan = make_plan(tasks, live)
        record_transaction(store, _record(run, held, plan))
        written = {file.path: file for file in store.written_files(held.timeline, held.number)} if held.resumed else {}
        watch.say("indexing")
        watch.expect(len(plan.changed), done=len(written))
        left = [task for task in plan.changed if task.path not in written]
        writer = Writer(run.repository.name, held, run.workshop, heartbeat, run.request)
        done = _read_and_write(run, writer, left) if left else writer.written
        watch.say("publishing")
        heartbeat.check()
        _retire(run, held, plan)
        _check(run, held, plan, done, written)
        summary = _summarise(run, held, plan, done, written)
        heartbeat.check()
        _publish(run, held, summary)
    clear_progress(store, run.repository.name)
    finish_chores(store, run.workshop.settings.indexing.grace_seconds)
    moved = previous.commit != run.source.commit or not plan.is_empty
    return _report(run, summary, previous.commit, moved, plan, done, resumed=held.resumed)


def _read_and_write(run: Run, writer: Writer, tasks: list[FileTask]) -> Written:
    settings = run.workshop.settings
    most = processor_count() if settings.indexing.processes is None else settings.indexing.processes
    to_read = sum(task.skip is None for task in tasks)
    processes = min(most, -(-to_read // BATCH_FILES))
    assignment = run.source.assignment(run.repository.name, settings)
    with closing(open_readers(assignment, processes)) as readers:
        return writer.write(readers.read(tasks), run.watch)


@contextmanager
def _left_in_order(run: Run, held: Held) -> Iterator[None]:
    """Undo what a limit stopped; leave all else that fails open, for the next run to resume."""
    store = run.workshop.store
    try:
        yield
    except LimitExceeded:
        give_up(store, held)
        clear_progress(store, run.repository.name)
        if run.repository.name not in read_head(store).defaults:
            delete_repository(store, run.repository.name)
        raise
    except BaseException:
        # Best effort: whoever comes next sees from the holder's name that it is gone, or waits for the lease to end.
        with suppress(CodequarryError):
            give_back(store, held)
        raise


def _record(run: Run, held: Held, plan: Plan) -> TransactionRecord:
    target = run.source.target(run.repository.name)
    return TransactionRecord(
        timeline=held.timeline,
        number=held.number,
        repo=target.repo,
        ref=target.ref,
        commit=target.commit,
        rules=target.rules,
        changed_paths=len(plan.changed) + plan.removed,
        indexed_at=now(),
    )


def _retire(run: Run, held: Held, plan: Plan) -> None:
    store = run.workshop.store
    if plan.retired:
        store.retire(held.timeline, held.number, plan.retired, read_head(store).aborted)
    store.refresh()


def _check(run: Run, held: Held, plan: Plan, done: Written, before: dict[str, FileRecord]) -> None:
    """See that the store holds what was planned, and nothing old on the changed paths (rule 6)."""
    store = run.workshop.store
    tally = store.tally(held.timeline, held.number, plan.retired, read_head(store).aborted)
    rows = done.rows + sum(file.rows for file in before.values())
    if (tally.rows, tally.files, tally.retirable) == (rows, len(plan.changed), 0):
        return
    give_up(store, held)
    raise StoreError(
        f"transaction {held.number} wrote {tally.rows} rows of {tally.files} files, {rows} of {len(plan.changed)} "
        f"were planned, {tally.retirable} old ones are left; it was undone, run again"
    )


def _summarise(run: Run, held: Held, plan: Plan, done: Written, before: dict[str, FileRecord]) -> Summary:
    store = run.workshop.store
    verdicts = Counter(plan.kept_verdicts) + done.verdicts + Counter(file.verdict for file in before.values())
    record = read_transaction(store, held.timeline, held.number)
    assert record is not None, "it is stored before anything is written"
    chunks = store.count(draft_snapshot(read_head(store), record), Filters())
    summary = Summary(held.timeline, held.number, verdicts[INDEXED], chunks, skips(verdicts))
    save_summary(store, summary)
    repository = replace(run.repository, tokens_embedded=run.repository.tokens_embedded + done.tokens)
    save_repository(store, repository)
    return summary


def _publish(run: Run, held: Held, summary: Summary) -> None:
    """Publish in one write; the timeline that a new one replaces is purged after it."""
    store, name = run.workshop.store, run.repository.name
    replaced = read_head(store).defaults.get(name)
    if held.new and replaced is not None:
        note_purge(store, replaced)
    change_head(
        store,
        lambda head: (
            publish(head, held.timeline, held.holder, held.number, run.source.commit, default=held.new),
            None,
        ),
    )


def _nothing_new(run: Run) -> IndexReport:
    store = run.workshop.store
    head = read_head(store)
    timeline = head.defaults[run.repository.name]
    state = head.timelines[timeline]
    summary = read_summary(store, timeline, state.published) or Summary(timeline, state.published, 0, 0)
    clear_progress(store, run.repository.name)
    return _report(run, summary, state.commit, False, Plan((), frozenset(), 0, 0, {}), Written())


def _report(
    run: Run, summary: Summary, previous: str, changed: bool, plan: Plan, done: Written, *, resumed: bool = False
) -> IndexReport:
    return IndexReport(
        repo=run.repository.name,
        ref=run.source.fetched.branch,
        commit=run.source.commit,
        previous_commit=previous,
        changed=changed,
        files_indexed=summary.files,
        files_changed=len(plan.changed),
        files_removed=plan.removed,
        skipped=dict(summary.skipped),
        chunks_written=done.chunks,
        chunks_live=summary.chunks,
        embedded=done.embedded,
        reused_embeddings=done.reused,
        tokens=done.tokens,
        seconds=time.monotonic() - run.started,
        resumed=resumed,
        full=run.request.full,
        name_note=run.note,
    )
