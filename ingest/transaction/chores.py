"""Undoing and purging: noted in the catalog before it begins, so that whoever comes next finishes what a crash left."""

import time
from collections.abc import Callable, Collection

from codequarry.ingest.transaction.retention import sweep_key, swept_key
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.catalog.repositories import SUMMARY_PREFIX
from codequarry.shared.errors import Conflict
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.versions.head import Head, Timeline
from codequarry.shared.versions.transactions import abort, check_held, drop_timeline, transactions_prefix

CHORES = "chore:"
UNDO = "chore:undo:"
PURGE = "chore:purge:"
# What a transaction that several processes write has in the catalog (ingest/sharing).
BATCHES = "batch:"
PLAN = "plan"


def abort_and_undo(store: Store, timeline: int, number: int, holder: str) -> None:
    """Abort a transaction whose lease ``holder`` has, and remove every trace of it (rule 9)."""
    note = f"{UNDO}{timeline:010d}:{number:010d}"
    _note(store, note)
    change_head(store, lambda head: (abort(head, timeline, holder, number), None))
    _undo(store, timeline, number)
    store.delete_document(note)


def batches_prefix(timeline: int, number: int) -> str:
    """Return what the keys of a transaction's shared batches begin with."""
    return f"{BATCHES}{timeline:010d}:{number:010d}:"


def _undo(store: Store, timeline: int, number: int) -> None:
    store.undo(timeline, number)
    _forget_batches(store, batches_prefix(timeline, number))


def _forget_batches(store: DocumentStore, prefix: str) -> None:
    """Remove shared batches, their plans first: who still takes a batch sees that the plan is gone, and withdraws."""
    for document in store.list_documents(prefix):
        if document.key.endswith(PLAN):
            store.delete_document(document.key)
    _forget(store, prefix)


def _forget(store: DocumentStore, prefix: str) -> None:
    for document in store.list_documents(prefix):
        store.delete_document(document.key)


def drop_draft(store: Store, timeline: int, number: int, holder: str) -> None:
    """Drop a timeline that was never published and whose lease ``holder`` has, with all that was written into it."""

    def change(head: Head) -> tuple[Head, None]:
        check_held(head, timeline, holder, number)
        return drop_timeline(head, timeline), None

    note_purge(store, timeline)
    change_head(store, change)
    purge_timeline(store, timeline)


def note_purge(store: DocumentStore, timeline: int) -> None:
    """Note that a timeline goes as soon as another one is published in its place."""
    _note(store, f"{PURGE}{timeline:010d}")


def drop_noted(
    store: DocumentStore, choose: Callable[[Head], Collection[int]], change: Callable[[Head], Head]
) -> Collection[int]:
    """Change the head document so that the timelines chosen by its newest state go, and return these.

    They are noted before the write, so that a crash after it loses nothing, and again after it: somebody who finishes
    chores in between finds them in use and deletes the note.
    """

    def noted(head: Head) -> tuple[Head, Collection[int]]:
        chosen = choose(head)
        for timeline in chosen:
            note_purge(store, timeline)
        return change(head), chosen

    dropped = change_head(store, noted)
    for timeline in dropped:
        note_purge(store, timeline)
    return dropped


def noted_purges(store: DocumentStore) -> frozenset[int]:
    """Return the timelines of which it is noted that they go."""
    return frozenset(int(note.key.removeprefix(PURGE)) for note in store.list_documents(PURGE))


def finish_chores(store: Store, grace_seconds: float = 0.0) -> None:
    """Finish every chore whose time has come; readers that began before keep ``grace_seconds`` to end."""
    notes = store.list_documents(CHORES)
    if not notes:
        return
    head = read_head(store)
    dropped = []
    for note in notes:
        words = note.key.split(":")
        if note.key.startswith(UNDO):
            _finish_undo(store, head, note.key, int(words[2]), int(words[3]))
        elif _is_dropped(store, head, int(words[2])):
            dropped.append(int(words[2]))
    if dropped:
        time.sleep(grace_seconds)
    for timeline in dropped:
        purge_timeline(store, timeline)


def _finish_undo(store: Store, head: Head, key: str, timeline: int, number: int) -> None:
    if number in head.open:
        return  # noted, not aborted yet: whoever takes over its lease decides
    if number in head.aborted:
        _undo(store, timeline, number)
    store.delete_document(key)


def _is_dropped(store: DocumentStore, head: Head, timeline: int) -> bool:
    """Drop a timeline that was noted, if its time has come, and tell whether it is out of the head document."""
    state = head.timelines.get(timeline)
    if state is None:
        return True
    if not state.published:
        return False  # a draft that somebody may resume
    if state.ref or timeline in head.defaults.values():
        if not _has_draft(head, state):
            store.delete_document(f"{PURGE}{timeline:010d}")  # what was to replace it was given up
        return False
    try:
        change_head(store, lambda newest: (_dropped(newest, timeline), None))
    except Conflict:
        return False  # an overlay lies on it: later
    return True


def _has_draft(head: Head, replaced: Timeline) -> bool:
    same = (replaced.repo, replaced.ref)
    return any((state.repo, state.ref) == same and not state.published for state in head.timelines.values())


def _dropped(head: Head, timeline: int) -> Head:
    return drop_timeline(head, timeline) if timeline in head.timelines else head


def purge_timeline(store: Store, timeline: int) -> None:
    """Delete the rows of a dropped timeline, then its records, and at the very end the notes."""
    store.purge([timeline])
    records = (transactions_prefix(timeline), f"{SUMMARY_PREFIX}{timeline:010d}:", swept_key(timeline))
    _forget_batches(store, f"{BATCHES}{timeline:010d}:")
    for prefix in (*records, sweep_key(timeline), f"{PURGE}{timeline:010d}"):
        _forget(store, prefix)


def _note(store: DocumentStore, key: str) -> None:
    """Write a note; one that is there already says the same."""
    try:
        store.write_document(key, {}, None)
    except Conflict:
        return
