"""A helper in another process's import: writes a few batches per turn."""

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

from codequarry.ingest.files.read_file import ReadFile
from codequarry.ingest.files.reading_order import ReadingOrder
from codequarry.ingest.files.reading_pool import most_processes, open_readers
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.git.mirror_cache import mirror_in_use
from codequarry.ingest.git.origins import origin_of_record
from codequarry.ingest.history.file_histories import DatingReaders, FileHistories
from codequarry.ingest.request.index_request import IndexRequest, ObserveRun, Workshop
from codequarry.ingest.request.progress import Watch
from codequarry.ingest.shared_import.read_ahead import ReadingAhead
from codequarry.ingest.shared_import.share import SharedImport, SharedPlan
from codequarry.ingest.source.source import fetch_commit
from codequarry.ingest.transaction.holder import new_holder, retire_holder
from codequarry.ingest.transaction.lease import BEATS_PER_LEASE, Heartbeat, Held
from codequarry.ingest.transaction.writer import Writer
from codequarry.shared.errors import Conflict, StoreError
from codequarry.shared.repositories.followed_versions import with_permitted_commentary
from codequarry.shared.repositories.mirror_folders import mirror_folder
from codequarry.shared.repositories.model_permission import check_model_allowed
from codequarry.shared.versions.head import Place


class Beat:
    """A thread that sends a claimant's heartbeats every few ``seconds``, for no longer than one batch may take."""

    def __init__(self, share: SharedImport, claimant: str, seconds: float) -> None:
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
        """The batches that are claimed and not finished."""
        return self._held

    def hold(self, at: int) -> None:
        """Start a batch's heartbeat."""
        if not self._held:
            self._until = time.monotonic() + BATCH_SECONDS
        self._held = (*self._held, at)

    def drop(self, at: int) -> None:
        """Stop a finished batch's heartbeat, and give the next batch its full time."""
        self._until = time.monotonic() + BATCH_SECONDS
        self._held = tuple(held for held in self._held if held != at)

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            for at in self._held if time.monotonic() < self._until else ():
                try:
                    self._share.beat(at, self._claimant)
                except (Conflict, StoreError):
                    continue  # finished or taken over, which its own thread will notice; or the store may recover


# No batch is started later than this in a turn, so that a more urgent message can go first between turns.
TURN_SECONDS = 5.0
# How long an import stays open between turns; another process may have received the message for the next turn.
IDLE_SECONDS = 10.0


