"""The pipeline of one run: brings one version of a repository from its published commit to its newest."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial

from codequarry.ingest.chunking.version import CHUNKER_VERSION
from codequarry.ingest.files.listing import lister_ahead
from codequarry.ingest.garbage_collection.collector import collect_after_run
from codequarry.ingest.garbage_collection.unmasked_rows import is_unmasked, note_unmasked
from codequarry.ingest.git.mirror_cache import mirror_in_use
from codequarry.ingest.git.remote import HEAD
from codequarry.ingest.removal.interrupted_removal import repair
from codequarry.ingest.request.checked_out_version import at_checkout, with_checkout_note, with_default_note
from codequarry.ingest.request.index_request import (
    IndexReport,
    IndexRequest,
    ObserveRun,
    TransactionKind,
    Workshop,
    ignore,
)
from codequarry.ingest.request.progress import Watch
from codequarry.ingest.request.repository_entry import MirrorSeen, RemovedMeanwhile, retract_entry, retract_identity
from codequarry.ingest.request.wanted_version import Overtaken, Wanted, ensure_current, lacks_default, resolve_request
from codequarry.ingest.run.attempt import Attempt
from codequarry.ingest.run.freshness import note_fetch
from codequarry.ingest.run.merge_bases import note_merge_bases
from codequarry.ingest.run.mirror_entry import note_entry
from codequarry.ingest.run.publication import transact
from codequarry.ingest.run.remasking import mask_others
from codequarry.ingest.source.source import FileSource, adopt_branch, enter_catalog
from codequarry.ingest.source.workspace import fetch_version
from codequarry.ingest.transaction.acquisition import acquire
from codequarry.ingest.transaction.chores import finish_chores
from codequarry.ingest.transaction.expiry import renew
from codequarry.ingest.transaction.holder import new_holder, retire_holder
from codequarry.ingest.transaction.lease import Held
from codequarry.ingest.transaction.placement import Placer, current_timeline
from codequarry.ingest.transaction.run_report import Run, RunOutcome, report
from codequarry.ingest.transaction.version_removal import adopt_name, end_vanished, end_versions
from codequarry.shared.catalog.failures import forget_failure
from codequarry.shared.catalog.ledger import check_counter, read_head, read_transaction
from codequarry.shared.catalog.repositories import Repository, Summary, clear_progress, read_summary
from codequarry.shared.errors import CodequarryError, Interrupted, Stopped, StoreError
from codequarry.shared.index.identity import check_identity, claim_identity
from codequarry.shared.repositories.followed_versions import with_permitted_commentary
from codequarry.shared.repositories.mirror_folders import mirror_folder
from codequarry.shared.repositories.model_permission import check_model_allowed
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.transactions import TransactionRecord

# Every turn after the first is needed because another run was faster.
MOST_TURNS = 3

__all__ = ["IndexReport", "IndexRequest", "Workshop", "index_repository"]


def index_repository(request: IndexRequest, workshop: Workshop, observe: ObserveRun = ignore) -> IndexReport:
    """Bring the index up to the newest commit of a version of a repository, and report what was done.

    Readers see either the whole update or none of it. The next call resumes or undoes an interrupted run.
    """
    report = _index_in_turns(request, workshop, observe)
    return mask_others(report, workshop, lambda other: _index_in_turns(other, workshop, observe))


def _index_in_turns(request: IndexRequest, workshop: Workshop, observe: ObserveRun) -> IndexReport:
    for _ in range(MOST_TURNS):
        with suppress(Overtaken):
            return _index_version(request, workshop, observe)
    return _index_version(request, workshop, observe)


def _index_version(request: IndexRequest, workshop: Workshop, observe: ObserveRun) -> IndexReport:
    started = time.monotonic()
    store, settings = workshop.store, workshop.settings
    check_identity(store, workshop.embedder, settings.embedding.model)
    check_counter(store)
    repair(store, settings)
    named, request = request, at_checkout(request, settings, store)
    wanted = resolve_request(request, settings, store)
    if wanted.known:
        finish_chores(store, settings.indexing.grace_seconds, repo=wanted.known.name)
    check_model_allowed(settings, wanted.origin.name, wanted.origin.url, workshop.embedder)
    workshop = replace(workshop, settings=with_permitted_commentary(settings, wanted.origin.url))
    first = None
    if lacks_default(wanted) or _has_unmasked_default(wanted, workshop):
        default = replace(request, origin=request.origin or wanted.origin.url, ref=None, commit="")
        first = index_repository(default, workshop, observe)
        wanted = resolve_request(request, settings, store)
    watch = Watch(store, observe, wanted.known.name if wanted.known else request.name or wanted.origin.name)
    with mirror_in_use(mirror_folder(wanted.origin, settings.home)), lister_ahead(settings.indexing):
        done = _index_wanted(request, workshop, wanted, watch, started)
    former = _index_former_default(wanted, done, workshop, observe)
    report = replace(done, default_branch=first, former_default=former)
    return report if request == named else with_checkout_note(report, request, store)


def _index_former_default(
    wanted: Wanted, done: IndexReport, workshop: Workshop, observe: ObserveRun
) -> IndexReport | None:
    """Index the former default branch as a branch if the origin still has it; it lies over its own last state."""
    name = wanted.default[1] if wanted.default else ""
    if done.key or name in ("", HEAD, done.ref):
        return None
    try:
        return _index_in_turns(IndexRequest(wanted.origin.url, Ref("branch", name), done.repo), workshop, observe)
    except (Interrupted, Stopped, StoreError):
        raise
    except CodequarryError:
        return None  # the branch is gone or can't be indexed; its commits stay searchable


def _has_unmasked_default(wanted: Wanted, workshop: Workshop) -> bool:
    """Return whether the default branch was indexed before secrets were masked: a masked layer can't lie on it."""
    if wanted.is_default or wanted.known is None or workshop.settings.secrets.action == "off":
        return False
    return is_unmasked(workshop.store, read_head(workshop.store), wanted.known.name, "")


