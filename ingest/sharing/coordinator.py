"""The side of the run that planned: it offers its batches, works on them like everybody, and waits for the last one."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.files.workers import Readers
from codequarry.ingest.run import Run
from codequarry.ingest.sharing.share import Claim, Share, SharedPlan
from codequarry.ingest.transaction.holder import is_gone, spoken
from codequarry.ingest.transaction.lease import Heartbeat, Held
from codequarry.ingest.transaction.writing import Writer, Written
from codequarry.shared.errors import Conflict, QueueUnavailable

# A batch ends with the files of the settings or so many bytes: all take about as long, so nobody is waited for.
BATCH_BYTES = 4_000_000
# More do not help: the store is then what takes the time.
MOST_HELPERS = 32
# So often help is called again: messages may be lost, and processes come free.
CALL_SECONDS = 10.0
# How often the others are looked at while nothing is left to take.
LOOK_SECONDS = 0.2


class HelperSilent(Conflict):
    """Somebody who takes part shows no sign of life, and may yet write."""


def is_shared(run: Run, tasks: Sequence[FileTask]) -> bool:
    """Tell whether others are to take part in writing so many files.

    Not where a limit counts what one process has written, nor for a working tree, whose files are on one machine.
    """
    request, workshop = run.request, run.workshop
    limited = request.max_chunks is not None or request.max_tokens is not None
    alone = workshop.call_helpers is None or limited or run.source.entries is not None
    return not alone and len(tasks) > workshop.settings.queue.share_files


def write_shared(run: Run, held: Held, heartbeat: Heartbeat, tasks: Sequence[FileTask], readers: Readers) -> Written:
    """Write every file together with whoever takes part; errors as of ``Writer.write``."""
    batches = list(_cut(tasks, run.workshop.settings.indexing.batch_files))
    share = Share(run.workshop.store, held.timeline, held.number)
    rules = run.source.assignment(run.repository.name, run.workshop.settings).rules
    source, guarded = run.source, run.repository.guarded
    share.offer(SharedPlan(held.holder, source.origin.url, source.commit, len(batches), rules, guarded), batches)
    written = _Coordinator(run, held, heartbeat, share, readers).work(batches)
    share.clear()
    return written


class _Coordinator:
    """One import that is shared."""

    def __init__(self, run: Run, held: Held, heartbeat: Heartbeat, share: Share, readers: Readers) -> None:
        self._run, self._held, self._heartbeat = run, held, heartbeat
        self._share, self._readers = share, readers
        self._counted: set[int] = set()
        self._seen: dict[int, tuple[str, int, float]] = {}
        self._called = float("-inf")

    def work(self, batches: Sequence[Sequence[FileTask]]) -> Written:
        while True:
            claims = self._share.claims()
            self._count(claims)
            if len(self._counted) == len(batches):
                return _total(claims)
            free = [at for at in range(len(batches)) if at not in claims or claims[at].is_free]
            if free:
                self._call(len(free) - 1)
                self._write(free[0], batches[free[0]])
            elif not self._take_over(claims):
                time.sleep(LOOK_SECONDS)
                # Whoever observes may have something more urgent to do, or to end.
                self._run.watch.advance(0, 0)
                self._heartbeat.check()

    def _write(self, at: int, files: Sequence[FileTask]) -> None:
        if not self._share.take(at, self._held.holder):
            return
        run = self._run
        writer = Writer(run.repository.name, self._held, run.workshop, self._heartbeat, run.request)
        self._share.finish(at, self._held.holder, writer.write(self._readers.read(files), run.watch))
        self._counted.add(at)

    def _count(self, claims: dict[int, Claim]) -> None:
        """Add what others have written to the progress."""
        for at, claim in claims.items():
            if claim.written and at not in self._counted:
                self._counted.add(at)
                self._run.watch.advance(claim.written.files, claim.written.chunks)

    def _call(self, most: int) -> None:
        call = self._run.workshop.call_helpers
        if call is None or not most or time.monotonic() - self._called < CALL_SECONDS:
            return
        self._called = time.monotonic()
        with suppress(QueueUnavailable):
            call(self._held.timeline, self._held.number, min(most, MOST_HELPERS))

    def _take_over(self, claims: dict[int, Claim]) -> bool:
        """Free the batches of claimants that are known to be gone, and tell whether there were any.

        HelperSilent where one shows no life by our own clock and may still wake up: its number is given up (rule 7).
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
            if claim.claimant == self._held.holder or is_gone(claim.claimant):
                self._share.free(at, claim.claimant)
                found = True
            elif now - since >= self._run.workshop.settings.indexing.lease_seconds:
                raise HelperSilent(f"{spoken(claim.claimant)} took part and fell silent; the import begins again")
        return found


def _total(claims: dict[int, Claim]) -> Written:
    total = Written()
    for claim in claims.values():
        if claim.written:
            total.add(claim.written)
    return total


def _cut(tasks: Sequence[FileTask], most_files: int) -> Iterator[list[FileTask]]:
    batch: list[FileTask] = []
    size = 0
    for task in tasks:
        batch.append(task)
        size += task.size if task.skip is None else 0
        if len(batch) >= most_files or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
