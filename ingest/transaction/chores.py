"""Undoes and purges. Each chore is noted in the catalog before it begins, so the next run finishes it after a crash."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress

from codequarry.ingest.transaction.retention import sweep_key, swept_key
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.catalog.repositories import SUMMARY_PREFIX
from codequarry.shared.errors import Conflict
from codequarry.shared.store.port import DocumentStore, RowStore, Store
from codequarry.shared.store.records import Document
from codequarry.shared.timestamps import now, seconds_since
from codequarry.shared.versions.commit_log import with_logs
from codequarry.shared.versions.head import Head, Timeline
from codequarry.shared.versions.transactions import TRANSACTION_PREFIX, abort, check_held, drop_timeline

CHORES = "chore:"
UNDO = "chore:undo:"
PURGE = "chore:purge:"
# The catalog keys of a transaction that several processes write (ingest/shared_import).
BATCHES = "batch:"
PLAN = "plan"
# The fields of a note.
REPO, AT = "repo", "at"
# A run finishes another repository's chore only if that repository's own runs have left it for this long.
LEFT_SECONDS = 600.0


def abort_and_undo(store: Store, timeline: int, number: int, holder: str) -> None:
    """Abort a transaction whose lease ``holder`` has, and remove everything that the transaction wrote (rule 9)."""
    note = note_undo(store, timeline, number, _repo_of(read_head(store), timeline))
    change_head(store, lambda head: (abort(head, timeline, holder, number), None))
    _undo(store, timeline, number)
    store.delete_document(note)


def note_undo(store: DocumentStore, timeline: int, number: int, repo: str) -> str:
    """Note that a transaction must be undone once it is aborted, and return the note's key."""
    key = f"{UNDO}{timeline:010d}:{number:010d}"
    _note(store, key, repo)
    return key


def _repo_of(head: Head, timeline: int) -> str:
    state = head.timelines.get(timeline)
    return state.repo if state else ""


def batches_prefix(timeline: int, number: int) -> str:
    """Return the key prefix of a transaction's shared batches."""
    return f"{BATCHES}{timeline:010d}:{number:010d}:"


def undo_rows(store: RowStore, timeline: int, number: int) -> None:
    """Delete what an aborted transaction wrote to a timeline and to its log, and revive what it retired."""
    for part in with_logs([timeline]):
        store.undo(part, number)


def _undo(store: Store, timeline: int, number: int) -> None:
    undo_rows(store, timeline, number)
    _forget_batches(store, batches_prefix(timeline, number))


def _forget_batches(store: DocumentStore, prefix: str) -> None:
    """Delete shared batches, the plan first: a helper that is still claiming a batch sees no plan and withdraws."""
    for document in store.list_documents(prefix):
        if document.key.endswith(PLAN):
            store.delete_document(document.key)
    store.delete_documents(prefixes=[prefix])


def drop_draft(store: Store, timeline: int, number: int, holder: str) -> None:
    """Drop the never-published timelines that a transaction writes, and everything written to them.

    ``holder`` has the lease of ``timeline``. A renaming writes several timelines under one number.
    """

    def change(head: Head) -> Head:
        check_held(head, timeline, holder, number)
        # Overlays first, because a base can't be dropped before them.
        for draft in sorted(_written_by(head, number), key=lambda draft: not head.timelines[draft].pins):
            head = drop_timeline(head, draft)
        return head

    purge_timelines(store, drop_noted(store, lambda head: _written_by(head, number), change))


def _written_by(head: Head, number: int) -> list[int]:
    states = head.timelines.items()
    return [key for key, state in states if state.lease and state.lease.number == number and not state.published]


def note_purge(store: DocumentStore, timeline: int, repo: str = "") -> None:
    """Note that a timeline must be purged once another timeline is published in its place."""
    _note(store, f"{PURGE}{timeline:010d}", repo)


