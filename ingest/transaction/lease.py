"""Holds leases on timelines by heartbeats, waits for them, takes them over and releases them."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from codequarry.ingest.transaction.holder import NO_HOLDER, describe_holder, has_ended
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.errors import Conflict, LeaseHeld, StoreError
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.head import Head, Lease, Place
from codequarry.shared.versions.transactions import beat, check_held, take_over

# A holder sends three heartbeats before its lease would expire, so that one slow write does no harm.
BEATS_PER_LEASE = 3
# How often a watched lease is read.
WATCH_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Held:
    """An open transaction whose lease we hold, and its base if it is an overlay's.

    When a ``new`` timeline is published, it replaces the timeline that readers of the version saw.
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
    found = {key: state.lease for key, state in states if (state.repo, state.ref) == (repo, ref) and state.lease}
    # The copies that a renaming is writing show no version yet.
    return {key: lease for key, lease in found.items() if not head.timelines[key].gone}


def await_end(
    store: DocumentStore, timeline: int, lease: Lease, seconds: float, say: Callable[[str], None]
) -> Lease | None:
    """Return the lease once its holder is gone or has sent no heartbeat for ``seconds`` by our own clock (rule 8).

    Returns None if the lease has ended; raises LeaseHeld as soon as a heartbeat shows that the holder is alive.
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
    """Take over a lease if it is still as last seen; return False if another process was first."""
    try:
        change_head(store, lambda head: (take_over(head, timeline, lease, holder), None))
    except Conflict:
        return False
    return True


def release_lease(store: DocumentStore, held: Held) -> None:
    """Release the lease and leave the transaction open, for any run to resume."""

    def change(head: Head) -> tuple[Head, None]:
        state = check_held(head, held.timeline, held.holder, held.number)
        assert state.lease is not None
        return take_over(head, held.timeline, state.lease, NO_HOLDER), None

    change_head(store, change)


class Heartbeat:
    """A thread that renews the lease while a transaction is written; ``check`` raises if the lease is lost (rule 2)."""

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
        """Do a real-time read of the head document; raise LeaseHeld if the lease is no longer ours."""
        held = self._held
        if self._lost is None:
            try:
                check_held(read_head(self._store), held.timeline, held.holder, held.number)
            except Conflict as error:
                self._lost = str(error)
        if self._lost is not None:
            raise LeaseHeld(f"another process took over this import ({self._lost}); this run published nothing")

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
                # The store may recover before another run takes the lease; after this time the lease may be lost.
                if time.monotonic() - self._last > self._lease_seconds:
                    self._lost = str(error)
                    return
