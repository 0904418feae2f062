"""The parent's side of the reading processes: it keeps few tasks in flight, and no file can fail the run."""

import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Protocol

from codequarry.ingest.files.read_file import ReadFile, cut_by_lines, failed
from codequarry.ingest.files.reading_order import CLOCK_FACTOR, READY, ReadingOrder
from codequarry.ingest.files.scan import FileTask
from codequarry.shared.errors import CodequarryError
from codequarry.shared.processors import processor_count
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.settings.index import IndexingSettings
from codequarry.shared.stop_request import LOOK_SECONDS, check_stop

# Small enough that the processes finish together, large enough to make the handover cheap.
BATCH_FILES = 16
BATCH_BYTES = 400_000
# Batches initially handed out per process. All batches in flight are in memory.
BATCHES_PER_WORKER = 3
# A first crash may be the system's fault (out of memory); a second crash on the same file is the file's, which is then
# cut by its lines, without the grammar that probably crashed.
ATTEMPTS = 2


class Readers(Protocol):
    """Reads many files, in other processes or in this process."""

    def read(self, tasks: Iterable[FileTask]) -> Iterator[ReadFile]:
        """Yield one outcome for each task, in any order."""
        ...

    def close(self) -> None:
        """End the processes."""
        ...


def most_processes(settings: IndexingSettings) -> int:
    """Return how many processes read files when there are enough of them."""
    return processor_count() if settings.processes is None else settings.processes