def _index_wanted(
    request: IndexRequest, workshop: Workshop, wanted: Wanted, watch: Watch, started: float
) -> IndexReport:
    store, settings = workshop.store, workshop.settings
    watch.say("fetching")
    watch.ref = wanted.key
    mirror = MirrorSeen.of(watch.repo, mirror_folder(wanted.origin, settings.home))
    attempt = Attempt.of(request, wanted, workshop)
    with attempt.noted():
        with mirror.raising_removed() if mirror.inode else nullcontext():
            source = fetch_version(wanted, settings, store, watch.say, attempt.found)
        if source is None:
            return _drop(wanted, workshop, started)
        return _index_source(request, workshop, wanted, source, watch, started)


def _index_source(
    request: IndexRequest, workshop: Workshop, wanted: Wanted, source: FileSource, watch: Watch, started: float
) -> IndexReport:
    store, settings = workshop.store, workshop.settings
    claim_identity(store, workshop.embedder, settings.embedding, str(CHUNKER_VERSION))
    repository, note = enter_catalog(source, request, store, watch)
    note_entry(repository, source.mirror.folder)
    dropped = end_vanished(store, repository.name, source.key, source.listing)
    source = replace(source, forced=request.forced)
    mirror = MirrorSeen.of(repository.name, source.mirror.folder)
    is_first = wanted.is_default and wanted.default is None
    run = Run(request, workshop, source, repository, note, mirror, watch, started, dropped, is_first)
    if source.rules.secrets.is_on and is_unmasked(store, read_head(store), repository.name, source.key):
        note_unmasked(store, repository.name)
    with _clean_up_if_removed(run):
        done = _index(run, wanted)
        note_merge_bases(run)
    finish_chores(store, settings.indexing.grace_seconds, repo=repository.name)
    if not source.key:
        adopt_branch(repository, store)
    collect_after_run(store, settings.retention, repository.name, source.key)
    return with_default_note(done, wanted, source.listing)


@contextmanager
def _clean_up_if_removed(run: Run) -> Iterator[None]:
    """Remove what the run left behind if its repository is removed during the run."""
    store = run.workshop.store
    try:
        with run.mirror.raising_removed():
            yield
    except RemovedMeanwhile:
        clear_progress(store, run.repository.name, run.source.key)
        retract_entry(store, run.repository)
        retract_identity(store)
        finish_chores(store, run.workshop.settings.indexing.grace_seconds, repo=run.repository.name)
        raise


