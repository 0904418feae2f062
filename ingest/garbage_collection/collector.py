"""The collector: expires history beyond the limits, and deletes its rows once no reader can be reading them.

Expiring is one write to the head document. Then the collector compares, for each timeline, what may be deleted with
what has already been deleted, and notes the difference and the time. A run after the grace time deletes the noted rows.
A crash at any point leaves a state from which the next run continues.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from codequarry.ingest.garbage_collection.sweeps import Clock, Sweep, finish_sweeps, note_drops, note_sweeps, utc_now
from codequarry.ingest.transaction.chores import PURGE
from codequarry.ingest.transaction.retention import (
    SWEEP,
    HistoryCut,
    RetentionLimits,
    VersionHistory,
    cut_history,
    expired_histories,
    histories,
)
from codequarry.shared.catalog.ledger import change_head, published_transactions, read_head, read_transaction
from codequarry.shared.errors import Conflict
from codequarry.shared.settings.index import RetentionSettings
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.transactions import TransactionRecord, drop_timeline, drop_unused, raise_floor

# How many other versions each run collects, in turn, so that branches that are no longer indexed are collected too.
OTHERS_PER_RUN = 5
# How many ended versions a run drops at most: a thousand branches that ended on one day need not go in one run.
DROPPED_PER_RUN = 300


@dataclass(frozen=True, slots=True)
class Collected:
    """What a collection cut, how many rows and records it deleted, and the timelines with rows yet to delete."""

    cuts: tuple[HistoryCut, ...]
    deleted: int
    waiting: tuple[int, ...]


def collect_history(
    store: Store, settings: RetentionSettings, repos: Iterable[str], *, clock: Clock = utc_now
) -> Collected:
    """Collect all versions of ``repos``, and finish due sweeps of all repositories."""
    head = read_head(store)
    looked_at = {repo: [key for history in histories(head, repo) for key in history.timelines] for repo in repos}
    return _collect(store, settings, looked_at, clock)


def collect_after_run(
    store: Store, settings: RetentionSettings, repo: str, key: str, *, clock: Clock = utc_now
) -> Collected:
    """Collect the version ``key``, which a run has published, and a few of the repository's other versions in turn.

    Versions that ended and have expired are dropped together.
    """
    head = read_head(store)
    found = histories(head, repo)
    own = [history for history in found if any(head.timelines[line].version == key for line in history.timelines)]
    expired = _expired(found, RetentionLimits.of(settings, repo), clock())
    others = [history for history in found if history not in own and history not in expired]
    start = head.counter % len(others) if others else 0
    turn = (others[start:] + others[:start])[:OTHERS_PER_RUN]
    chosen = [*own, *turn, *expired[:DROPPED_PER_RUN]]
    timelines = [line for history in chosen for line in history.timelines]
    return _collect(store, settings, {repo: timelines}, clock, run_of=repo)


def _expired(found: Sequence[VersionHistory], limits: RetentionLimits, now: datetime) -> list[VersionHistory]:
    """Return the expired histories, those that ended first at the front."""
    return sorted(expired_histories(found, limits, now), key=lambda history: history.expiring_since)


def plan_cuts(
    store: DocumentStore, head: Head, settings: RetentionSettings, repo: str, timelines: Collection[int], now: datetime
) -> list[HistoryCut]:
    """Return the cuts of those histories of a repository that contain one of ``timelines``."""
    limits = RetentionLimits.of(settings, repo)
    leaving = [int(document.key.removeprefix(PURGE)) for document in store.list_documents(PURGE)]
    found = histories(head, repo, leaving)
    expired = expired_histories(found, limits, now)
    is_masked = _is_masked(store, head, repo)
    cuts: list[HistoryCut] = []
    for history in found:
        if set(history.timelines).isdisjoint(timelines):
            continue
        records = {key: published_transactions(store, head, key) for key in history.timelines}
        # No run can mask a version that its origin no longer has.
        unmasked = history.has_ended and is_masked and not _newest(records).is_masked
        cuts += cut_history(head, history, records, limits, now, expired=history in expired or unmasked)
    return cuts


def apply_cut(head: Head, cut: HistoryCut) -> Head:
    """Hide the expired history from readers; raise Conflict if the timeline has moved on since the decision."""
    if not cut.dropped:
        return raise_floor(head, cut.timeline, cut.published, cut.floor, cut.pins)
    state = head.timelines.get(cut.timeline)
    if state is None or state.published != cut.published or state.lease is not None:
        raise Conflict(f"timeline {cut.timeline} has moved on")
    return drop_timeline(head, cut.timeline)


def _is_masked(store: DocumentStore, head: Head, repo: str) -> bool:
    """Return whether the secrets of a repository's default branch are masked."""
    default = head.defaults.get(repo)
    record = read_transaction(store, default, head.timelines[default].published) if default is not None else None
    return record is not None and record.is_masked


def _newest(records: Mapping[int, Sequence[TransactionRecord]]) -> TransactionRecord:
    return max((record for kept in records.values() for record in kept), key=lambda record: record.number)


def _collect(
    store: Store,
    settings: RetentionSettings,
    looked_at: Mapping[str, Collection[int]],
    clock: Clock,
    run_of: str | None = None,
) -> Collected:
    deleted = finish_sweeps(store, settings.grace_seconds, clock, run_of)
    head, now = read_head(store), clock()
    done: list[HistoryCut] = []
    for repo, timelines in looked_at.items():
        done += _expire(store, repo, plan_cuts(store, head, settings, repo, timelines, now), clock)
        note_sweeps(store, repo, timelines, clock)
    deleted += finish_sweeps(store, settings.grace_seconds, clock, run_of)
    waiting = tuple(Sweep.of(document).timeline for document in store.list_documents(SWEEP))
    return Collected(tuple(done), deleted, waiting)


def _expire(store: DocumentStore, repo: str, cuts: Sequence[HistoryCut], clock: Clock) -> list[HistoryCut]:
    """Apply cuts in one write, and return those whose timelines have not moved on since the decision."""
    note_drops(store, repo, {cut.timeline: cut.floor for cut in cuts if cut.dropped}, clock)
    return change_head(store, lambda head: _with_cuts(head, cuts)) if cuts else []


def _with_cuts(head: Head, cuts: Iterable[HistoryCut]) -> tuple[Head, list[HistoryCut]]:
    """Raise the floors first: a commit that expires may be what still needs a timeline that is to be dropped."""
    applied: list[HistoryCut] = []
    dropping = [cut for cut in cuts if cut.dropped]
    for cut in cuts:
        if not cut.dropped:
            with suppress(Conflict):
                head = apply_cut(head, cut)
                applied.append(cut)
    head, dropped = drop_unused(head, {cut.timeline: cut.published for cut in dropping})
    return head, [*applied, *(cut for cut in dropping if cut.timeline in dropped)]
