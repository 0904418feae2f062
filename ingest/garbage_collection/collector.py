"""The collector: expires history beyond the limits, and deletes its rows once no reader can be reading them.

Expiring is one write to the head document. Then the collector compares, for each timeline, what may be deleted with
what has already been deleted, and notes the difference and the time. A run after the grace time deletes the noted rows.
A crash at any point leaves a state from which the next run continues.
"""

import socket
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from codequarry.ingest.transaction.chores import PURGE, purge_timeline
from codequarry.ingest.transaction.retention import (
    SWEEP,
    HistoryCut,
    RetentionLimits,
    TimelineExtent,
    cut_history,
    families,
    sweep_key,
    swept_key,
)
from codequarry.shared.catalog.documents import put_document
from codequarry.shared.catalog.ledger import change_head, published_transactions, read_head
from codequarry.shared.errors import Conflict
from codequarry.shared.settings.index import RetentionSettings
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.store.records import Document
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.transactions import drop_timeline, raise_floor

_DROP = ":drop"
# A time noted by another machine must be older by this much more, because clocks differ by less than this.
CLOCK_ALLOWANCE = timedelta(hours=1)
# How many other versions each run collects, in turn, so that branches that are no longer indexed are collected too.
OTHERS_PER_RUN = 5

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the current time by this machine's clock."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Collected:
    """What a collection cut, how many rows and records it deleted, and the timelines with rows yet to delete."""

    cuts: tuple[HistoryCut, ...]
    deleted: int
    waiting: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Sweep:
    """A note of a timeline's rows to delete after the grace time: all of them if the timeline was dropped."""

    timeline: int
    extent: TimelineExtent
    noted_at: str
    noted_by: str
    drop: bool

    @property
    def key(self) -> str:
        return sweep_key(self.timeline) + (_DROP if self.drop else "")

    @classmethod
    def of(cls, document: Document) -> "_Sweep":
        def read(floor: int, pins: list[int], noted_at: str, noted_by: str) -> "_Sweep":
            timeline = int(document.key.split(":")[1])
            extent = TimelineExtent(floor, tuple(pins))
            return cls(timeline, extent, noted_at, noted_by, drop=document.key.endswith(_DROP))

        return document.decode(read)

    def body(self) -> dict[str, Any]:
        return {**_extent_body(self.extent), "noted_at": self.noted_at, "noted_by": self.noted_by}

    def is_due(self, now: datetime, grace_seconds: float) -> bool:
        wait = timedelta(seconds=grace_seconds)
        if self.noted_by != _clock_name():
            wait += CLOCK_ALLOWANCE
        return now - datetime.fromisoformat(self.noted_at) >= wait


def collect_history(
    store: Store, settings: RetentionSettings, repos: Iterable[str], *, clock: Clock = utc_now
) -> Collected:
    """Collect all versions of ``repos``, and finish due sweeps of all repositories."""
    head = read_head(store)
    looked_at = {repo: [key for family in families(head, repo) for key in family] for repo in repos}
    return _collect(store, settings, looked_at, clock)


def collect_after_run(
    store: Store, settings: RetentionSettings, repo: str, key: str, *, clock: Clock = utc_now
) -> Collected:
    """Collect the version ``key``, which a run has published, and a few of the repository's other versions in turn."""
    head = read_head(store)
    own, others = _own_and_others(head, repo, key)
    start = head.counter % len(others) if others else 0
    turn = (others[start:] + others[:start])[:OTHERS_PER_RUN]
    return _collect(store, settings, {repo: [*own, *turn]}, clock)


def plan_cuts(
    store: DocumentStore, head: Head, settings: RetentionSettings, repo: str, timelines: Collection[int], now: datetime
) -> list[HistoryCut]:
    """Return the cuts of those histories of a repository that contain one of ``timelines``."""
    limits = RetentionLimits.of(settings, repo)
    leaving = [int(document.key.removeprefix(PURGE)) for document in store.list_documents(PURGE)]
    cuts: list[HistoryCut] = []
    for family in families(head, repo, leaving):
        if set(family).isdisjoint(timelines):
            continue
        records = {key: published_transactions(store, head, key) for key in family}
        cuts += cut_history(head, family, records, limits, now)
    return cuts


def apply_cut(head: Head, cut: HistoryCut) -> Head:
    """Hide the expired history from readers; raise Conflict if the timeline has moved on since the decision."""
    if not cut.dropped:
        return raise_floor(head, cut.timeline, cut.published, cut.floor, cut.pins)
    state = head.timelines.get(cut.timeline)
    if state is None or state.published != cut.published or state.lease is not None:
        raise Conflict(f"timeline {cut.timeline} has moved on")
    return drop_timeline(head, cut.timeline)


