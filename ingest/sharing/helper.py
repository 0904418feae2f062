"""The side of whoever takes part in somebody's import: one batch, and the answer whether there are more."""

import random
import threading
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


def take_part(timeline: int, number: int, workshop: Workshop, observe: Observe) -> bool:
    """Write one batch of a transaction that another process holds, and tell whether there are more.

    LeaseHeld where that process has lost it; what else fails gives the batch back and is raised.
    """
    share = Share(workshop.store, timeline, number)
    plan = share.plan()
    if plan is None:
        return False
    helper = new_holder()
    at = _take_one(share, plan, helper)
    if at is None:
        return False
    try:
        batch = _Batch(plan, Held(timeline, number, plan.holder, new=False), workshop, observe)
        _do(share, at, helper, batch)
        return bool(_free(share, plan))
    finally:
        retire_holder(helper)
        if share.plan() != plan:
            share.withdraw(at, helper)  # it was cleared in between, and the claim would stay for ever


class _Batch:
    """What it takes to write one batch of a plan."""

    def __init__(self, plan: SharedPlan, held: Held, workshop: Workshop, observe: Observe) -> None:
        self._plan, self._held, self._workshop, self._observe = plan, held, workshop, observe
        # Not started: the lease is another one's to keep alive, and only looked at here before each write (rule 2).
        self._heartbeat = Heartbeat(workshop.store, held, workshop.settings.indexing.lease_seconds)

    @property
    def beat_seconds(self) -> float:
        return self._workshop.settings.indexing.lease_seconds / BEATS_PER_LEASE

    def write(self, files: list[FileTask]) -> Written:
        self._heartbeat.check()
        plan, workshop = self._plan, self._workshop
        origin = origin_of_record(plan.origin)
        check_model_place(workshop.settings, plan.rules.repo, plan.origin, workshop.embedder)
        with mirror_in_use(mirror_folder(origin, workshop.settings.home)):
            mirror = fetch_commit(origin, plan.commit, workshop.settings, guarded=plan.guarded)
            return self._write(files, Assignment(mirror, plan.rules))

    def _write(self, files: list[FileTask], assignment: Assignment) -> Written:
        workshop, repo = self._workshop, assignment.rules.repo
        writer = Writer(repo, self._held, workshop, self._heartbeat, IndexRequest(self._plan.origin))
        watch = Watch(workshop.store, self._observe, repo, saves=False)
        watch.say("indexing")
        with closing(open_readers(assignment, reading_processes(files, workshop.settings.indexing))) as readers:
            return writer.write(readers.read(files), watch)


def _do(share: Share, at: int, helper: str, batch: _Batch) -> None:
    try:
        with _beating(share, at, helper, batch.beat_seconds):
            written = batch.write(share.files(at))
    except BaseException:
        share.free(at, helper)
        raise
    share.finish(at, helper, written)


def _take_one(share: Share, plan: SharedPlan, helper: str) -> int | None:
    """Claim any free batch: not all the same one, since many come at once."""
    free = _free(share, plan)
    random.shuffle(free)
    return next((one for one in free if share.take(one, helper)), None)


def _free(share: Share, plan: SharedPlan) -> list[int]:
    claims = share.claims()
    return [at for at in range(plan.batches) if at not in claims or claims[at].is_free]


@contextmanager
def _beating(share: Share, at: int, helper: str, seconds: float) -> Iterator[None]:
    """Show every few seconds that the batch is worked on."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(seconds):
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
