"""Getting a transaction to work on: a new one, or one that a crashed run left open."""

from collections.abc import Callable
from contextlib import suppress

from codequarry.ingest.chores import abandon, discard
from codequarry.ingest.holder import is_gone
from codequarry.ingest.lease import Held, await_end, leases_of, seize
from codequarry.ingest.target import Target
from codequarry.shared.errors import Conflict, LeaseHeld
from codequarry.shared.head import Head
from codequarry.shared.ledger import change_head, read_head, read_transaction
from codequarry.shared.store.port import Store
from codequarry.shared.transactions import begin, new_timeline

# Every round ends a lease, drops a draft or loses a race; so many of them mean that something is wrong.
MAX_ROUNDS = 100


def acquire(
    store: Store, target: Target, holder: str, *, full: bool, lease_seconds: float, say: Callable[[str], None]
) -> Held | None:
    """Return an open transaction for ``target``, or None if it is published already.

    One run at a time works on a repository. A crashed run's transaction is resumed if it had the same target, and
    undone if not (rule 7). ``full`` builds a new timeline beside the default one.
    """
    for _ in range(MAX_ROUNDS):
        head = read_head(store)
        published = not full and is_published(store, head, target)
        for timeline, lease in leases_of(head, target.repo).items():
            if published and not is_gone(lease.holder):
                return None
            seen = await_end(store, timeline, lease, lease_seconds, say)
            if seen and seize(store, timeline, seen, holder):
                new = timeline not in head.defaults.values()
                held = Held(timeline, lease.number, holder, new=new, resumed=True)
                if not published and _is_ours(store, head, held, target, full=full):
                    return held
                with suppress(Conflict):  # somebody else is faster, or came back to life: look again
                    give_up(store, held)
            break
        else:
            if published:
                return None
            try:
                return _begin(store, target, holder, full=full)
            except LeaseHeld:
                continue
    raise Conflict(f"{target.repo}: {MAX_ROUNDS} attempts to begin a transaction failed; run again")


def is_published(store: Store, head: Head, target: Target) -> bool:
    """Tell whether readers see exactly the target already, decided by the same rules."""
    timeline = head.defaults.get(target.repo)
    if timeline is None:
        return False
    state = head.timelines[timeline]
    record = read_transaction(store, timeline, state.published)
    return state.commit == target.commit and record is not None and record.rules == target.rules


def give_up(store: Store, held: Held) -> None:
    """Undo a transaction, and with it a timeline that was never published."""
    if held.new:
        discard(store, held.timeline)
    else:
        abandon(store, held.timeline, held.number, held.holder)


def drafts_of(head: Head, repo: str) -> list[int]:
    """Return the timelines of a repository that nobody has seen yet: a first import, or a rebuild."""
    return [key for key, state in head.timelines.items() if state.repo == repo and not state.published]


def _destination(head: Head, repo: str, *, full: bool) -> int | None:
    """Return the timeline to write to, or None for one that has to be made."""
    if not full and repo in head.defaults:
        return head.defaults[repo]
    return next(iter(drafts_of(head, repo)), None)


def _is_ours(store: Store, head: Head, held: Held, target: Target, *, full: bool) -> bool:
    if held.timeline != _destination(head, target.repo, full=full):
        return False
    record = read_transaction(store, held.timeline, held.number)
    # Without a record nothing was written yet.
    return record is None or (record.ref, record.commit, record.rules) == (target.ref, target.commit, target.rules)


def _begin(store: Store, target: Target, holder: str, *, full: bool) -> Held:
    def change(head: Head) -> tuple[Head, Held]:
        if leases_of(head, target.repo):
            raise LeaseHeld(f"{target.repo} is being indexed by somebody else")
        timeline = _destination(head, target.repo, full=full)
        new = timeline is None or timeline not in head.defaults.values()
        if timeline is None:
            head, timeline = new_timeline(head, target.repo)
        head, number = begin(head, timeline, holder)
        return head, Held(timeline, number, holder, new=new)

    return change_head(store, change)
