"""Notes of rows that no reader sees any more, and their deletion once no running request can be reading them."""

import socket
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from codequarry.ingest.transaction.chores import LEFT_SECONDS, purge_timelines
from codequarry.ingest.transaction.retention import SWEEP, TimelineExtent, sweep_key, swept_key
from codequarry.shared.catalog.documents import put_document
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.errors import Conflict
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.store.records import Document
from codequarry.shared.versions.commit_log import with_logs
from codequarry.shared.versions.head import Head

_DROP = ":drop"
# A time noted by another machine must be older by this much more, because clocks differ by less than this.
CLOCK_ALLOWANCE = timedelta(hours=1)

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the current time by this machine's clock."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Sweep:
    """A note of a timeline's rows to delete after the grace time: all of them if the timeline was dropped (``drop``).

    ``noted_by`` is the clock that ``noted_at`` (ISO 8601) comes from.
    """

    timeline: int
    extent: TimelineExtent
    noted_at: str
    noted_by: str
    drop: bool
    repo: str = ""

    @property
    def key(self) -> str:
        """The key of the note."""
        return sweep_key(self.timeline) + (_DROP if self.drop else "")

    @classmethod
    def of(cls, document: Document) -> "Sweep":
        """Read a note, including notes of older versions, which name no repository."""

        def read(floor: int, pins: list[int], noted_at: str, noted_by: str, repo: str = "") -> "Sweep":
            timeline = int(document.key.split(":")[1])
            extent = TimelineExtent(floor, tuple(pins))
            return cls(timeline, extent, noted_at, noted_by, document.key.endswith(_DROP), repo)

        return document.decode(read)

    def body(self) -> dict[str, Any]:
        """Return the note as it is stored."""
        return {**_extent_body(self.extent), "noted_at": self.noted_at, "noted_by": self.noted_by, "repo": self.repo}

    def is_due(self, now: datetime, grace_seconds: float, run_of: str | None) -> bool:
        """Return whether a run of the repository ``run_of`` (None: a collection of everything) finishes the sweep."""
        wait = timedelta(seconds=grace_seconds)
        if run_of is not None and self.repo not in ("", run_of):
            wait += timedelta(seconds=LEFT_SECONDS)
        if self.noted_by != _clock_name():
            wait += CLOCK_ALLOWANCE
        return now - datetime.fromisoformat(self.noted_at) >= wait


def note_drops(store: DocumentStore, repo: str, floors: Mapping[int, int], clock: Clock) -> None:
    """Note timelines that are about to be dropped, each with its new floor.

    Nothing else records a dropped timeline. The notes replace the notes, and the times, of earlier attempts.
    """
    for timeline, floor in floors.items():
        sweep = Sweep(timeline, TimelineExtent(floor, ()), *_stamp(clock), True, repo)
        put_document(store, sweep.key, sweep.body())


def note_sweeps(store: DocumentStore, repo: str, timelines: Collection[int], clock: Clock) -> None:
    """Note the timelines from which more may be deleted than has been; any full timeline may have lost a pin."""
    head = read_head(store)
    for key in head.of_repo(repo):
        state = head.timelines[key]
        if not state.floor or (state.pins and key not in timelines):
            continue
        extent = TimelineExtent.of(head, key)
        known = store.read_document(swept_key(key))
        if known is None or known.body != _extent_body(extent):
            sweep = Sweep(key, extent, *_stamp(clock), False, repo)
            with suppress(Conflict):  # an older note must be finished first
                store.write_document(sweep.key, sweep.body(), None)


def finish_sweeps(store: Store, grace_seconds: float, clock: Clock, run_of: str | None) -> int:
    """Finish the sweeps whose grace time is over, and return how many rows and records they deleted.

    A run names its repository, ``run_of``, and leaves the sweeps of other repositories to their own runs, unless these
    have not come for a long time.
    """
    # The head document is read before the notes: a timeline that it lacks was dropped after its last note was written.
    head = read_head(store)
    notes = [Sweep.of(document) for document in store.list_documents(SWEEP)]
    due = [sweep for sweep in notes if sweep.is_due(clock(), grace_seconds, run_of)]
    # If a noted timeline still exists, dropping it failed or its collector died.
    dropped = [sweep.timeline for sweep in due if sweep.drop and sweep.timeline not in head.timelines]
    if dropped:
        purge_timelines(store, dropped)
    return sum(_sweep(store, head, sweep) for sweep in due if not sweep.drop)


def _sweep(store: Store, head: Head, sweep: Sweep) -> int:
    """Delete the rows that no reader sees, then the records of the transactions that no reader can ask for."""
    # Pins below a floor are only ever released, so what was free when the note was written is still free.
    deleted = 0
    if sweep.timeline in head.timelines:
        for after, until in sweep.extent.gaps():
            for part in with_logs([sweep.timeline]):
                deleted += store.collect(part, after, until, head.aborted)
        _forget_records(store, sweep)
        put_document(store, swept_key(sweep.timeline), _extent_body(sweep.extent))
    store.delete_document(sweep.key)
    return deleted


def _forget_records(store: DocumentStore, sweep: Sweep) -> None:
    for kind in ("summary", "transaction"):
        prefix = f"{kind}:{sweep.timeline:010d}:"
        for document in store.list_documents(prefix):
            if sweep.extent.covers(int(document.key.removeprefix(prefix))):
                store.delete_document(document.key)


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