def _index(run: Run, wanted: Wanted) -> IndexReport:
    if not run.is_first:
        note_fetch(run)
    store, indexing = run.workshop.store, run.workshop.settings.indexing
    name, full = run.repository.name, run.request.full
    placer = Placer(store, run.source, name, indexing, full=full)
    target = run.source.target(run.repository)
    holder = new_holder()
    try:
        seconds, say = indexing.lease_seconds, run.watch.say
        anew = full or bool(run.request.forced)
        check = partial(_check_place, wanted, run.repository)
        held = acquire(store, target, placer, holder, full=anew, lease_seconds=seconds, say=say, check=check)
        return _transact(run, held, placer) if held else _nothing_new(run)
    finally:
        retire_holder(holder)


def _check_place(wanted: Wanted, repository: Repository, head: Head) -> None:
    """Raise RemovedMeanwhile if the name now belongs to another repository, or Overtaken if another run was faster."""
    if head.id_of_repo(repository.name) not in (None, repository.id):
        raise RemovedMeanwhile(repository.name)
    ensure_current(wanted, repository.name, head)


def _transact(run: Run, held: Held, placer: Placer) -> IndexReport:
    store, name = run.workshop.store, run.repository.name
    head = read_head(store)
    previous = current_timeline(head, name, run.source.key)
    before = head.timelines[previous].commit if previous is not None else ""
    work, done, log, summary = transact(run, held, placer)
    clear_progress(store, name, run.source.key)
    forget_failure(store, run.repository.id, run.source.key)
    # An overlay may have changed only in its mask.
    changed = before != run.source.commit or not work.plan.is_empty or work.base is not None
    outcome = _outcome(run, summary, before, changed, work.base.record if work.base else None)
    outcome = replace(outcome, base_paths=work.base.paths, mask=len(work.base.plan.retired)) if work.base else outcome
    outcome = replace(outcome, log=log.counts)
    return report(run, outcome, work.plan, done, resumed=held.resumed)


def _nothing_new(run: Run) -> IndexReport:
    store, name = run.workshop.store, run.repository.name
    head = read_head(store)
    timeline = current_timeline(head, name, run.source.key)
    if timeline is None:
        raise RemovedMeanwhile(name)
    state = head.timelines[timeline]
    if not run.source.key:
        adopt_name(store, name, run.source.ref)
    renew(store, timeline, run.request.wish)
    record = read_transaction(store, timeline, state.published)
    summary = read_summary(store, timeline, state.published) or Summary(timeline, state.published, 0, 0)
    clear_progress(store, name, run.source.key)
    base = read_transaction(store, *record.base) if record and record.base else None
    outcome = _outcome(run, summary, state.commit, False, base)
    return report(run, replace(outcome, mask=len(record.mask)) if record else outcome)


def _outcome(run: Run, summary: Summary, previous: str, changed: bool, base: TransactionRecord | None) -> RunOutcome:
    kind: TransactionKind = "overlay" if base else "full" if run.source.key else "default"
    if base is None:
        return RunOutcome(summary, previous, changed, kind)
    return RunOutcome(summary, previous, changed, kind, base_commit=base.commit, base_ref=base.ref)


def _drop(wanted: Wanted, workshop: Workshop, started: float) -> IndexReport:
    assert wanted.known and wanted.ref, "only an indexed version can be gone"
    store, repo = workshop.store, wanted.known.name
    commit = _commit_of(store, repo, wanted.key)
    end_versions(store, repo, [wanted.ref])
    return IndexReport(
        repo=repo,
        ref=wanted.ref.name,
        commit=commit,
        previous_commit=commit,
        changed=True,
        files_indexed=0,
        files_changed=0,
        files_removed=0,
        skipped={},
        chunks_written=0,
        chunks_live=0,
        embedded=0,
        reused_embeddings=0,
        tokens=0,
        seconds=time.monotonic() - started,
        kind="gone",
        key=wanted.key,
        dropped=(wanted.ref.name,),
    )


def _commit_of(store: DocumentStore, repo: str, key: str) -> str:
    head = read_head(store)
    timeline = current_timeline(head, repo, key)
    return "" if timeline is None else head.timelines[timeline].commit
