"""Rows from before secrets were masked: which versions have some, and getting rid of them for good.

A run that masks a version for the first time notes that its repository has such rows. The note goes when every version
is masked, the older commits are given up (rule 16), their rows deleted, and what was deleted erased from the disk.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass

from codequarry.ingest.transaction.chores import PURGE
from codequarry.ingest.transaction.placement import current_timeline
from codequarry.ingest.transaction.retention import SWEEP
from codequarry.shared.catalog.ledger import published_transactions, read_head, read_transaction
from codequarry.shared.catalog.repositories import list_repositories
from codequarry.shared.errors import Conflict
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.versions.head import Head

NOTE = "unmasked:"


@dataclass(frozen=True, slots=True)
class _Note:
    """``older`` is the number of commits from before that are given up."""

    older: int


def is_unmasked(store: DocumentStore, head: Head, repo: str, key: str) -> bool:
    """Return whether secrets were not masked in what readers of a version see."""
    timeline = current_timeline(head, repo, key)
    record = read_transaction(store, timeline, head.timelines[timeline].published) if timeline is not None else None
    return record is not None and not record.is_masked


def note_unmasked(store: DocumentStore, repo: str) -> None:
    """Note that a repository has rows from before, so that they are seen to whatever happens to this run."""
    head = read_head(store)
    records = [record for one in head.of_repo(repo) for record in published_transactions(store, head, one)]
    older = sum(not record.is_masked for record in records) - len(unmasked_versions(store, repo))
    with suppress(Conflict):
        store.write_document(NOTE + repo, asdict(_Note(older)), None)


def noted_commits(store: DocumentStore, repo: str) -> int | None:
    """Return how many older commits are given up while a repository becomes masked; None where none is on its way."""
    document = store.read_document(NOTE + repo)
    return document.decode(_Note).older if document else None


def unmasked_versions(store: DocumentStore, repo: str) -> list[str]:
    """Return the keys of the versions whose secrets are not masked, the default branch first."""
    head = read_head(store)
    return [key for key in _versions(head, repo) if is_unmasked(store, head, repo, key)]


def repositories_with_unmasked(store: DocumentStore) -> list[str]:
    """Return the repositories that hold rows from before, by name; of each one or two documents are read."""
    head = read_head(store)
    noted = {document.key.removeprefix(NOTE) for document in store.list_documents(NOTE)}
    names = [repository.name for repository in list_repositories(store)]
    return [name for name in names if name in noted or is_unmasked(store, head, name, "")]


def finish_unmasked(store: Store) -> None:
    """Erase what was deleted for every repository that has nothing from before any more, and forget the notes."""
    notes = store.list_documents(NOTE)
    head = read_head(store)
    done = [note for note in notes if not any(_left(store, head, note.key.removeprefix(NOTE)))]
    if done and store.erase_deleted():
        for note in done:
            store.delete_document(note.key)


def _versions(head: Head, repo: str) -> list[str]:
    return sorted({head.timelines[one].ref for one in head.of_repo(repo)})


def _left(store: DocumentStore, head: Head, repo: str) -> Iterator[bool]:
    """Yield True for each thing that is not done yet."""
    timelines = set(head.of_repo(repo))
    for timeline in timelines:
        records = published_transactions(store, head, timeline)
        yield any(not record.is_masked for record in records)
    for document in (*store.list_documents(SWEEP), *store.list_documents(PURGE)):
        timeline = int(document.key.split(":")[2 if document.key.startswith(PURGE) else 1])
        # Of a timeline that was dropped nobody knows any more whose it was.
        yield timeline in timelines or timeline not in head.timelines