def reading_processes(tasks: Sequence[FileTask], settings: IndexingSettings) -> int:
    """Return how many processes are worth starting for these files."""
    return min(most_processes(settings), -(-sum(task.skip is None for task in tasks) // BATCH_FILES))


def read_apart(settings: SettingsModel) -> SettingsModel:
    """Return settings under which a process that others depend on reads untrusted files in a child process."""
    if settings.indexing.processes != 0:
        return settings
    return settings.model_copy(update={"indexing": settings.indexing.model_copy(update={"processes": 1})})


def open_readers(assignment: ReadingOrder, processes: int) -> Readers:
    """Return readers in ``processes`` processes; 0 reads in this process, for debuggers and profilers."""
    return WorkerProcesses(assignment, processes) if processes else InProcess(assignment)


class InProcess:
    """Reads in this process; a file that hangs the chunker hangs the run."""

    def __init__(self, assignment: ReadingOrder) -> None:
        from codequarry.ingest.files.reader import FileReader  # with all grammars, which the other way needs not load

        self._reader = FileReader(assignment.mirror, assignment.rules)

    def read(self, tasks: Iterable[FileTask]) -> Iterator[ReadFile]:
        """Yield one outcome for each task."""
        return map(self._reader.read, tasks)

    def close(self) -> None:
        """End the git process."""
        self._reader.close()


class Crashed(Exception):
    """The process ended in the middle of a file."""


class NotStarted(CodequarryError):
    """The process ended before it was ready, so no file caused it."""


class WorkerProcess:
    """A reading process."""

    def __init__(self, assignment: ReadingOrder) -> None:
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 -- closed with the process
        # -P: the current folder may be an untrusted repository, whose modules must not be imported.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "codequarry.ingest.files.reading_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env=dict(assignment.mirror.environment),
            start_new_session=True,
        )
        self._seconds = assignment.file_seconds
        self._send(assignment)
        self._started = False

    def read(self, tasks: list[FileTask]) -> Iterator[ReadFile]:
        """Yield the outcomes in order; raise Crashed if the process ends before the last outcome."""
        if not self._started:
            self._await_start()
        self._send(tasks)
        for _ in tasks:
            result = self._receive()
            if isinstance(result, CodequarryError):
                raise result
            assert isinstance(result, ReadFile)
            yield result

    def kill(self) -> None:
        """End the process at once."""
        if self._process.poll() is None:
            self._process.kill()

    def close(self) -> str:
        """Release the process's resources and return how it ended."""
        self.kill()
        code = self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(BrokenPipeError):
                stream and stream.close()
        self._complaints.close()
        if code == -signal.SIGVTALRM:
            return f"took more than {self._seconds:g} s of processor time"
        if code == -signal.SIGALRM:
            return f"took more than {self._seconds * CLOCK_FACTOR:g} s"
        return f"crashed ({signal.Signals(-code).name if code < 0 else f'exit {code}'})"

    def _await_start(self) -> None:
        with suppress(Crashed):
            self._started = self._receive() == READY
        if not self._started:
            self._complaints.seek(0)
            last = self._complaints.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise NotStarted(f"the reading process did not start: {last or 'it ended without a message'}")

    def _send(self, message: object) -> None:
        assert self._process.stdin
        with suppress(BrokenPipeError):
            pickle.dump(message, self._process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def _receive(self) -> object:
        assert self._process.stdout
        try:
            return pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError, OSError) as error:
            raise Crashed from error


class WorkerProcesses:
    """Reading processes, each with a thread that talks to it; they start immediately, before there is work."""

    def __init__(self, assignment: ReadingOrder, processes: int) -> None:
        self._assignment = assignment
        self._batches: queue.SimpleQueue[list[FileTask] | None] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[ReadFile | BaseException] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._workers = [WorkerProcess(assignment) for _ in range(processes)]
        self._threads = [
            threading.Thread(target=self._serve, args=(slot,), name=f"reader-{slot}", daemon=True)
            for slot in range(processes)
        ]
        for thread in self._threads:
            thread.start()

    def read(self, tasks: Iterable[FileTask]) -> Iterator[ReadFile]:
        """Yield outcomes as they arrive; take tasks only as fast as the caller takes outcomes."""
        waiting = _batched(tasks)
        in_flight = self._hand_out(waiting, BATCHES_PER_WORKER * len(self._workers))
        while in_flight:
            outcome = self._next_outcome()
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome
            in_flight -= 1
            if self._batches.qsize() < len(self._workers):
                in_flight += self._hand_out(waiting, 1)

    def _next_outcome(self) -> ReadFile | BaseException:
        while True:
            check_stop()
            with suppress(queue.Empty):
                return self._outcomes.get(timeout=LOOK_SECONDS)

    def _hand_out(self, waiting: Iterator[list[FileTask]], batches: int) -> int:
        handed = list(islice(waiting, batches))
        for batch in handed:
            self._batches.put(batch)
        return sum(map(len, handed))

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        self._closing.set()
        for _ in self._threads:
            self._batches.put(None)
        for worker in self._workers:
            worker.kill()
        for thread in self._threads:
            thread.join()
        for worker in self._workers:
            worker.close()

    def _serve(self, slot: int) -> None:
        """Send batches to one process and pass on its outcomes, restarting it after a crash."""
        try:
            while not self._closing.is_set() and (batch := self._batches.get()) is not None:
                self._read_batch(slot, batch)
        except BaseException as error:
            if not self._closing.is_set():
                self._outcomes.put(error)

    def _read_batch(self, slot: int, batch: list[FileTask]) -> None:
        attempts = starts = 0
        while batch and not self._closing.is_set():
            done = 0
            try:
                for outcome in self._workers[slot].read(batch):
                    self._outcomes.put(outcome)
                    done += 1
            except NotStarted:
                starts += 1
                if starts >= ATTEMPTS:
                    raise
                self._replace(slot)
            except Crashed:
                if self._closing.is_set():
                    return
                how = self._replace(slot)
                attempts = attempts + 1 if done == 0 else 1
                if attempts >= ATTEMPTS or how.startswith("took"):
                    attempts = 0
                    if simpler := cut_by_lines(batch[done]):
                        batch[done] = simpler
                    else:
                        self._outcomes.put(failed(batch[done], how))
                        done += 1
            batch = batch[done:]

    def _replace(self, slot: int) -> str:
        how = self._workers[slot].close()
        self._workers[slot] = WorkerProcess(self._assignment)
        return how


def _batched(tasks: Iterable[FileTask]) -> Iterator[list[FileTask]]:
    batch: list[FileTask] = []
    size = 0
    for task in tasks:
        batch.append(task)
        size += task.size
        if len(batch) >= BATCH_FILES or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
