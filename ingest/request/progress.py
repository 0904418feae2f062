"""A run's progress, reported to its observer at every step and saved in the catalog about once a second."""

import time
from contextlib import suppress

from codequarry.ingest.request.index_request import ObserveRun
from codequarry.shared.catalog.repositories import Progress, save_progress
from codequarry.shared.errors import StoreError
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.timestamps import now

SAVE_SECONDS = 1.0


class Watch:
    """Tracks and reports the progress of one run."""

    def __init__(self, store: DocumentStore, observe: ObserveRun, repo: str, *, saves: bool = True) -> None:
        self.repo, self.repo_id, self.ref, self.commit = repo, "", "", ""
        self._store, self._observe, self._saves = store, observe, saves
        self._phase = "fetching"
        self._started_at = now("seconds")
        self._files_done = self._files_total = self._chunks_done = 0
        self._saved_at = 0.0

    def say(self, phase: str) -> None:
        """Report the start of a phase to the observer."""
        self._phase = phase
        self._observe(self._progress())

    def expect(self, files: int, done: int = 0) -> None:
        """Set the total number of files, and how many of them an earlier run has finished."""
        self._files_total, self._files_done = files, done
        self.advance(0, 0)

    def advance(self, files: int, chunks: int) -> None:
        """Add finished files and chunks, report them, and save them at most once every ``SAVE_SECONDS``."""
        self._files_done += files
        self._chunks_done += chunks
        progress = self._progress()
        self._observe(progress)
        if self._saves and time.monotonic() - self._saved_at >= SAVE_SECONDS:
            with suppress(StoreError):  # progress may be lost; the run's own writes report a failing store
                save_progress(self._store, progress)
            self._saved_at = time.monotonic()

    def _progress(self) -> Progress:
        return Progress(
            repo=self.repo,
            phase=self._phase,
            commit=self.commit,
            files_done=self._files_done,
            files_total=self._files_total,
            chunks_done=self._chunks_done,
            started_at=self._started_at,
            updated_at=now("seconds"),
            ref=self.ref,
            repo_id=self.repo_id,
        )
