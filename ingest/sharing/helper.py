"""The side of whoever takes part in somebody's import: one batch, and the answer whether there are more."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.files.worker import Assignment
from codequarry.ingest.files.workers import open_readers, reading_processes
from codequarry.ingest.git.mirror_cache import mirror_in_use
from codequarry.ingest.git.mirrors import mirror_folder
from codequarry.ingest.git.origins import origin_of_record
from codequarry.ingest.report import IndexRequest, Observe, Workshop
from codequarry.ingest.sharing.share import Share, SharedPlan
from codequarry.ingest.sources import fetch_commit
from codequarry.ingest.transaction.holder import new_holder, retire_holder
from codequarry.ingest.transaction.lease import BEATS_PER_LEASE, Heartbeat, Held
from codequarry.ingest.transaction.writing import Writer, Written
from codequarry.ingest.watch import Watch
from codequarry.shared.embedding.permission import check_model_place
from codequarry.shared.errors import Conflict, StoreError
from codequarry.shared.settings.index import IndexingSettings

# Whoever takes longer for a batch hangs, in a model or a grammar: it counts as silent from then on, so that nobody
# waits for it longer than this and a lease.
BATCH_SECONDS = 900.0


def take_part(timeline: int, number: int, workshop: Workshop, observe: Observe) -> bool:
    """Write one batch of a transaction that another process holds, and tell whether there are more.

    LeaseHeld where that process has lost it; what else fails gives the batch back and is raised.
    """
    share = Share(workshop.store, timeline, number)
    plan = share.plan()
    if plan is None or not _free(share, plan):
        return False
    # Not started: the lease is another one's to keep alive, and only looked at here before each write (rule 2).
    held = Held(timeline, number, plan.holder, new=False)
    heartbeat = Heartbeat(workshop.store, held, workshop.settings.indexing.lease_seconds)
    heartbeat.check()
    origin = origin_of_record(plan.origin)
    check_model_place(workshop.settings, plan.rules.repo, plan.origin, workshop.embedder)
    with mirror_in_use(mirror_folder(origin, workshop.settings.home)):
        # Before anything is claimed: a clone may take long, and nobody is to wait for it.
        mirror = fetch_commit(origin, plan.commit, workshop.settings, guarded=plan.guarded)
        writer = Writer(plan.rules.repo, held, workshop, heartbeat, IndexRequest(plan.origin))
        watch = Watch(workshop.store, observe, plan.rules.repo, saves=False)
        return _Helper(share, plan, Assignment(mirror, plan.rules), workshop.settings.indexing).take_one(writer, watch)


class _Helper:
    """Somebody who has a mirror and takes one batch."""

    def __init__(self, share: Share, plan: SharedPlan, assignment: Assignment, settings: IndexingSettings) -> None:
        self._share, self._plan, self._assignment, self._settings = share, plan, assignment, settings
        self._name = new_holder()

    def take_one(self, writer: Writer, watch: Watch) -> bool:
        """Write a batch, if one is free, and tell whether there are more."""
        at = _take_one(self._share, self._plan, self._name)
        if at is None:
            retire_holder(self._name)
            return False
        try:
            with _beating(self._share, at, self._name, self._settings.lease_seconds / BEATS_PER_LEASE):
                written = self._write(self._share.files(at), writer, watch)
            self._share.finish(at, self._name, written)
            return bool(_free(self._share, self._plan))
        except BaseException:
            self._share.free(at, self._name)
            raise
        finally:
            retire_holder(self._name)
            if self._share.plan() != self._plan:
                self._share.withdraw(at, self._name)  # it was cleared in between, and the claim would stay for ever

    def _write(self, files: list[FileTask], writer: Writer, watch: Watch) -> Written:
        watch.say("indexing")
        with closing(open_readers(self._assignment, reading_processes(files, self._settings))) as readers:
            return writer.write(readers.read(files), watch)


def _take_one(share: Share, plan: SharedPlan, helper: str) -> int | None:
    """Claim any free batch: not all the same one, since many come at once."""
    free = _free(share, plan)
    random.shuffle(free)
    at = next((one for one in free if share.take(one, helper)), None)
    if at is not None and share.plan() != plan:
        share.withdraw(at, helper)  # the last batch was done in between, and all of it cleared
        return None
    return at


def _free(share: Share, plan: SharedPlan) -> list[int]:
    claims = share.claims()
    return [at for at in range(plan.batches) if at not in claims or claims[at].is_free]


@contextmanager
def _beating(share: Share, at: int, helper: str, seconds: float) -> Iterator[None]:
    """Show every few seconds that the batch is worked on, for as long as a batch may take."""
    ended = threading.Event()
    until = time.monotonic() + BATCH_SECONDS

    def run() -> None:
        while not ended.wait(seconds) and time.monotonic() < until:
            try:
                share.beat(at, helper)
            except Conflict:
                return
            except StoreError:
                continue

    thread = threading.Thread(target=run, name="batch-beat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
