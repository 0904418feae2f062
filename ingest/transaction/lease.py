"""Holding a timeline: taking its lease, showing that one lives, taking over from holders that don't."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from codequarry.ingest.transaction.holder import NO_HOLDER, has_ended, describe_holder
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.errors import Conflict, LeaseHeld, StoreError
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.head import Head, Lease, Place
from codequarry.shared.versions.transactions import beat, check_held, take_over

# A holder beats three times before its lease expires, so that one slow write costs nothing.
BEATS_PER_LEASE = 3
# How often a watched lease is looked at.
WATCH_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Held:
    """An open transaction whose lease is ours, and the place that it lies on, if it is an overlay's.

    A ``new`` timeline takes the place of what readers of the version saw when it is published.
    """

    timeline: int
    number: int
    holder: str
    new: bool
    resumed: bool = False
    base: Place | None = None


def leases_of(head: Head, repo: str, ref: str) -> dict[int, Lease]:
    """Return the leases on the timelines of one version of a repository."""
    states = head.timelines.items()
    return {key: state.lease for key, state in states if (state.repo, state.ref) == (repo, ref) and state.lease}


def await_end(
    store: DocumentStore, timeline: int, lease: Lease, seconds: float, say: Callable[[str], None]
) -> Lease | None:
    """Return the lease when its holder is gone or has not beaten for ``seconds`` by our own clock (rule 8).

    None when the lease is no longer there; LeaseHeld as soon as a beat shows that the holder lives.
    """
    since = time.monotonic()
    while not has_ended(lease.holder):
        waited = time.monotonic() - since
        if waited >= seconds:
            break
        say(f"waiting for {describe_holder(lease.holder)}")
        time.sleep(min(WATCH_SECONDS, seconds - waited))
        state = read_head(store).timelines.get(timeline)
        if state is None or state.lease is None or state.lease.number != lease.number:
            return None
        if state.lease != lease:
            raise LeaseHeld(f"{state.repo} is being indexed by {describe_holder(lease.holder)}; wait for it or stop it")
    return lease


def take_over_lease(store: DocumentStore, timeline: int, lease: Lease, holder: str) -> bool:
    """Take over a lease as it was last seen; False if someone else was first."""
    try:
        change_head(store, lambda head: (take_over(head, timeline, lease, holder), None))
    except Conflict:
        return False
    return True


def release_lease(store: DocumentStore, held: Held) -> None:
    """Leave the transaction open, to be resumed, and its lease to anyone."""

    def change(head: Head) -> tuple[Head, None]:
        state = check_held(head, held.timeline, held.holder, held.number)
        assert state.lease is not None
        return take_over(head, held.timeline, state.lease, NO_HOLDER), None

    change_head(store, change)


class Heartbeat:
    """A thread that beats while a transaction is worked on.

    ``check`` raises LeaseHeld once the lease is lost: nothing may be written after that (rule 2).
    """

    def __init__(self, store: DocumentStore, held: Held, lease_seconds: float) -> None:
        self._store, self._held, self._lease_seconds = store, held, lease_seconds
        self._stop = threading.Event()
        self._lost: str | None = None
        self._last = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def check(self) -> None:
        """Read the head in real time and see that the lease is still ours."""
        held = self._held
        if self._lost is None:
            try:
                check_held(read_head(self._store), held.timeline, held.holder, held.number)
            except Conflict as error:
                self._lost = str(error)
        if self._lost is not None:
            raise LeaseHeld(f"another process took over this import ({self._lost}); nothing of it was published here")

    def _run(self) -> None:
        held = self._held
        while not self._stop.wait(self._lease_seconds / BEATS_PER_LEASE):
            try:
                change_head(self._store, lambda head: (beat(head, held.timeline, held.holder, held.number), None))
                self._last = time.monotonic()
            except Conflict as error:
                self._lost = str(error)
                return
            except StoreError as error:
                # The store may come back before anyone takes the lease; after that long somebody else may have it.
                if time.monotonic() - self._last > self._lease_seconds:
                    self._lost = str(error)
                    return
