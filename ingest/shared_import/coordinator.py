"""The side of the run that planned: it offers its batches, works on them like everybody, and waits for the last one."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from codequarry.ingest.files.reader import ReadFile
from codequarry.ingest.files.reading_pool import Readers
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.shared_import.read_ahead import ReadingAhead
from codequarry.ingest.shared_import.share import Claim, SharedImport, SharedPlan
from codequarry.ingest.transaction.holder import has_ended, describe_holder
from codequarry.ingest.transaction.lease import Heartbeat, Held
from codequarry.ingest.transaction.run_report import Run
from codequarry.ingest.transaction.writer import Writer, Written
from codequarry.shared.errors import Conflict, QueueUnavailable

# More do not help: the store is then what takes the time.
MOST_HELPERS = 32
# So often help is called again: messages may be lost, and processes come free.
CALL_SECONDS = 10.0
# How often the others are looked at while nothing is left to take.
LOOK_SECONDS = 0.2


class HelperSilent(Conflict):
    """Somebody who takes part shows no sign of life, and may yet write."""


def is_shared(run: Run, tasks: Sequence[FileTask]) -> bool:
    """Tell whether others are to take part in writing these files.

    Not where a limit counts what one process has written, nor for a working tree, whose files are on one machine.
    """
    request, workshop = run.request, run.workshop
    limited = request.max_chunks is not None or request.max_tokens is not None
    alone = workshop.call_helpers is None or limited or run.source.entries is not None
    return not alone and is_large(tasks, workshop.settings.queue.share_files)


def write_shared(run: Run, held: Held, heartbeat: Heartbeat, tasks: Sequence[FileTask], readers: Readers) -> Written:
    """Write every file together with whoever takes part; errors as of ``Writer.write``."""
    batches = list(cut(tasks, run.workshop.settings.indexing.batch_files))
    share = SharedImport(run.workshop.store, held.timeline, held.number)
    rules = run.source.assignment(run.repository.name, run.workshop.settings).rules
    source, guarded = run.source, run.repository.guarded
    share.offer(SharedPlan(held.holder, source.origin.url, source.commit, len(batches), rules, guarded), batches)
    written = _Coordinator(run, held, heartbeat, share, batches).work(readers)
    share.clear()
    return written


class _Coordinator:
    """One import that is shared."""

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
            claims = self._look()
            if len(self._counted) == len(self._batches):
                return _total(claims)
            if not self._free(claims) and not self._take_over(claims):
                time.sleep(LOOK_SECONDS)
                # Whoever observes may have something more urgent to do, or to end.
                self._run.watch.advance(0, 0)
                self._heartbeat.check()

    def _claim(self) -> tuple[int, Sequence[FileTask]] | None:
        """Take the first batch that nobody has, and see that there are others for the next ones."""
        free = self._free(self._look())
        self._call(len(free) - 1)
        at = next((one for one in free if self._share.take(one, self._held.holder)), None)
        return None if at is None else (at, self._batches[at])

    def _finish(self, at: int, files: list[ReadFile]) -> None:
        run = self._run
        writer = Writer(run.repository.name, self._held, run.workshop, self._heartbeat, run.request)
        self._share.finish(at, self._held.holder, writer.write(files, run.watch))
        self._counted.add(at)

    def _free(self, claims: dict[int, Claim]) -> list[int]:
        return [at for at in range(len(self._batches)) if at not in claims or claims[at].is_free]

    def _look(self) -> dict[int, Claim]:
        """Return the claims, after adding what others have written to the progress."""
        claims = self._share.claims()
        for at, claim in claims.items():
            if claim.written and at not in self._counted:
                self._counted.add(at)
                self._run.watch.advance(claim.written.files, claim.written.chunks)
        return claims

    def _call(self, most: int) -> None:
        call = self._run.workshop.call_helpers
        if call is None or most < 1 or time.monotonic() - self._called < CALL_SECONDS:
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
            if claim.claimant == self._held.holder or has_ended(claim.claimant):
                self._share.free(at, claim.claimant)
                found = True
            elif now - since >= self._run.workshop.settings.indexing.lease_seconds:
                raise HelperSilent(f"{describe_holder(claim.claimant)} took part and fell silent; the import begins again")
        return found


def _total(claims: dict[int, Claim]) -> Written:
    total = Written()
    for claim in claims.values():
        if claim.written:
            total.add(claim.written)
    return total


# The mean over the 7,500 files of 8 public repositories; there half of the time goes by files, half by their bytes.
USUAL_BYTES = 5_500
# A batch ends with the files of the settings or so many bytes: all take about as long, so nobody is waited for.
BATCH_BYTES = 4_000_000
# At the end small batches, so that all who take part end at about the same time: the last fifth, in quarters.
LAST_SHARE = 5
LAST_PARTS = 4


def is_large(tasks: Sequence[FileTask], share_files: int) -> bool:
    """Tell whether the files that are read take as long as more than ``share_files`` of the usual size."""
    read = [task.size for task in tasks if task.skip is None]
    return len(read) / 2 + sum(read) / USUAL_BYTES / 2 > share_files


def cut(tasks: Sequence[FileTask], most_files: int) -> Iterator[list[FileTask]]:
    """Yield the batches, in order."""
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
