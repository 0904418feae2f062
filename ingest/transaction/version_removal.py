"""Ends versions, whose commits stay searchable until they expire, and drops versions with everything they had."""

from collections.abc import Callable, Collection, Iterable, Sequence

from codequarry.ingest.git.remote import Listing
from codequarry.ingest.request.wanted_version import other_versions
from codequarry.ingest.transaction.chores import drop_noted, note_undo
from codequarry.ingest.transaction.placement import timelines_of
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.catalog.repositories import progress_key, ref_head_key
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.timestamps import now
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.transactions import drop_name, drop_timeline, rename_default, retire_version


def end_versions(store: DocumentStore, repo: str, refs: Collection[Ref]) -> None:
    """End versions that their origin no longer has, in one write; runs that are writing to them stop.

    Their commits stay searchable until they expire (rule 16). Drafts are dropped.
    """
    keys = [ref.key for ref in refs]
    _end(store, repo, keys, lambda head: head)


def adopt_name(store: DocumentStore, repo: str, branch: Ref) -> None:
    """Rename the published default branch to a branch at the same commit, whose own version ends."""

    def rename(head: Head) -> Head:
        return rename_default(head, repo, branch.value)

    if timelines_of(read_head(store), repo, branch.key):
        _end(store, repo, [branch.key], rename)
    elif read_head(store).default_branch(repo) != branch.value:
        change_head(store, lambda head: (rename(head), None))


def _end(store: DocumentStore, repo: str, keys: Sequence[str], change: Callable[[Head], Head]) -> None:
    """End versions in the same write as another change."""
    at = now("milliseconds")

    def ended(head: Head) -> Head:
        head = change(head)
        for key in keys:
            note_undos(store, head, repo, key)
            head = retired(head, timelines_of(head, repo, key), at)
        return head

    drop_noted(store, lambda head: [draft for key in keys for draft in drafts_of(head, repo, key)], ended)
    _forget_progress(store, repo, keys)


def drop_version(store: DocumentStore, repo: str, ref: Ref) -> bool:
    """Drop a version with its former timelines; return False if it does not exist. It can't be the default branch.

    It disappears for readers at once, and the chores delete its rows. A timeline under overlays stays only for them,
    without its name, until the chores can drop it.
    """
    key = ref.key
    if not _all_of(read_head(store), repo, key):
        return False
    drop_noted(
        store, lambda head: _all_of(head, repo, key), lambda head: without_timelines(head, _all_of(head, repo, key))
    )
    _forget_progress(store, repo, [key])
    return True


def _forget_progress(store: DocumentStore, repo: str, keys: Iterable[str]) -> None:
    store.delete_documents([kind(repo, key) for key in keys for kind in (ref_head_key, progress_key)])


def _all_of(head: Head, repo: str, key: str) -> list[int]:
    """Return the current and former timelines of a version."""
    assert key, "the default branch can only be removed with its repository"
    return [timeline for timeline in head.of_repo(repo) if head.timelines[timeline].version == key]


def drafts_of(head: Head, repo: str, key: str) -> list[int]:
    """Return the timelines of a version that were never published."""
    return [timeline for timeline in timelines_of(head, repo, key) if not head.timelines[timeline].published]


def note_undos(store: DocumentStore, head: Head, repo: str, key: str) -> None:
    """Note that the open transactions of a version must be undone once they are aborted."""
    for timeline in timelines_of(head, repo, key):
        if (lease := head.timelines[timeline].lease) is not None:
            note_undo(store, timeline, lease.number, repo)


def without_timelines(head: Head, timelines: Iterable[int]) -> Head:
    """Return the head document without some timelines; runs that are writing to them stop."""
    for timeline in timelines:
        head = drop_name(head, timeline) if head.pinned(timeline) else drop_timeline(head, timeline)
    return head


def retired(head: Head, timelines: Iterable[int], at: str) -> Head:
    """Return the head document with some timelines made former ones at the time ``at`` (ISO 8601).

    Runs that are writing to them stop, and drafts are dropped.
    """
    for timeline in timelines:
        is_draft = not head.timelines[timeline].published
        head = drop_timeline(head, timeline) if is_draft else retire_version(head, timeline, at)
    return head


def end_vanished(store: DocumentStore, repo: str, key: str, listing: Listing) -> tuple[str, ...]:
    """End the versions that an origin was asked about and lacks, except ``key``; return their names."""
    gone = [ref for ref in other_versions(read_head(store), repo, key) if _is_gone(ref, listing)]
    if gone:
        end_versions(store, repo, gone)
    return tuple(ref.name for ref in gone)


def _is_gone(ref: Ref, listing: Listing) -> bool:
    return ref in listing.asked and listing.tip_of(ref) is None
