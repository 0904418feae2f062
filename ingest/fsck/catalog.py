"""Checks and repairs a repository's numbers, leases, leftovers, clean-ups and pins in head document and catalog."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

from codequarry.ingest.fsck.files import Inconsistency
from codequarry.ingest.transaction.acquisition import undo_transaction
from codequarry.ingest.transaction.chores import PURGE, UNDO, finish_chores, undo_rows
from codequarry.ingest.transaction.holder import describe_holder, has_ended, new_holder, retire_holder
from codequarry.ingest.transaction.lease import Held, take_over_lease
from codequarry.shared.catalog.documents import put_document
from codequarry.shared.catalog.ledger import change_head, published_transactions, read_head
from codequarry.shared.errors import Conflict
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.versions.commit_log import with_logs
from codequarry.shared.versions.head import Head, Place
from codequarry.shared.versions.transactions import raise_floor, transactions_prefix


def check_catalog(store: Store, repo: str) -> list[Inconsistency]:
    """Return the problems outside a version's files; the counter (rule 18) and clean-ups concern the whole index."""
    # Read before the head document: a run that takes a number meanwhile raises the counter before it writes.
    newest = store.newest_number()
    head = read_head(store)
    problems = [] if newest <= head.counter else [_beyond_counter(newest, head.counter)]
    problems += _check_open(head, repo)
    problems += _check_leftovers(store, head, repo)
    problems += _check_notes(store, head)
    problems += _check_pins(store, head, repo)
    return problems


def mend_catalog(store: Store, repo: str, key: str, grace_seconds: float) -> None:
    """Undo what dead transactions left behind, finish noted clean-ups, and pin what overlays need.

    The open transaction of the version with ``key`` stays: the run that rewrites its files resumes or undoes it.
    Readers have ``grace_seconds`` to finish.
    """
    head = read_head(store)
    for timeline, number in _abandoned(head, repo):
        state = head.timelines[timeline]
        # A run passes over the copies that a renaming was writing.
        if state.ref != key or state.gone or state.lease is None or state.lease.number != number:
            _undo_open(store, head, timeline, number)
    for timeline, number in leftovers(store, head, repo):
        undo_rows(store, timeline, number)
    finish_chores(store, grace_seconds)
    for timeline in {timeline for timeline, _, exists in _unpinned(store, read_head(store), repo) if exists}:
        change_head(store, partial(_with_pins, store, timeline))


def drop_unrestorable_commits(store: DocumentStore, repo: str) -> None:
    """Drop the older commits of overlays whose base is gone, because they can no longer be shown whole."""
    head = read_head(store)
    for timeline in {timeline for timeline, _, exists in _unpinned(store, head, repo) if not exists}:
        state = head.timelines[timeline]
        newest = published_transactions(store, head, timeline)[-1]
        pins = [newest.base] if newest.base else []
        with suppress(Conflict):
            change_head(store, partial(_with_floor, timeline=timeline, published=state.published, pins=pins))


def _with_floor(head: Head, *, timeline: int, published: int, pins: list[Place]) -> tuple[Head, None]:
    return raise_floor(head, timeline, published, published, pins), None


def _beyond_counter(newest: int, counter: int) -> Inconsistency:
    return Inconsistency("counter", "", f"transaction {newest} has rows, but the head document's counter is {counter}")


def _abandoned(head: Head, repo: str) -> list[Place]:
    """Return the open transactions of a repository that no live run is working on."""
    found: list[Place] = []
    for number, timeline in sorted(head.open.items()):
        state = head.timelines.get(timeline)
        lease = state.lease if state else None
        if state and state.repo == repo and (lease is None or lease.number != number or has_ended(lease.holder)):
            found.append((timeline, number))
    return found


def _check_open(head: Head, repo: str) -> Iterator[Inconsistency]:
    for timeline, number in _abandoned(head, repo):
        state = head.timelines[timeline]
        holder = f"was held by {describe_holder(state.lease.holder)}" if state.lease else "has no lease"
        version = "a renaming" if state.gone else state.ref or "the default branch"
        yield Inconsistency("open", "", f"transaction {number} of {version} {holder}")


