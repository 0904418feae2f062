"""The coordinating run of a shared import: offers the batches, writes batches itself, and waits for the last batch."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from codequarry.ingest.files.read_file import ReadFile
from codequarry.ingest.files.reading_pool import Readers
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.shared_import.read_ahead import ReadingAhead
from codequarry.ingest.shared_import.share import Claim, SharedImport, SharedPlan
from codequarry.ingest.transaction.holder import describe_holder, has_ended
from codequarry.ingest.transaction.lease import Heartbeat, Held
from codequarry.ingest.transaction.run_report import Run
from codequarry.ingest.transaction.writer import Writer
from codequarry.ingest.transaction.written import Written
from codequarry.shared.errors import Conflict, QueueUnavailable

# With more helpers, the store becomes the bottleneck.
MOST_HELPERS = 32
# How often helpers are called again, because messages may be lost and processes become free.
CALL_SECONDS = 10.0
# How often the claims of helpers are read while no batch is left to claim.
LOOK_SECONDS = 0.2


class HelperSilent(Conflict):
    """A helper has stopped responding, but may still write."""


def is_shared(run: Run, tasks: Sequence[FileTask]) -> bool:
    """Return whether helpers take part: not with a limit on one process's writes, nor for a (local) working tree."""
    request, workshop = run.request, run.workshop
    limited = request.max_chunks is not None or request.max_tokens is not None
    alone = workshop.call_helpers is None or limited or run.source.entries is not None
    return not alone and is_large(tasks, workshop.settings.queue.share_files)


def write_shared(run: Run, held: Held, heartbeat: Heartbeat, tasks: Sequence[FileTask], readers: Readers) -> Written:
    """Write every file together with helpers; raise HelperSilent, or whatever ``Writer.write`` raises."""
    batches = list(cut(tasks, run.workshop.settings.indexing.batch_files))
    share = SharedImport(run.workshop.store, held.timeline, held.number)
    rules = run.source.assignment(run.repository.name, run.workshop.settings).rules
    source, guarded = run.source, run.repository.guarded
    share.offer(SharedPlan(held.holder, source.origin.url, source.commit, len(batches), rules, guarded), batches)
    written = _Coordinator(run, held, heartbeat, share, batches).work(readers)
    share.clear()
    return written


class _Coordinator:
    def __init__(
        self, run: Run, held: Held, heartbeat: Heartbeat, share: SharedImport, batches: Sequence[Sequence[FileTask]]
    ) -> None:
        self._run, self._held, self._heartbeat = run, held, heartbeat
        self._share, self._batches = share, batches
        self._counted: set[int] = set()
        self._seen: dict[int, tuple[str, int, float]] = {}
        self._called = float("-inf")

    def work(self, readers: Readers) -> Written:
        reading = ReadingAhead(readers)
        while True:
            reading.work(self._claim, self._finish)
            claims = self._read_claims()
            if len(self._counted) == len(self._batches):
                return _total(claims)
            if not self._free(claims) and not self._take_over(claims):
                time.sleep(LOOK_SECONDS)
                # The observer may run a more urgent job here, or stop this run.
                self._run.watch.advance(0, 0)
                self._heartbeat.check()

    def _claim(self) -> tuple[int, Sequence[FileTask]] | None:
        free = self._free(self._read_claims())
        self._call_helpers(len(free) - 1)
        at = next((number for number in free if self._share.take(number, self._held.holder)), None)
        return None if at is None else (at, self._batches[at])

    def _finish(self, at: int, files: list[ReadFile]) -> None:
        run = self._run
        writer = Writer(run.repository.name, self._held, run.workshop, self._heartbeat, run.request)
        self._share.finish(at, self._held.holder, writer.write(files, run.watch))
        self._counted.add(at)

    def _free(self, claims: dict[int, Claim]) -> list[int]:
        return [at for at in range(len(self._batches)) if at not in claims or claims[at].is_free]

    def _read_claims(self) -> dict[int, Claim]:
        """Add what helpers have written to the progress, and return the claims."""
        claims = self._share.claims()
        for at, claim in claims.items():
            if claim.written and at not in self._counted:
                self._counted.add(at)
                self._run.watch.advance(claim.written.files, claim.written.chunks)
        return claims

    def _call_helpers(self, most: int) -> None:
        call = self._run.workshop.call_helpers
        if call is None or most < 1 or time.monotonic() - self._called < CALL_SECONDS:
            return
        self._called = time.monotonic()
        with suppress(QueueUnavailable):
            call(self._held.timeline, self._held.number, min(most, MOST_HELPERS))

    def _take_over(self, claims: dict[int, Claim]) -> bool:
        """Free the batches of claimants that are known to be gone, and return whether there were any.

        Raises HelperSilent if a claimant is silent by our own clock: it may wake up, so the number is aborted (rule 7).
        """
        found = False
        now = time.monotonic()
        for at, claim in claims.items():
            if claim.written:
                continue
            claimant, beats, since = self._seen.get(at, ("", -1, now))
            if (claimant, beats) != (claim.claimant, claim.beats):
                since = now
            self._seen[at] = (claim.claimant, claim.beats, since)
            if claim.claimant == self._held.holder or has_ended(claim.claimant):
                self._share.free(at, claim.claimant)
                found = True
            elif now - since >= self._run.workshop.settings.indexing.lease_seconds:
                raise HelperSilent(
                    f"{describe_holder(claim.claimant)} joined and then stopped responding; the import starts again"
                )
        return found


def _total(claims: dict[int, Claim]) -> Written:
    total = Written()
    for claim in claims.values():
        if claim.written:
            total.add(claim.written)
    return total


# The mean of 7,500 files in 8 public repositories; half of the time depends on the number of files, half on bytes.
USUAL_BYTES = 5_500
# A batch ends at the configured number of files or at this many bytes, so that all batches take about the same time.
BATCH_BYTES = 4_000_000
# The last fifth is cut into batches of a quarter of that size, so that all processes end at about the same time.
LAST_SHARE = 5
LAST_PARTS = 4


def is_large(tasks: Sequence[FileTask], share_files: int) -> bool:
    """Return whether reading the files takes longer than reading ``share_files`` files of the usual size."""
    read = [task.size for task in tasks if task.skip is None]
    return len(read) / 2 + sum(read) / USUAL_BYTES / 2 > share_files


def cut(tasks: Sequence[FileTask], most_files: int) -> Iterator[list[FileTask]]:
    """Yield the batches in order."""
    last = len(tasks) - len(tasks) // LAST_SHARE
    batch: list[FileTask] = []
    size = 0
    for at, task in enumerate(tasks):
        part = 1 if at < last else LAST_PARTS
        batch.append(task)
        size += _bytes(task)
        if len(batch) * part >= most_files or size * part >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _bytes(task: FileTask) -> int:
    return task.size if task.skip is None else 0