def drop_noted(
    store: DocumentStore, choose: Callable[[Head], Collection[int]], change: Callable[[Head], Head]
) -> Collection[int]:
    """Change the head document so that the timelines picked by ``choose`` are dropped, and return those timelines.

    They are noted before the write, so that a crash after it loses nothing, and again after the write, because a
    process that finishes chores between the note and the write finds them in use and deletes the note.
    """

    def noted(head: Head) -> tuple[Head, Mapping[int, str]]:
        chosen = {timeline: head.timelines[timeline].repo for timeline in choose(head)}
        for timeline, repo in chosen.items():
            note_purge(store, timeline, repo)
        return change(head), chosen

    dropped = change_head(store, noted)
    for timeline, repo in dropped.items():
        note_purge(store, timeline, repo)
    return list(dropped)


def noted_purges(store: DocumentStore) -> frozenset[int]:
    """Return the timelines that are noted for purging."""
    return frozenset(int(note.key.removeprefix(PURGE)) for note in store.list_documents(PURGE))


def finish_chores(
    store: Store, grace_seconds: float = 0.0, *, repo: str | None = None, thoroughly: bool = False
) -> None:
    """Finish every chore that is due; readers that started earlier have ``grace_seconds`` to finish.

    A run names its ``repo``, and leaves the chores of other repositories to their own runs, unless these have not come
    for a long time. If ``thoroughly``, nothing that only the purged rows used is left (``Store.purge``).
    """
    notes = _chosen(store.list_documents(CHORES), repo)
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
        purge_timelines(store, dropped, thoroughly=thoroughly)


def _chosen(notes: Iterable[Document], repo: str | None) -> list[Document]:
    """Return the notes of a repository, notes without a repository, and the oldest one that was left for long."""
    if repo is None:
        return list(notes)
    own: list[Document] = []
    left: list[Document] = []
    for note in notes:
        if note.body.get(REPO) in ("", None, repo):
            own.append(note)
        elif seconds_since(str(note.body[AT])) > LEFT_SECONDS:
            left.append(note)
    return own + sorted(left, key=lambda note: str(note.body[AT]))[:1]


def _finish_undo(store: Store, head: Head, key: str, timeline: int, number: int) -> None:
    if number in head.open:
        return  # noted but not yet aborted: the run that takes over its lease decides
    if number in head.aborted:
        _undo(store, timeline, number)
    store.delete_document(key)


def _is_dropped(store: DocumentStore, head: Head, timeline: int) -> bool:
    """Drop a noted timeline if its purge is due, and return whether the head document no longer has it."""
    state = head.timelines.get(timeline)
    if state is None:
        return True
    if not state.published:
        return False  # a draft that a run may resume
    if state.version or timeline in head.defaults.values():
        if not _has_draft(head, state):
            store.delete_document(f"{PURGE}{timeline:010d}")  # its replacement was aborted
        return False
    try:
        change_head(store, lambda newest: (_dropped(newest, timeline), None))
    except Conflict:
        return False  # an overlay still lies on it; a later run drops it
    return True


def _has_draft(head: Head, replaced: Timeline) -> bool:
    same = (replaced.repo, replaced.ref)
    states = (state for state in head.timelines.values() if not state.gone)
    return any((state.repo, state.ref) == same and not state.published for state in states)


def _dropped(head: Head, timeline: int) -> Head:
    return drop_timeline(head, timeline) if timeline in head.timelines else head


def purge_timelines(store: Store, timelines: Collection[int], *, thoroughly: bool = False) -> None:
    """Delete the rows of dropped timelines, then their records, and finally their notes."""
    store.purge(with_logs(timelines), thoroughly=thoroughly)
    gone = frozenset(timelines)
    for document in store.list_documents(BATCHES):
        if document.key.endswith(PLAN) and int(document.key.split(":")[1]) in gone:
            store.delete_document(document.key)
    keys = [f"{timeline:010d}" for timeline in timelines]
    batches = [f"{BATCHES}{key}:" for key in keys]
    records = [f"{kind}{key}:" for key in keys for kind in (TRANSACTION_PREFIX, SUMMARY_PREFIX)]
    store.delete_documents(list(map(swept_key, timelines)), (*batches, *records))
    store.delete_documents([f"{PURGE}{key}" for key in keys], list(map(sweep_key, timelines)))


def _note(store: DocumentStore, key: str, repo: str) -> None:
    with suppress(Conflict):  # already noted
        store.write_document(key, {REPO: repo, AT: now("seconds")}, None)
