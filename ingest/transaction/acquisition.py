"""Acquires a transaction: begins a new transaction, or resumes a transaction that a crashed run left open."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from codequarry.ingest.source.target import IndexTarget
from codequarry.ingest.transaction.chores import abort_and_undo, drop_draft
from codequarry.ingest.transaction.holder import has_ended
from codequarry.ingest.transaction.lease import Held, await_end, leases_of, take_over_lease
from codequarry.ingest.transaction.placement import Placement, Placer, current_timeline
from codequarry.shared.catalog.ledger import change_head, read_head, read_transaction
from codequarry.shared.errors import Conflict, LeaseHeld
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.telemetry.metrics import count_transaction
from codequarry.shared.versions.head import Head, Lease
from codequarry.shared.versions.transactions import begin, new_timeline

# Every round ends a lease, drops a draft or loses a race; more rounds than this mean that something is wrong.
MAX_ROUNDS = 100


def acquire(
    store: Store,
    target: IndexTarget,
    placer: Placer,
    holder: str,
    *,
    full: bool,
    lease_seconds: float,
    say: Callable[[str], None],
    check: Callable[[Head], None] = lambda _: None,
) -> Held | None:
    """Return an open transaction for ``target``, or None if ``target`` is already published on a fitting base.

    Only one run at a time works on a version. If the previous run is known to have ended, its transaction is resumed if
    target and placement are the same, and undone if not. If it is silent but not known to have ended, its transaction
    is undone (rule 7). ``full`` builds a new timeline. ``check`` raises if the head document rules out this run.
    """
    for _ in range(MAX_ROUNDS):
        head = read_head(store)
        check(head)
        published = not full and is_published(store, head, target) and not placer.fits_better_elsewhere(head)
        for timeline, lease in leases_of(head, target.repo, target.key).items():
            if published and not has_ended(lease.holder):
                return None
            seen = await_end(store, timeline, lease, lease_seconds, say)
            new = not head.timelines[timeline].published
            held = _take(store, timeline, seen, holder, new=new) if seen else None
            if held and not published and _is_resumable(store, held, target, placer):
                return held
            if held:
                _undo_if_held(store, held)
            break
        else:
            if published:
                return None
            with suppress(LeaseHeld, Conflict):  # another run was faster, or the chosen base is gone
                return _begin(store, target, holder, placer.place(head), check)
    raise Conflict(f"{target.repo}: {MAX_ROUNDS} attempts to begin a transaction failed; run again")


def _take(store: Store, timeline: int, seen: Lease, holder: str, *, new: bool) -> Held | None:
    """Take over the lease of a holder that is gone; return None if another run was first or the holder is only silent.

    A silent holder may wake up and write, long after another run has published its number and its rows were collected.
    So the write that ends its lease also aborts its number.
    """
    held = Held(timeline, seen.number, holder, new=new, resumed=True, base=seen.base)
    if has_ended(seen.holder):
        return held if take_over_lease(store, timeline, seen, holder) else None
    _undo_if_held(store, replace(held, holder=seen.holder))
    return None


def _undo_if_held(store: Store, held: Held) -> None:
    with suppress(Conflict):  # another run was faster, or the holder came back to life
        undo_transaction(store, held)


def is_published(store: DocumentStore, head: Head, target: IndexTarget) -> bool:
    """Return whether readers of the version already see the target's commit, indexed by the same rules."""
    timeline = current_timeline(head, target.repo, target.key)
    if timeline is None:
        return False
    state = head.timelines[timeline]
    record = read_transaction(store, timeline, state.published)
    return state.commit == target.commit and record is not None and record.rules == target.rules


def undo_transaction(store: Store, held: Held) -> None:
    """Abort and undo a transaction; drop its timeline if the timeline was never published."""
    if held.new:
        drop_draft(store, held.timeline, held.number, held.holder)
    else:
        abort_and_undo(store, held.timeline, held.number, held.holder)
    count_transaction("aborted")


def _is_resumable(store: DocumentStore, held: Held, target: IndexTarget, placer: Placer) -> bool:
    record = read_transaction(store, held.timeline, held.number)
    wanted = (target.ref, target.commit, target.rules, held.base)
    # Without a record, nothing has been written yet.
    if record is not None and (record.ref, record.commit, record.rules, record.base) != wanted:
        return False
    return placer.accepts(read_head(store), held.timeline)


def _begin(
    store: DocumentStore, target: IndexTarget, holder: str, placement: Placement, check: Callable[[Head], None]
) -> Held:
    base = placement.base.place if placement.base else None

    def change(head: Head) -> tuple[Head, Held]:
        check(head)
        if leases_of(head, target.repo, target.key):
            raise LeaseHeld(f"{target.repo} is being indexed by another process")
        timeline = placement.timeline
        exists = timeline is None or timeline in head.timelines
        if not exists or current_timeline(head, target.repo, target.key) != placement.current:
            raise Conflict(f"{target.repo} has changed since its state was read")
        if timeline is None:
            head, timeline = new_timeline(head, target.repo, target.key, target.repo_id)
        head, number = begin(head, timeline, holder, base)
        new = not head.timelines[timeline].published
        return head, Held(timeline, number, holder, new=new, base=base)

    return change_head(store, change)