class Helper:
    """Takes part in other processes' imports, and keeps one import open between turns.

    Owned by one process that calls it from one thread; a timer thread closes an import that is idle.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open_import: _OpenImport | None = None
        self._idle: threading.Timer | None = None

    def take_part(self, timeline: int, number: int, workshop: Workshop, observe: ObserveRun) -> bool:
        """Write batches of a transaction that another process holds, and return whether there are more.

        Raises LeaseHeld if that process has lost its lease. Any other error frees the claimed batches and is re-raised.
        """
        with self._lock:
            if self._idle:
                self._idle.cancel()
            more = False
            try:
                more = self._take_turn(timeline, number, workshop, observe)
            finally:
                # A message about a finished import says nothing about the import that is open here.
                if not more and self._open_import and self._open_import.place == (timeline, number):
                    self._close_import()
                if self._open_import:
                    self._await_next_turn(self._open_import)
            return more

    def close(self) -> None:
        """Close the open import, if any."""
        with self._lock:
            if self._idle:
                self._idle.cancel()
            self._close_import()

    def _take_turn(self, timeline: int, number: int, workshop: Workshop, observe: ObserveRun) -> bool:
        share = SharedImport(workshop.store, timeline, number)
        plan = share.plan()
        if plan is None:
            return False
        # Not started, because the other process renews its lease; here it is only checked before each write (rule 2).
        held = Held(timeline, number, plan.holder, new=False)
        heartbeat = Heartbeat(workshop.store, held, workshop.settings.indexing.lease_seconds)
        heartbeat.check()
        check_model_allowed(workshop.settings, plan.rules.repo, plan.origin, workshop.embedder)
        if self._open_import is None or not self._open_import.is_for(held, plan, workshop):
            if not _free(share, plan):
                return False
            self._close_import()
            # Opened before any claim: a clone may take a long time, and the coordinator should not wait for it.
            self._open_import = _OpenImport(held, plan, workshop)
        return self._open_import.take_turn(share, heartbeat, workshop, observe)

    def _await_next_turn(self, desk: "_OpenImport") -> None:
        def close() -> None:
            with self._lock:
                if self._open_import is desk and self._idle is timer:
                    self._close_import()

        self._idle = timer = threading.Timer(IDLE_SECONDS, close)
        timer.daemon = True
        timer.start()

    def _close_import(self) -> None:
        desk, self._open_import = self._open_import, None
        if desk:
            desk.close()


class _OpenImport:
    """What a helper keeps open for one import: its mirror, protected from removal, and the reading processes."""

    def __init__(self, held: Held, plan: SharedPlan, workshop: Workshop) -> None:
        self._held, self._plan, self._store = held, plan, workshop.store
        settings = workshop.settings
        origin = origin_of_record(plan.origin)
        with ExitStack() as stack:
            stack.enter_context(mirror_in_use(mirror_folder(origin, settings.home)))
            mirror = fetch_commit(origin, plan.commit, settings, guarded=plan.guarded)
            readers = open_readers(
                ReadingOrder(mirror, plan.rules, settings.indexing.process_memory_bytes),
                most_processes(settings.indexing),
            )
            stack.enter_context(closing(readers))
            self._open = stack.pop_all()
        self._histories = FileHistories(mirror, plan.commit, plan.rules)
        self._reading = ReadingAhead(DatingReaders(readers, self._histories))
        self._name = new_holder()

    @property
    def place(self) -> Place:
        """The timeline and the number of the import."""
        return self._held.timeline, self._held.number

    def is_for(self, held: Held, plan: SharedPlan, workshop: Workshop) -> bool:
        """Return whether this is open for the given import; the index may have moved, or another run taken over."""
        return (self._held, self._plan) == (held, plan) and self._store is workshop.store

    def close(self) -> None:
        """End the reading processes and release the mirror."""
        self._open.close()
        retire_holder(self._name)

    def take_turn(self, share: SharedImport, heartbeat: Heartbeat, workshop: Workshop, observe: ObserveRun) -> bool:
        """Write batches until the turn is over or no batch is free, and return whether there may be more batches."""
        until: float | None = None
        more = True
        watch = Watch(self._store, observe, self._plan.rules.repo, saves=False)
        workshop = replace(workshop, settings=with_permitted_commentary(workshop.settings, self._plan.origin))
        request = IndexRequest(self._plan.origin)

        def claim() -> tuple[int, Sequence[FileTask]] | None:
            nonlocal until, more
            if until is not None and time.monotonic() >= until:
                return None
            at = self._claim_one(share, beat)
            if at is None:
                more = False
                return None
            until = until or time.monotonic() + TURN_SECONDS
            files = share.files(at)
            watch.say("indexing")
            return at, files

        def finish(at: int, files: list[ReadFile]) -> None:
            writer = Writer(self._plan.rules.repo, self._held, workshop, heartbeat, request)
            written = writer.write(files, watch)
            written.history_problem = self._histories.problem
            share.finish(at, self._name, written)
            beat.drop(at)

        seconds = workshop.settings.indexing.lease_seconds / BEATS_PER_LEASE
        with Beat(share, self._name, seconds) as beat, self._freed_on_failure(share, beat):
            self._reading.work(claim, finish)
        return more

    def _claim_one(self, share: SharedImport, beat: Beat) -> int | None:
        """Claim a free batch and start its heartbeat; choose it at random, because many helpers start at once."""
        free = _free(share, self._plan)
        random.shuffle(free)
        at = next((number for number in free if share.take(number, self._name)), None)
        if at is None:
            return None
        beat.hold(at)
        if share.plan() != self._plan:
            share.withdraw(at, self._name)  # meanwhile the last batch was finished, and everything cleared
            beat.drop(at)
            return None
        return at

    @contextmanager
    def _freed_on_failure(self, share: SharedImport, beat: Beat) -> Iterator[None]:
        try:
            yield
        except BaseException:
            for at in beat.held:
                share.free(at, self._name)
                if share.plan() != self._plan:
                    share.withdraw(at, self._name)  # cleared meanwhile: the claim would stay forever
            raise


def _free(share: SharedImport, plan: SharedPlan) -> list[int]:
    claims = share.claims()
    return [at for at in range(plan.batches) if at not in claims or claims[at].is_free]


# A process that takes longer than this for a batch is stuck, in a model or a grammar. It then counts as silent, so the
# coordinator waits no longer than this time plus a lease.
BATCH_SECONDS = 900.0
