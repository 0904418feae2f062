"""The run's side of listing a version's files: a child process that is killed if it takes too long or the run stops."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from multiprocessing.connection import Connection

from codequarry.ingest.files.lister import ListingOrder, decided_files
from codequarry.ingest.files.scan import FileTask
from codequarry.shared.errors import CodequarryError, GitError, LimitExceeded
from codequarry.shared.settings.index import IndexingSettings
from codequarry.shared.stop_request import LOOK_SECONDS, check_stop

_spare: ContextVar["_Lister | None"] = ContextVar("lister_ahead", default=None)


def list_files(order: ListingOrder, settings: IndexingSettings) -> list[FileTask]:
    """Return a version's files with the decisions based on their paths; raise LimitExceeded at a configured limit."""
    if settings.processes == 0:  # for debuggers
        return _once(decided_files(order))
    with closing(_spare.get() or _Lister(settings)) as lister:
        _spare.set(None)
        return _once(lister.files(order))


def _once(files: Iterable[FileTask]) -> list[FileTask]:
    """Return the first file for each path, because a tree that git did not write may name a path twice."""
    first: dict[str, FileTask] = {}
    for file in files:
        first.setdefault(file.path, file)
    return list(first.values())


@contextmanager
def lister_ahead(settings: IndexingSettings) -> Iterator[None]:
    """Start a listing process that loads its modules while this thread's run fetches, which saves 0.1 s."""
    lister = _Lister(settings) if settings.processes != 0 else None
    token = _spare.set(lister)
    try:
        yield
    finally:
        _spare.reset(token)
        if lister:
            lister.close()


class _Lister:
    def __init__(self, settings: IndexingSettings) -> None:
        self._seconds = settings.listing_seconds
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 -- closed with the process
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        # -P: the current folder may be an untrusted repository, whose modules must not be imported.
        command = [sys.executable, "-P", "-m", "codequarry.ingest.files.lister"]
        limits = [str(settings.process_memory_bytes), str(max(1, round(self._seconds)))]
        try:
            self._process = subprocess.Popen(
                [*command, *limits],
                stdin=theirs_in,
                stdout=theirs_out,
                stderr=self._complaints,
                env={name: value for name, value in os.environ.items() if not name.startswith("CODEQUARRY_")},
                start_new_session=True,
            )
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self._orders, self._answers = Connection(ours_out, readable=False), Connection(ours_in, writable=False)

    def files(self, order: ListingOrder) -> Iterator[FileTask]:
        with suppress(BrokenPipeError):  # the missing answer leads to an error that says why the process ended
            self._orders.send(order)
        deadline = time.monotonic() + self._seconds
        try:
            while (answer := self._answer(deadline)) is not None:
                if isinstance(answer, CodequarryError):
                    raise answer
                assert isinstance(answer, list)
                yield from answer
        except EOFError:
            raise self._failure() from None

    def close(self) -> None:
        """End the process and the git process that it started."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for stream in (self._orders, self._answers, self._complaints):
            stream.close()

    def _answer(self, deadline: float) -> object:
        """Return the next answer; raise EOFError if the process has ended without sending it."""
        check_stop()
        while not self._answers.poll(LOOK_SECONDS):
            check_stop()
            if time.monotonic() > deadline:
                raise LimitExceeded(self._too_long("s"))
        try:
            return self._answers.recv()
        except OSError as error:  # the process ended in the middle of an answer
            raise EOFError from error

    def _failure(self) -> CodequarryError:
        code = self._process.wait()
        if code == -signal.SIGXCPU:
            return LimitExceeded(self._too_long("s of processor time"))
        self._complaints.seek(0)
        last = self._complaints.read().decode(errors="replace").strip().rpartition("\n")[2]
        how = signal.Signals(-code).name if code < 0 else f"exit {code}"
        return GitError(f"the process that lists its files ended ({how}): {last or 'it left no message'}; run again")

    def _too_long(self, unit: str) -> str:
        return f"listing its files takes more than {self._seconds:g} {unit} ([indexing] listing_seconds)"
