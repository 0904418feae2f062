"""Removals in progress, each noted in the catalog, so that the next run finishes an interrupted removal.

The note is written before anything is removed and deleted once everything is. The repository's record is deleted last:
a name becomes free for another repository only when no grant for the old repository is left. Each step checks the
repository's id, so a process that wakes up late does nothing to a new repository with the same name.
"""

from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from codequarry.ingest.commentary.cache import forget_commentary
from codequarry.ingest.git.mirror_cache import remove_unused
from codequarry.ingest.git.mirrors import remove_mirror
from codequarry.ingest.git.origins import origin_of_record
from codequarry.ingest.request.repository_entry import has_timelines, retract_entry, retract_identity
from codequarry.ingest.transaction.chores import drop_noted, finish_chores
from codequarry.shared.access.binding import bind_index
from codequarry.shared.access.key_list import forget_in_grants
from codequarry.shared.catalog.documents import put_document
from codequarry.shared.catalog.failures import forget_failures
from codequarry.shared.catalog.merge_bases import forget_merge_bases
from codequarry.shared.catalog.polls import forget_poll
from codequarry.shared.catalog.pull_requests import forget_pull_requests
from codequarry.shared.catalog.repositories import Repository, is_in_catalog, list_repositories
from codequarry.shared.errors import CodequarryError
from codequarry.shared.repositories.mirror_folders import mirror_folder, mirrors_folder
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.transactions import forget

REMOVAL_PREFIX = "removal:"
# Notes of mirrors without a repository, for the machines that hold such mirrors.
LEFT_MIRROR_PREFIX = "left-mirror:"
# A machine that has done no work for this long keeps its mirror of a removed repository.
LEFT_MIRROR_DAYS = 90


@dataclass(frozen=True, slots=True)
class Removal:
    """The removal of one repository under one of its names; ``origin`` is "" if the catalog did not know it."""

    name: str
    repo_id: str
    origin: str

    @property
    def key(self) -> str:
        """The document key; neither an id nor a name contains a colon."""
        return f"{REMOVAL_PREFIX}{self.repo_id}:{self.name}"

    @property
    def repository(self) -> Repository:
        """The repository, as far as it is known."""
        return Repository(self.name, self.origin, "", id=self.repo_id)


def repair(store: Store, settings: SettingsModel) -> None:
    """Repair what interrupted commands, other machines or older versions left behind; each run and worker calls it."""
    bind_index(store)
    finish_removals(store, settings)
    remove_left_mirrors(store, settings)


def finish_removals(store: Store, settings: SettingsModel) -> list[str]:
    """Finish interrupted removals, and return the names that are free again."""
    removals = [document.decode(Removal) for document in store.list_documents(REMOVAL_PREFIX)]
    for removal in removals:
        _carry_out(removal, store, settings)
    return [removal.name for removal in removals]


def begin_removal(removal: Removal, store: Store, settings: SettingsModel) -> None:
    """Note a repository's removal, so that a later run finishes it if this run can't, and remove the repository."""
    put_document(store, removal.key, asdict(removal))
    _carry_out(removal, store, settings)


def _carry_out(removal: Removal, store: Store, settings: SettingsModel) -> None:
    """Remove a noted repository; two processes may do so at the same time."""
    drop_noted(store, lambda head: _timelines(head, removal), lambda head: _forgotten(head, removal))
    finish_chores(store, settings.indexing.grace_seconds, thoroughly=True)
    if not _has_other_name(removal, store):
        forget_in_grants(store, removal.name if is_in_catalog(store, removal.repository) else "", removal.repo_id)
    if not has_timelines(store, removal.name):
        _remove_mirror(removal, store, settings)
    if is_in_catalog(store, removal.repository):
        forget_poll(store, removal.name)
        if not _has_other_name(removal, store):
            forget_failures(store, removal.repo_id)
            forget_commentary(store, removal.repo_id)
            forget_merge_bases(store, removal.repo_id)
            forget_pull_requests(store, removal.repo_id)
        retract_entry(store, removal.repository)
    retract_identity(store)
    store.delete_document(removal.key)


def _timelines(head: Head, removal: Removal) -> list[int]:
    return [key for key in head.of_repo(removal.name) if head.timelines[key].repo_id == removal.repo_id]


def _forgotten(head: Head, removal: Removal) -> Head:
    return forget(head, removal.name) if _timelines(head, removal) else head


def _has_other_name(removal: Removal, store: DocumentStore) -> bool:
    others = (other for other in list_repositories(store) if other.name != removal.name)
    return any(other.id == removal.repo_id for other in others)


def _remove_mirror(removal: Removal, store: DocumentStore, settings: SettingsModel) -> None:
    """Delete this machine's mirror, and have other machines delete theirs, unless another name uses the mirror."""
    folder = _mirror(removal.origin, settings)
    others = {_mirror(other.origin, settings) for other in list_repositories(store) if other.name != removal.name}
    if folder is None or folder in others:
        return
    if settings.store != "embedded":
        at = datetime.now(UTC).isoformat(timespec="seconds")
        put_document(store, LEFT_MIRROR_PREFIX + folder.name, {"at": at})
    remove_mirror(folder)


def remove_left_mirrors(store: DocumentStore, settings: SettingsModel) -> list[str]:
    """Delete this machine's mirrors of removed repositories that are not in use, and return their names."""
    notes = store.list_documents(LEFT_MIRROR_PREFIX)
    if not notes:
        return []
    wanted = {_mirror(repository.origin, settings) for repository in list_repositories(store)}
    over = (datetime.now(UTC) - timedelta(days=LEFT_MIRROR_DAYS)).isoformat(timespec="seconds")
    removed = []
    for note in notes:
        folder = mirrors_folder(settings.home) / note.key.removeprefix(LEFT_MIRROR_PREFIX)
        if folder in wanted or str(note.body["at"]) < over:
            store.delete_document(note.key)
        elif folder.is_dir() and remove_unused(folder):
            removed.append(folder.name)
    return removed


def _mirror(origin: str, settings: SettingsModel) -> Path | None:
    """Return the folder of an origin's mirror, or None if the recorded origin can't have a mirror."""
    with suppress(CodequarryError):
        return mirror_folder(origin_of_record(origin), settings.home)
    return None