def _undo_open(store: Store, head: Head, timeline: int, number: int) -> None:
    state = head.timelines[timeline]
    if state.lease is None or state.lease.number != number:
        put_document(store, f"{UNDO}{timeline:010d}:{number:010d}", {})
        change_head(store, partial(_aborted, number))
        return
    holder = new_holder()
    try:
        if take_over_lease(store, timeline, state.lease, holder):
            with suppress(Conflict):
                undo_transaction(store, Held(timeline, number, holder, new=not state.published))
    finally:
        retire_holder(holder)


def _aborted(number: int, head: Head) -> tuple[Head, None]:
    """Abort a transaction without a lease; the noted clean-up undoes what it wrote."""
    if any(state.lease and state.lease.number == number for state in head.timelines.values()):
        return head, None
    still_open = {key: timeline for key, timeline in head.open.items() if key != number}
    return replace(head, open=still_open, aborted=head.aborted | {number}), None


def leftovers(store: Store, head: Head, repo: str) -> Iterator[Place]:
    """Yield the aborted transactions of a repository that still have rows."""
    for timeline in head.of_repo(repo):
        prefix = transactions_prefix(timeline)
        numbers = (int(document.key.removeprefix(prefix)) for document in store.list_documents(prefix))
        for number in numbers:
            if number not in head.aborted:
                continue
            tallies = [store.tally(part, number, (), ()) for part in with_logs([timeline])]
            if any(tally.rows or tally.files for tally in tallies):
                yield timeline, number


def _check_leftovers(store: Store, head: Head, repo: str) -> Iterator[Inconsistency]:
    for timeline, number in leftovers(store, head, repo):
        yield Inconsistency("leftover", "", f"aborted transaction {number} of timeline {timeline} still has rows")


def _check_notes(store: DocumentStore, head: Head) -> Iterator[Inconsistency]:
    """Yield the clean-ups that are due; clean-ups that are waiting for an overlay or a rebuild to end are in order."""
    for document in store.list_documents(UNDO):
        _, _, timeline, number = document.key.split(":")
        if int(number) not in head.open:
            yield Inconsistency("chore", "", f"transaction {int(number)} of timeline {int(timeline)} is not undone yet")
    for document in store.list_documents(PURGE):
        dropped = int(document.key.removeprefix(PURGE))
        if dropped not in head.timelines:
            yield Inconsistency("chore", "", f"dropped timeline {dropped} is not purged yet")


def _unpinned(store: DocumentStore, head: Head, repo: str) -> Iterator[tuple[int, Place, bool]]:
    """Yield each overlay's timeline, each base of it that is gone or not pinned, and whether the base exists."""
    for timeline in head.of_repo(repo):
        state = head.timelines[timeline]
        if not state.published:
            continue
        bases = {record.base for record in published_transactions(store, head, timeline) if record.base}
        for base in sorted(bases):
            below = head.timelines.get(base[0])
            exists = below is not None and base[1] <= below.published and base[1] not in head.hidden
            if not exists or base not in state.pins:
                yield timeline, base, exists


def _check_pins(store: DocumentStore, head: Head, repo: str) -> Iterator[Inconsistency]:
    for timeline, (base, number), exists in _unpinned(store, head, repo):
        version = head.timelines[timeline].version or f"timeline {timeline}"
        place = f"transaction {number} of timeline {base}"
        if exists:
            yield Inconsistency("pin", "", f"{version} does not pin its base, {place}")
        else:
            yield Inconsistency("base", "", f"the base of {version}, {place}, is gone")


def _with_pins(store: DocumentStore, timeline: int, head: Head) -> tuple[Head, None]:
    state = head.timelines.get(timeline)
    if state is None:
        return head, None
    unpinned = _unpinned(store, head, state.repo)
    needed = frozenset(base for owner, base, exists in unpinned if exists and owner == timeline)
    return replace(head, timelines={**head.timelines, timeline: replace(state, pins=state.pins | needed)}), None
