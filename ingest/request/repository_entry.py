"""That a repository is in the index whole or not at all, whoever removes it while others index it.

A run takes a timeline first and then looks after the record; a removal deletes the record first and then looks for
timelines. So whichever comes last, one of both sees the other.
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
    """The repository of a run was removed, or made anew, since the run began."""

    def __init__(self, repo: str) -> None:
        super().__init__(f"'{repo}' was removed or changed meanwhile; run again")


def ensure_entry(repository: Repository, workshop: Workshop) -> None:
    """Put back what a removal took from the catalog beneath a run that has a timeline.

    Conflict where the name is another origin's by now, ModelMismatch where the index has another model.
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
    """Let an index that holds nothing any more take another model."""
    known = read_identity(store)
    if known is None or list_repositories(store) or read_head(store).timelines:
        return
    forget_identity(store)
    # Rows that a run began meanwhile have been made with the same model.
    if read_head(store).timelines:
        restore_identity(store, known)


def has_timelines(store: DocumentStore, repo: str) -> bool:
    """Tell whether anything of a repository is indexed, or on its way."""
    return next(read_head(store).of_repo(repo), None) is not None


@dataclass(frozen=True, slots=True)
class MirrorSeen:
    """A mirror that was there, so that git's complaints about it can be told from its removal."""

    repo: str
    folder: Path
    inode: int | None

    @classmethod
    def of(cls, repo: str, folder: Path) -> Self:
        """Look at a mirror."""
        return cls(repo, folder, _inode(folder))

    @contextmanager
    def raising_removed(self) -> Iterator[None]:
        """Raise RemovedMeanwhile where git fails since the mirror is gone, or is another by now."""
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
