"""Removes one version of a repository, or the repository with its rows, records, unshared vectors and mirror."""

from codequarry.ingest.removal.interrupted_removal import Removal, begin_removal, finish_removals
from codequarry.ingest.transaction.chores import finish_chores
from codequarry.ingest.transaction.version_removal import drop_version, end_versions
from codequarry.shared.access.binding import bind_index
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import default_branch, list_repositories, read_repository
from codequarry.shared.errors import AmbiguousCommit, NotIndexed, UsageError
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import Store
from codequarry.shared.versions.refs import Ref


def remove_repository(name: str, store: Store, settings: SettingsModel, repo_id: str = "") -> None:
    """Remove a repository, with ``repo_id`` only if its id matches; raise NotIndexed, listing the indexed repositories.

    A run that is indexing it stops; a later run indexes it again. The next run finishes an interrupted removal.
    """
    bind_index(store)
    if name in finish_removals(store, settings) and read_repository(store, name) is None:
        return
    repository = read_repository(store, name)
    known_id = repository.id if repository else read_head(store).id_of_repo(name)
    if known_id is None or repo_id not in ("", known_id):
        known = ", ".join(other.name for other in list_repositories(store)) or "none"
        raise NotIndexed(f"'{name}' is not indexed; indexed: {known}")
    begin_removal(Removal(name, known_id, repository.origin if repository else ""), store, settings)


def remove_version(name: str, ref: Ref, store: Store, settings: SettingsModel) -> Ref:
    """Drop one version of a repository with all its commits, also of a version that has ended; return its full name.

    Raise NotIndexed, listing the versions, if it is unknown, UsageError for the default branch, and AmbiguousCommit if
    an abbreviated commit matches several.
    """
    meant = _meant(name, ref, store, ended=True)
    drop_version(store, name, meant)
    finish_chores(store, settings.indexing.grace_seconds)
    return meant


def end_version(name: str, ref: Ref, store: Store) -> None:
    """End one version of a repository, whose commits stay searchable until they expire; raise as ``remove_version``."""
    end_versions(store, name, [_meant(name, ref, store, ended=False)])


def _meant(name: str, ref: Ref, store: Store, *, ended: bool) -> Ref:
    """Return the indexed version that ``ref`` means, or with ``ended`` also a version that has ended."""
    repository = read_repository(store, name)
    head = read_head(store)
    if repository is None or name not in head.defaults:
        raise NotIndexed(f"'{name}' is not indexed")
    if (ref.kind, ref.value) == ("branch", default_branch(head, repository)):
        raise UsageError(
            f"{ref.value} is the default branch of {name}: remove the repository, or make another branch the default "
            "with codequarry index --branch B --default"
        )
    states = [head.timelines[timeline] for timeline in head.of_repo(name)]
    keys = {state.version if ended else state.ref for state in states} - {""}
    indexed = [Ref.of_key(key) for key in sorted(keys)]
    meant = [version for version in indexed if version == ref or _abbreviates(version, ref)]
    if len(meant) > 1:
        raise AmbiguousCommit(ref.value, [version.value for version in meant])
    if not meant:
        there = ", ".join(version.name for version in indexed) or "only the default branch"
        raise NotIndexed(f"{name} has no indexed {ref.kind} {ref.value}; indexed versions: {there}")
    return meant[0]


def _abbreviates(indexed: Ref, asked: Ref) -> bool:
    return (indexed.kind, asked.kind) == ("commit", "commit") and indexed.value.startswith(asked.value)
