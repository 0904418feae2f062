"""Finds the versions with rows from before secrets were masked, and erases those rows.

A run that masks a version for the first time notes that its repository has unmasked rows. The note is deleted once
every version is masked, the older commits have expired (rule 16), and their rows are erased from the disk.
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
    """``older`` is the number of unmasked commits that expire."""

    older: int


def is_unmasked(store: DocumentStore, head: Head, repo: str, key: str) -> bool:
    """Return whether readers of a version see rows whose secrets were not masked."""
    timeline = current_timeline(head, repo, key)
    record = read_transaction(store, timeline, head.timelines[timeline].published) if timeline is not None else None
    return record is not None and not record.is_masked


def note_unmasked(store: DocumentStore, repo: str) -> None:
    """Note that a repository has unmasked rows, so that they are erased whatever happens to this run."""
    head = read_head(store)
    records = [record for key in head.of_repo(repo) for record in published_transactions(store, head, key)]
    older = sum(not record.is_masked for record in records) - len(unmasked_versions(store, repo))
    with suppress(Conflict):
        store.write_document(NOTE + repo, asdict(_Note(older)), None)


def noted_commits(store: DocumentStore, repo: str) -> int | None:
    """Return how many older commits expire while a repository is being masked; None if it is not being masked."""
    document = store.read_document(NOTE + repo)
    return document.decode(_Note).older if document else None


def unmasked_versions(store: DocumentStore, repo: str) -> list[str]:
    """Return the keys of the versions whose secrets are not masked, the default branch first."""
    head = read_head(store)
    return [key for key in _versions(head, repo) if is_unmasked(store, head, repo, key)]


def repositories_with_unmasked(store: DocumentStore) -> list[str]:
    """Return the names of repositories with unmasked rows; reads one or two documents for each repository."""
    head = read_head(store)
    noted = {document.key.removeprefix(NOTE) for document in store.list_documents(NOTE)}
    names = [repository.name for repository in list_repositories(store)]
    return [name for name in names if name in noted or is_unmasked(store, head, name, "")]


def finish_unmasked(store: Store) -> None:
    """Erase deleted rows from the disk if a noted repository has no unmasked rows left, and delete its note."""
    notes = store.list_documents(NOTE)
    head = read_head(store)
    done = [note for note in notes if not any(_left(store, head, note.key.removeprefix(NOTE)))]
    if done and store.erase_deleted():
        for note in done:
            store.delete_document(note.key)


def _versions(head: Head, repo: str) -> list[str]:
    return sorted({head.timelines[key].ref for key in head.of_repo(repo)})


def _left(store: DocumentStore, head: Head, repo: str) -> Iterator[bool]:
    """Yield, for each step, whether it is still to be done."""
    timelines = set(head.of_repo(repo))
    for timeline in timelines:
        records = published_transactions(store, head, timeline)
        yield any(not record.is_masked for record in records)
    for document in (*store.list_documents(SWEEP), *store.list_documents(PURGE)):
        timeline = int(document.key.split(":")[2 if document.key.startswith(PURGE) else 1])
        # A dropped timeline's repository is unknown, so the rows may belong to this repository.
        yield timeline in timelines or timeline not in head.timelines
