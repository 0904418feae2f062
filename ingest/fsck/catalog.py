"""What the head document and the catalog say of a repository: numbers, leases, leftovers, pins; and mending that."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

from codequarry.ingest.fsck.files import Inconsistency
from codequarry.ingest.transaction.acquisition import give_up
from codequarry.ingest.transaction.chores import PURGE, UNDO, finish_chores
from codequarry.ingest.transaction.holder import is_gone, new_holder, retire_holder, spoken
from codequarry.ingest.transaction.lease import Held, seize
from codequarry.shared.catalog.documents import put_document
from codequarry.shared.catalog.ledger import change_head, published_transactions, read_head
from codequarry.shared.errors import Conflict
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.versions.head import Head, Place
from codequarry.shared.versions.transactions import raise_floor, transactions_prefix


def check_catalog(store: Store, repo: str) -> list[Inconsistency]:
    """Return what is wrong beside the files of any one version; only rule 18 is about the whole index."""
    # Before the head is read: a run that takes a number meanwhile raises the counter before it writes.
    newest = store.newest_number()
    head = read_head(store)
    problems = [] if newest <= head.counter else [_beyond_counter(newest, head.counter)]
    problems += _check_open(head, repo)
    problems += _check_leftovers(store, head, repo)
    problems += _check_notes(store, head)
    problems += _check_pins(store, head, repo)
    return problems


def mend_catalog(store: Store, repo: str, key: str, grace_seconds: float) -> None:
    """Undo what is left of dead transactions, finish what is noted, and pin what overlays need.

    What is open of the version with ``key`` stays: the run that writes its files anew resumes or undoes it. Readers
    keep ``grace_seconds`` to end.
    """
    head = read_head(store)
    for timeline, number in _abandoned(head, repo):
        lease = head.timelines[timeline].lease
        if head.timelines[timeline].ref != key or lease is None or lease.number != number:
            _undo_open(store, head, timeline, number)
    for timeline, number in leftovers(store, head, repo):
        store.undo(timeline, number)
    finish_chores(store, grace_seconds)
    for timeline in {timeline for timeline, _, is_there in _unpinned(store, read_head(store), repo) if is_there}:
        change_head(store, partial(_pinned_again, store, timeline))


def give_up_lost(store: DocumentStore, repo: str) -> None:
    """Give up the older commits of overlays whose base is gone: nobody can see them whole again."""
    head = read_head(store)
    for timeline in {timeline for timeline, _, is_there in _unpinned(store, head, repo) if not is_there}:
        state = head.timelines[timeline]
        newest = published_transactions(store, head, timeline)[-1]
        pins = [newest.base] if newest.base else []
        with suppress(Conflict):
            change_head(store, partial(_with_floor, timeline=timeline, published=state.published, pins=pins))


def _with_floor(head: Head, *, timeline: int, published: int, pins: list[Place]) -> tuple[Head, None]:
    return raise_floor(head, timeline, published, published, pins), None


def _beyond_counter(newest: int, counter: int) -> Inconsistency:
    return Inconsistency("counter", "", f"transaction {newest} has rows, the head document counts to {counter}")


def _abandoned(head: Head, repo: str) -> list[Place]:
    """Return the open transactions of a repository that nobody works on."""
    found: list[Place] = []
    for number, timeline in sorted(head.open.items()):
        state = head.timelines.get(timeline)
        lease = state.lease if state else None
        if state and state.repo == repo and (lease is None or lease.number != number or is_gone(lease.holder)):
            found.append((timeline, number))
    return found


def _check_open(head: Head, repo: str) -> Iterator[Inconsistency]:
    for timeline, number in _abandoned(head, repo):
        state = head.timelines[timeline]
        holder = f"was held by {spoken(state.lease.holder)}" if state.lease else "has no lease"
        version = state.ref or "the default branch"
        yield Inconsistency("open", "", f"transaction {number} of {version} {holder}")


def _undo_open(store: Store, head: Head, timeline: int, number: int) -> None:
    state = head.timelines[timeline]
    if state.lease is None or state.lease.number != number:
        put_document(store, f"{UNDO}{timeline:010d}:{number:010d}", {})
        change_head(store, partial(_aborted, number))
        return
    holder = new_holder()
    try:
        if seize(store, timeline, state.lease, holder):
            with suppress(Conflict):
                give_up(store, Held(timeline, number, holder, new=not state.published))
    finally:
        retire_holder(holder)


def _aborted(number: int, head: Head) -> tuple[Head, None]:
    """Give up a number that no lease belongs to; the chores undo what it wrote."""
    if any(state.lease and state.lease.number == number for state in head.timelines.values()):
        return head, None
    still_open = {key: timeline for key, timeline in head.open.items() if key != number}
    return replace(head, open=still_open, aborted=head.aborted | {number}), None


def leftovers(store: Store, head: Head, repo: str) -> Iterator[Place]:
    """Yield the aborted transactions of a repository of which rows are still there."""
    for timeline in head.of_repo(repo):
        prefix = transactions_prefix(timeline)
        numbers = (int(document.key.removeprefix(prefix)) for document in store.list_documents(prefix))
        for number in numbers:
            if number not in head.aborted:
                continue
            tally = store.tally(timeline, number, (), ())
            if tally.rows or tally.files:
                yield timeline, number


def _check_leftovers(store: Store, head: Head, repo: str) -> Iterator[Inconsistency]:
    for timeline, number in leftovers(store, head, repo):
        yield Inconsistency("leftover", "", f"rows of transaction {number} of timeline {timeline}, which was given up")


def _check_notes(store: DocumentStore, head: Head) -> Iterator[Inconsistency]:
    """Name the clean-ups whose time has come; what waits for an overlay or a rebuild to end is in order."""
    for document in store.list_documents(UNDO):
        _, _, timeline, number = document.key.split(":")
        if int(number) not in head.open:
            yield Inconsistency("chore", "", f"transaction {int(number)} of timeline {int(timeline)} is to be undone")
    for document in store.list_documents(PURGE):
        timeline_ = int(document.key.removeprefix(PURGE))
        if timeline_ not in head.timelines:
            yield Inconsistency("chore", "", f"timeline {timeline_}, which was dropped, is to be purged")


def _unpinned(store: DocumentStore, head: Head, repo: str) -> Iterator[tuple[int, Place, bool]]:
    """Yield overlays' timelines with each base that they do not pin, and whether it is still there."""
    for timeline in head.of_repo(repo):
        state = head.timelines[timeline]
        if not state.published:
            continue
        bases = {record.base for record in published_transactions(store, head, timeline) if record.base}
        for base in sorted(bases):
            below = head.timelines.get(base[0])
            is_there = below is not None and base[1] <= below.published and base[1] not in head.hidden
            if not is_there or base not in state.pins:
                yield timeline, base, is_there


def _check_pins(store: DocumentStore, head: Head, repo: str) -> Iterator[Inconsistency]:
    for timeline, (base, number), is_there in _unpinned(store, head, repo):
        version = head.timelines[timeline].ref or f"timeline {timeline}"
        if is_there:
            yield Inconsistency(
                "pin", "", f"{version} lies on transaction {number} of timeline {base} and does not pin it"
            )
        else:
            yield Inconsistency("base", "", f"{version} lies on transaction {number} of timeline {base}, which is gone")


def _pinned_again(store: DocumentStore, timeline: int, head: Head) -> tuple[Head, None]:
    state = head.timelines.get(timeline)
    if state is None:
        return head, None
    needed = frozenset(base for owner, base, there in _unpinned(store, head, state.repo) if there and owner == timeline)
    return replace(head, timelines={**head.timelines, timeline: replace(state, pins=state.pins | needed)}), None
