"""Removing a repository: its rows, its records, vectors that no one else uses, its mirror."""

import shutil

from codequarry.ingest.chores import finish_chores, note_purge
from codequarry.ingest.mirrors import mirror_folder
from codequarry.ingest.origins import origin_of_record
from codequarry.shared.config import SettingsModel
from codequarry.shared.errors import NotIndexed
from codequarry.shared.ledger import change_head, read_head
from codequarry.shared.repositories import Repository, delete_repository, list_repositories, read_repository
from codequarry.shared.store.identity import forget_identity
from codequarry.shared.store.port import Store
from codequarry.shared.transactions import forget


def remove_repository(name: str, store: Store, settings: SettingsModel) -> None:
    """Remove a repository; NotIndexed names those there are.

    A run that is indexing it finds its lease gone and stops. A crash in between leaves notes that the next run
    finishes.
    """
    repository = read_repository(store, name)
    if repository is None:
        known = ", ".join(other.name for other in list_repositories(store)) or "nothing yet"
        raise NotIndexed(f"'{name}' is not indexed; there is {known}")
    for timeline, state in read_head(store).timelines.items():
        if state.repo == name:
            note_purge(store, timeline)
    change_head(store, lambda head: (forget(head, name), None))
    finish_chores(store)
    _remove_mirror(repository, settings)
    delete_repository(store, name)
    if not list_repositories(store):
        forget_identity(store)


def _remove_mirror(repository: Repository, settings: SettingsModel) -> None:
    folder = mirror_folder(origin_of_record(repository.origin), settings.home)
    shutil.rmtree(folder, ignore_errors=True)
    folder.with_suffix(".lock").unlink(missing_ok=True)
