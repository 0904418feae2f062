"""Keeps a repository's catalog record and timelines consistent, even if it is removed while being indexed.

A run takes a timeline first and then checks the record. A removal deletes the record first and then looks for
timelines. So at least one of them notices the other, whatever the order.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from codequarry.ingest.chunking.version import CHUNKER_VERSION
from codequarry.ingest.request.index_request import Workshop
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import (
    Repository,
    claim_repository,
    delete_repository,
    list_repositories,
    read_repository,
)
from codequarry.shared.errors import Conflict, GitError
from codequarry.shared.index.identity import claim_identity, forget_identity, read_identity, restore_identity
from codequarry.shared.origins import origin_identity
from codequarry.shared.store.port import DocumentStore


class RemovedMeanwhile(Conflict):
    """The repository was removed, or removed and added again, during the run."""

    def __init__(self, repo: str) -> None:
        super().__init__(f"'{repo}' was removed or changed during this run; run again")


def ensure_entry(repository: Repository, workshop: Workshop) -> None:
    """Restore what a removal deleted from the catalog during a run that has a timeline.

    Raise RemovedMeanwhile if the name now belongs to another repository, ModelMismatch if the index has another model.
    """
    store, settings = workshop.store, workshop.settings
    while (known := read_repository(store, repository.name)) is None:
        claim_repository(store, repository)
    if known.id != repository.id or origin_identity(known.origin) != origin_identity(repository.origin):
        raise RemovedMeanwhile(repository.name)
    claim_identity(store, workshop.embedder, settings.embedding, str(CHUNKER_VERSION))


def retract_entry(store: DocumentStore, repository: Repository) -> None:
    """Delete the record of a repository that has no timeline."""
    if has_timelines(store, repository.name):
        return
    delete_repository(store, repository)
    if has_timelines(store, repository.name):
        claim_repository(store, repository)


def retract_identity(store: DocumentStore) -> None:
    """Forget the model of an empty index, so that it can take another model."""
    known = read_identity(store)
    if known is None or list_repositories(store) or read_head(store).timelines:
        return
    forget_identity(store)
    # A run that began meanwhile has used the same model.
    if read_head(store).timelines:
        restore_identity(store, known)


def has_timelines(store: DocumentStore, repo: str) -> bool:
    """Return whether any version of a repository is indexed or being indexed."""
    return next(read_head(store).of_repo(repo), None) is not None


@dataclass(frozen=True, slots=True)
class MirrorSeen:
    """A mirror at the start of a run, to tell a git error caused by its removal from other git errors."""

    repo: str
    folder: Path
    inode: int | None

    @classmethod
    def of(cls, repo: str, folder: Path) -> Self:
        """Record the mirror's current folder and inode."""
        return cls(repo, folder, _inode(folder))

    @contextmanager
    def raising_removed(self) -> Iterator[None]:
        """Raise RemovedMeanwhile if git fails and the mirror has been removed or replaced."""
        try:
            yield
        except GitError as error:
            now = _inode(self.folder)
            if now is None or now != self.inode:
                raise RemovedMeanwhile(self.repo) from error
            raise


def _inode(folder: Path) -> int | None:
    with suppress(OSError):
        return folder.stat().st_ino
    return None
