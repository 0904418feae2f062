"""Removals that are under way, each a note in the catalog: whatever ends a removal half-way, the next run finishes it.

The note is written before anything is removed and deleted after everything is. A name is free for another repository
only when no grant of the one before is left: the record goes last. Each step goes by the repository's id, so a process
that wakes up late does nothing to a repository that has taken the name since.
"""

from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from codequarry.ingest.git.mirror_cache import remove_unused
from codequarry.ingest.git.mirrors import mirror_folder, mirrors_folder, remove_mirror
from codequarry.ingest.git.origins import origin_of_record
from codequarry.ingest.request.repository_entry import has_timelines, retract_entry, retract_identity
from codequarry.ingest.transaction.chores import drop_noted, finish_chores
from codequarry.shared.access.binding import bind_index
from codequarry.shared.access.key_list import forget_in_grants
from codequarry.shared.catalog.documents import put_document
from codequarry.shared.catalog.failures import forget_failures
from codequarry.shared.catalog.polls import forget_poll
from codequarry.shared.catalog.repositories import Repository, is_in_catalog, list_repositories
from codequarry.shared.errors import CodequarryError
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.transactions import forget

REMOVAL_PREFIX = "removal:"
# Which mirrors no repository has any more, for the machines that hold one.
LEFT_MIRROR_PREFIX = "left-mirror:"
# A machine that did no work for so long keeps its mirror of a repository that was removed.
LEFT_MIRROR_DAYS = 90


@dataclass(frozen=True, slots=True)
class Removal:
    """The removal of one repository under one of its names; ``origin`` is "" where the catalog did not know it."""

    name: str
    repo_id: str
    origin: str

    @property
    def key(self) -> str:
        """The document key; neither an id nor a name holds a colon."""
        return f"{REMOVAL_PREFIX}{self.repo_id}:{self.name}"

    @property
    def repository(self) -> Repository:
        """The repository, as far as it is known."""
        return Repository(self.name, self.origin, "", id=self.repo_id)


def repair(store: Store, settings: SettingsModel) -> None:
    """Put right what interrupted commands, other machines or an older version left: each run and each worker does."""
    bind_index(store)
    finish_removals(store, settings)
    remove_left_mirrors(store, settings)


def finish_removals(store: Store, settings: SettingsModel) -> list[str]:
    """Finish the removals that were interrupted, and return the names that are free again."""
    removals = [document.decode(Removal) for document in store.list_documents(REMOVAL_PREFIX)]
    for removal in removals:
        _carry_out(removal, store, settings)
    return [removal.name for removal in removals]


def begin_removal(removal: Removal, store: Store, settings: SettingsModel) -> None:
    """Note that a repository goes, so that it goes whatever happens from here on, and remove it."""
    put_document(store, removal.key, asdict(removal))
    _carry_out(removal, store, settings)


def _carry_out(removal: Removal, store: Store, settings: SettingsModel) -> None:
    """Remove a repository that is noted; two processes may do it at the same time."""
    drop_noted(store, lambda head: _timelines(head, removal), lambda head: _forgotten(head, removal))
    finish_chores(store, settings.indexing.grace_seconds)
    if not _has_other_name(removal, store):
        forget_in_grants(store, removal.name if is_in_catalog(store, removal.repository) else "", removal.repo_id)
    if not has_timelines(store, removal.name):
        _remove_mirror(removal, store, settings)
    if is_in_catalog(store, removal.repository):
        forget_poll(store, removal.name)
        if not _has_other_name(removal, store):
            forget_failures(store, removal.repo_id)
        retract_entry(store, removal.repository)
    retract_identity(store)
    store.delete_document(removal.key)


def _timelines(head: Head, removal: Removal) -> list[int]:
    return [key for key in head.of_repo(removal.name) if head.timelines[key].repo_id == removal.repo_id]


def _forgotten(head: Head, removal: Removal) -> Head:
    return forget(head, removal.name) if _timelines(head, removal) else head


def _has_other_name(removal: Removal, store: DocumentStore) -> bool:
    """Return whether the repository lives on under another name, as after it was renamed."""
    others = (one for one in list_repositories(store) if one.name != removal.name)
    return any(one.id == removal.repo_id for one in others)


def _remove_mirror(removal: Removal, store: DocumentStore, settings: SettingsModel) -> None:
    """Delete this machine's mirror, and note for others that theirs may go, unless the place has another name here."""
    folder = _mirror(removal.origin, settings)
    others = {_mirror(one.origin, settings) for one in list_repositories(store) if one.name != removal.name}
    if folder is None or folder in others:
        return
    if settings.store != "embedded":
        at = datetime.now(UTC).isoformat(timespec="seconds")
        put_document(store, LEFT_MIRROR_PREFIX + folder.name, {"at": at})
    remove_mirror(folder)


def remove_left_mirrors(store: DocumentStore, settings: SettingsModel) -> list[str]:
    """Delete this machine's mirrors of repositories that were removed, unless one is in use, and return their names."""
    notes = store.list_documents(LEFT_MIRROR_PREFIX)
    if not notes:
        return []
    wanted = {_mirror(one.origin, settings) for one in list_repositories(store)}
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
    """Return where the mirror of an origin lies; None where the record says nothing that could have one."""
    with suppress(CodequarryError):
        return mirror_folder(origin_of_record(origin), settings.home)
    return None
