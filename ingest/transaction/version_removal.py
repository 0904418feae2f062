"""Drops versions: they disappear for readers at once, and the chores delete the rows."""

from collections.abc import Callable

from codequarry.ingest.git.remote import Listing
from codequarry.ingest.request.wanted_version import other_versions
from codequarry.ingest.transaction.chores import drop_noted
from codequarry.ingest.transaction.placement import timelines_of
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.catalog.repositories import clear_progress, ref_head_key
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.transactions import drop_name, drop_timeline, rename_default


def drop_version(store: DocumentStore, repo: str, ref: Ref) -> bool:
    """Drop a version that is not the default branch; return False if it does not exist.

    A timeline under overlays stays only for them, without its name, until the chores can drop it.
    """
    return _drop(store, repo, ref, lambda head: head)


def adopt_name(store: DocumentStore, repo: str, branch: Ref) -> None:
    """Rename the published default branch to a branch at the same commit, whose own layer is dropped."""

    def rename(head: Head) -> Head:
        return rename_default(head, repo, branch.value)

    dropped = _drop(store, repo, branch, rename)
    if not dropped and read_head(store).default_branch(repo) != branch.value:
        change_head(store, lambda head: (rename(head), None))


def _drop(store: DocumentStore, repo: str, ref: Ref, change: Callable[[Head], Head]) -> bool:
    """Drop a version in the same write as another change; do neither, and return False, if it does not exist."""
    key = ref.key
    if not timelines_of(read_head(store), repo, key):
        return False
    drop_noted(store, lambda head: timelines_of(head, repo, key), lambda head: without_version(change(head), repo, key))
    store.delete_document(ref_head_key(repo, key))
    clear_progress(store, repo, key)
    return True


def without_version(head: Head, repo: str, key: str, keep: int | None = None) -> Head:
    """Return the head document without a version's timelines except ``keep``; runs that are writing to them stop."""
    assert key, "the default branch can only be removed with its repository"
    for timeline in timelines_of(head, repo, key):
        if timeline == keep:
            continue
        head = drop_name(head, timeline) if head.pinned(timeline) else drop_timeline(head, timeline)
    return head


def drop_vanished(store: DocumentStore, repo: str, key: str, listing: Listing) -> tuple[str, ...]:
    """Drop the versions that an origin was asked about and lacks, except ``key``; return their names."""
    gone = [ref for ref in other_versions(read_head(store), repo, key) if _is_gone(ref, listing)]
    return tuple(ref.name for ref in gone if drop_version(store, repo, ref))


def _is_gone(ref: Ref, listing: Listing) -> bool:
    return ref in listing.asked and listing.tip_of(ref) is None