def _own_and_others(head: Head, repo: str, key: str) -> tuple[list[int], list[int]]:
    published = [timeline for family in families(head, repo) for timeline in family]
    own = [timeline for timeline in published if head.timelines[timeline].ref == key]
    return own, [timeline for timeline in published if head.timelines[timeline].ref != key]


def _collect(
    store: Store, settings: RetentionSettings, looked_at: Mapping[str, Collection[int]], clock: Clock
) -> Collected:
    deleted = _finish_sweeps(store, settings.grace_seconds, clock)
    head, now = read_head(store), clock()
    cuts = [cut for repo, keys in looked_at.items() for cut in plan_cuts(store, head, settings, repo, keys, now)]
    done = tuple(cut for cut in cuts if _expire(store, cut, clock))
    for repo, keys in looked_at.items():
        _note_sweeps(store, repo, keys, clock)
    deleted += _finish_sweeps(store, settings.grace_seconds, clock)
    waiting = tuple(_Sweep.of(document).timeline for document in store.list_documents(SWEEP))
    return Collected(done, deleted, waiting)


def _expire(store: DocumentStore, cut: HistoryCut, clock: Clock) -> bool:
    if cut.dropped:
        # Nothing else records a dropped timeline. This note replaces the note, and the time, of an earlier attempt.
        sweep = _Sweep(cut.timeline, TimelineExtent(cut.floor, ()), *_stamp(clock), drop=True)
        put_document(store, sweep.key, sweep.body())
    try:
        change_head(store, lambda head: (apply_cut(head, cut), None))
    except Conflict:
        return False
    return True


def _note_sweeps(store: DocumentStore, repo: str, timelines: Collection[int], clock: Clock) -> None:
    """Note the timelines from which more may be deleted than has been; any full timeline may have lost a pin."""
    head = read_head(store)
    for key in head.of_repo(repo):
        state = head.timelines[key]
        if not state.floor or (state.pins and key not in timelines):
            continue
        extent = TimelineExtent.of(head, key)
        known = store.read_document(swept_key(key))
        if known is None or known.body != _extent_body(extent):
            sweep = _Sweep(key, extent, *_stamp(clock), drop=False)
            with suppress(Conflict):  # an older note must be finished first
                store.write_document(sweep.key, sweep.body(), None)


def _finish_sweeps(store: Store, grace_seconds: float, clock: Clock) -> int:
    """Finish the sweeps whose grace time is over, and return how many rows and records they deleted."""
    # The head document is read before the notes: a timeline that it lacks was dropped after its last note was written.
    head = read_head(store)
    notes = [_Sweep.of(document) for document in store.list_documents(SWEEP)]
    due = [sweep for sweep in notes if sweep.is_due(clock(), grace_seconds)]
    return sum(_purge(store, head, sweep) if sweep.drop else _sweep(store, head, sweep) for sweep in due)


def _sweep(store: Store, head: Head, sweep: _Sweep) -> int:
    """Delete the rows that no reader sees, then the records of the transactions that no reader can ask for."""
    # Pins below a floor are only ever released, so what was free when the note was written is still free.
    deleted = 0
    if sweep.timeline in head.timelines:
        for after, until in sweep.extent.gaps():
            deleted += store.collect(sweep.timeline, after, until, head.aborted)
        _forget_records(store, sweep)
        put_document(store, swept_key(sweep.timeline), _extent_body(sweep.extent))
    store.delete_document(sweep.key)
    return deleted


def _forget_records(store: DocumentStore, sweep: _Sweep) -> None:
    for kind in ("summary", "transaction"):
        prefix = f"{kind}:{sweep.timeline:010d}:"
        for document in store.list_documents(prefix):
            if sweep.extent.covers(int(document.key.removeprefix(prefix))):
                store.delete_document(document.key)


def _purge(store: Store, head: Head, sweep: _Sweep) -> int:
    """Purge a dropped timeline; if it still exists, dropping it failed or its collector died."""
    if sweep.timeline not in head.timelines:
        purge_timeline(store, sweep.timeline)
    return 0


def _extent_body(extent: TimelineExtent) -> dict[str, Any]:
    return {"floor": extent.floor, "pins": list(extent.pins)}


def _stamp(clock: Clock) -> tuple[str, str]:
    return clock().isoformat(), _clock_name()


def _clock_name() -> str:
    """Return an id of this machine's clock: the boot of its kernel, which containers share."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return socket.gethostname()
