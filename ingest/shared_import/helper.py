"""The side of whoever takes part in somebody's import: a few batches a turn, and the answer whether there are more."""

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from codequarry.ingest.files.reader import ReadFile
from codequarry.ingest.files.reading_pool import most_processes, open_readers
from codequarry.ingest.files.reading_process import ReadingOrder
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.git.mirror_cache import mirror_in_use
from codequarry.ingest.git.mirrors import mirror_folder
from codequarry.ingest.git.origins import origin_of_record
from codequarry.ingest.request.index_request import IndexRequest, ObserveRun, Workshop
from codequarry.ingest.request.progress import Watch
from codequarry.ingest.shared_import.read_ahead import ReadingAhead
from codequarry.ingest.shared_import.share import SharedImport, SharedPlan
from codequarry.ingest.source.source import fetch_commit
from codequarry.ingest.transaction.holder import new_holder, retire_holder
from codequarry.ingest.transaction.lease import BEATS_PER_LEASE, Heartbeat, Held
from codequarry.ingest.transaction.writer import Writer
from codequarry.shared.errors import Conflict, StoreError
from codequarry.shared.repositories.model_permission import check_model_allowed
from codequarry.shared.versions.head import Place


class Beat:
    """A thread that shows every few ``seconds`` that a claimant lives, for as long as one batch may take."""

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


# No further batch is begun later than this in a turn, so that a more urgent message overtakes between two turns.
TURN_SECONDS = 5.0
# What was opened for an import is kept for so long between two turns: another process may have got the message.
IDLE_SECONDS = 10.0


class Helper:
    """Takes part in imports of others, and keeps open between two turns what reads for one of them.

    Owned by one process that calls it from one thread; a thread of its own closes what was not used for a while.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._desk: _Desk | None = None
        self._idle: threading.Timer | None = None

    def take_part(self, timeline: int, number: int, workshop: Workshop, observe: ObserveRun) -> bool:
        """Write batches of a transaction that another process holds, and tell whether there are more.

        LeaseHeld where that process has lost it; what else fails gives the batches in hand back and is raised.
        """
        with self._lock:
            if self._idle:
                self._idle.cancel()
            more = False
            try:
                more = self._take_turn(timeline, number, workshop, observe)
            finally:
                # A message about an import that is over says nothing of the one that this process is at.
                if not more and self._desk and self._desk.place == (timeline, number):
                    self._leave()
                if self._desk:
                    self._await_next_turn(self._desk)
            return more

    def close(self) -> None:
        """Give back what is open."""
        with self._lock:
            if self._idle:
                self._idle.cancel()
            self._leave()

    def _take_turn(self, timeline: int, number: int, workshop: Workshop, observe: ObserveRun) -> bool:
        share = SharedImport(workshop.store, timeline, number)
        plan = share.plan()
        if plan is None:
            return False
        # Not started: the lease is another one's to keep alive, and only looked at here before each write (rule 2).
        held = Held(timeline, number, plan.holder, new=False)
        heartbeat = Heartbeat(workshop.store, held, workshop.settings.indexing.lease_seconds)
        heartbeat.check()
        check_model_allowed(workshop.settings, plan.rules.repo, plan.origin, workshop.embedder)
        if self._desk is None or not self._desk.is_for(held, plan, workshop):
            if not _free(share, plan):
                return False
            self._leave()
            # Before anything is claimed: a clone may take long, and nobody is to wait for it.
            self._desk = _Desk(held, plan, workshop)
        return self._desk.take_turn(share, heartbeat, workshop, observe)

    def _await_next_turn(self, desk: "_Desk") -> None:
        def close() -> None:
            with self._lock:
                if self._desk is desk and self._idle is timer:
                    self._leave()

        self._idle = timer = threading.Timer(IDLE_SECONDS, close)
        timer.daemon = True
        timer.start()

    def _leave(self) -> None:
        desk, self._desk = self._desk, None
        if desk:
            desk.close()


class _Desk:
    """What a helper keeps open for one import: the mirror, which nobody removes meanwhile, and what reads it."""

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
        self._reading = ReadingAhead(readers)
        self._name = new_holder()

    @property
    def place(self) -> Place:
        """The import: its timeline and its number."""
        return self._held.timeline, self._held.number

    def is_for(self, held: Held, plan: SharedPlan, workshop: Workshop) -> bool:
        """Tell whether this is what an import needs: the index may have moved, and another run gone on with it."""
        return (self._held, self._plan) == (held, plan) and self._store is workshop.store

    def close(self) -> None:
        """End the processes and let the mirror go."""
        self._open.close()
        retire_holder(self._name)

    def take_turn(self, share: SharedImport, heartbeat: Heartbeat, workshop: Workshop, observe: ObserveRun) -> bool:
        """Write batches until the turn is over or none is free, and tell whether there may be more.

        What fails gives those in hand back.
        """
        until: float | None = None
        more = True
        watch = Watch(self._store, observe, self._plan.rules.repo, saves=False)
        request = IndexRequest(self._plan.origin)

        def claim() -> tuple[int, Sequence[FileTask]] | None:
            nonlocal until, more
            if until is not None and time.monotonic() >= until:
                return None
            at = self._take_one(share, beat)
            if at is None:
                more = False
                return None
            until = until or time.monotonic() + TURN_SECONDS
            files = share.files(at)
            watch.say("indexing")
            return at, files

        def finish(at: int, files: list[ReadFile]) -> None:
            writer = Writer(self._plan.rules.repo, self._held, workshop, heartbeat, request)
            share.finish(at, self._name, writer.write(files, watch))
            beat.drop(at)

        seconds = workshop.settings.indexing.lease_seconds / BEATS_PER_LEASE
        with Beat(share, self._name, seconds) as beat, self._given_back(share, beat):
            self._reading.work(claim, finish)
        return more

    def _take_one(self, share: SharedImport, beat: Beat) -> int | None:
        """Claim any free batch, shown to be worked on: not all the same one, since many come at once."""
        free = _free(share, self._plan)
        random.shuffle(free)
        at = next((one for one in free if share.take(one, self._name)), None)
        if at is None:
            return None
        beat.hold(at)
        if share.plan() != self._plan:
            share.withdraw(at, self._name)  # the last batch was done in between, and all of it cleared
            beat.drop(at)
            return None
        return at

    @contextmanager
    def _given_back(self, share: SharedImport, beat: Beat) -> Iterator[None]:
        """Give back what a turn that fails has in hand."""
        try:
            yield
        except BaseException:
            for at in beat.held:
                share.free(at, self._name)
                if share.plan() != self._plan:
                    share.withdraw(at, self._name)  # it was cleared in between, and the claim would stay for ever
            raise


def _free(share: SharedImport, plan: SharedPlan) -> list[int]:
    claims = share.claims()
    return [at for at in range(plan.batches) if at not in claims or claims[at].is_free]


# Whoever takes longer for a batch hangs, in a model or a grammar: it counts as silent from then on, so that nobody
# waits for it longer than this and a lease.
BATCH_SECONDS = 900.0
