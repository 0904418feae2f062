"""Removing a repository with its rows, its records, vectors that no one else uses and its mirror; or one version."""

from codequarry.ingest.git.mirrors import remove_mirror
from codequarry.ingest.git.origins import origin_of_record
from codequarry.ingest.presence import has_timelines, retract_entry, retract_identity
from codequarry.ingest.transaction.chores import drop_noted, finish_chores
from codequarry.ingest.versions import drop_version
from codequarry.shared.access.key_list import forget_in_grants
from codequarry.shared.errors import AmbiguousCommit, NotIndexed, UsageError
from codequarry.shared.repositories.catalog import Repository, default_branch, list_repositories, read_repository
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import Store
from codequarry.shared.versions.ledger import read_head
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.transactions import forget


def remove_repository(name: str, store: Store, settings: SettingsModel) -> None:
    """Remove a repository; NotIndexed names those there are.

    A run that is indexing it finds its lease gone and stops; one that begins after the write to the head document
    indexes it anew. A crash in between leaves notes that the next run finishes.
    """
    repository = read_repository(store, name)
    if repository is None and not has_timelines(store, name):
        known = ", ".join(other.name for other in list_repositories(store)) or "nothing yet"
        raise NotIndexed(f"'{name}' is not indexed; there is {known}")
    drop_noted(store, lambda head: list(head.of_repo(name)), lambda head: forget(head, name))
    finish_chores(store, settings.indexing.grace_seconds)
    if repository:
        origin = origin_of_record(repository.origin)
        if not has_timelines(store, name) and not _shares_mirror(repository, store):
            remove_mirror(origin, settings.home)
        retract_entry(store, repository)
    if not has_timelines(store, name):
        forget_in_grants(store, name)
    retract_identity(store)


def _shares_mirror(repository: Repository, store: Store) -> bool:
    """Tell whether the same place is in the catalog under another name, as while it is renamed."""
    identity = origin_of_record(repository.origin).identity
    others = (other for other in list_repositories(store) if other.name != repository.name)
    return any(origin_of_record(other.origin).identity == identity for other in others)


def remove_version(name: str, ref: Ref, store: Store, settings: SettingsModel) -> Ref:
    """Drop one version of a repository, and return it in full; NotIndexed names those there are.

    The default branch goes only with its repository.
    """
    repository = read_repository(store, name)
    head = read_head(store)
    if repository is None or name not in head.defaults:
        raise NotIndexed(f"'{name}' is not indexed")
    if (ref.kind, ref.value) == ("branch", default_branch(head, repository)):
        raise UsageError(
            f"{ref.value} is the default branch of {name}: remove the repository, or make another branch the default "
            "one with codequarry index --branch B --default"
        )
    indexed = [Ref.of_key(key) for key in sorted({head.timelines[one].ref for one in head.of_repo(name)} - {""})]
    meant = [one for one in indexed if one == ref or _begins(one, ref)]
    if len(meant) > 1:
        raise AmbiguousCommit(ref.value, [one.value for one in meant])
    if not meant:
        there = ", ".join(one.name for one in indexed) or "none besides its default branch"
        raise NotIndexed(f"{name} has no indexed {ref.kind} {ref.value}; its versions are {there}")
    drop_version(store, name, meant[0])
    finish_chores(store, settings.indexing.grace_seconds)
    return meant[0]


def _begins(indexed: Ref, asked: Ref) -> bool:
    return (indexed.kind, asked.kind) == ("commit", "commit") and indexed.value.startswith(asked.value)
