"""Showing that the batches in hand are worked on."""

import threading
import time

from codequarry.ingest.sharing.share import Share
from codequarry.shared.errors import Conflict, StoreError

# Whoever takes longer for a batch hangs, in a model or a grammar: it counts as silent from then on, so that nobody
# waits for it longer than this and a lease.
BATCH_SECONDS = 900.0


class Beat:
    """A thread that shows every few ``seconds`` that a claimant lives, for as long as one batch may take."""

    def __init__(self, share: Share, claimant: str, seconds: float) -> None:
        self._share, self._claimant, self._seconds = share, claimant, seconds
        self._held: tuple[int, ...] = ()
        self._until = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="batch-beat", daemon=True)

    def __enter__(self) -> "Beat":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def held(self) -> tuple[int, ...]:
        """The batches that were taken and are not done."""
        return self._held

    def hold(self, at: int) -> None:
        """Begin to show it for a batch."""
        if not self._held:
            self._until = time.monotonic() + BATCH_SECONDS
        self._held = (*self._held, at)

    def drop(self, at: int) -> None:
        """End it for a batch that is done: from now on the next one may take as long."""
        self._until = time.monotonic() + BATCH_SECONDS
        self._held = tuple(one for one in self._held if one != at)

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            for at in self._held if time.monotonic() < self._until else ():
                try:
                    self._share.beat(at, self._claimant)
                except (Conflict, StoreError):
                    continue  # it is done or was taken over, which its own thread will see; the store may come back
