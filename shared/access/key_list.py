"""The API keys in the catalog; each change is a compare-and-set."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from codequarry.shared.access.grants import LOST, PENDING, Grant
from codequarry.shared.access.keys import ApiKey, bound, granted, renamed, without_repository
from codequarry.shared.catalog.documents import write_settled
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import Repository, list_repositories
from codequarry.shared.errors import Conflict, NotIndexed, UsageError
from codequarry.shared.store.port import DocumentStore

KEY_PREFIX = "key:"


def list_keys(store: DocumentStore) -> list[ApiKey]:
    """Return all keys, including expired and revoked keys, oldest first."""
    keys = [ApiKey.from_document(document.body) for document in store.list_documents(KEY_PREFIX)]
    return sorted(keys, key=lambda key: (key.created_at, key.id))


def find_key(store: DocumentStore, asked: str) -> ApiKey:
    """Find a key by its id, or the only unrevoked key with a name; raise NotIndexed if none, UsageError if several."""
    keys = list_keys(store)
    found = [key for key in keys if key.id == asked] or [
        key for key in keys if key.name == asked and not key.revoked_at
    ]
    if not found:
        raise NotIndexed(f"there is no key '{asked}'; codequarry keys list shows all keys")
    if len(found) > 1:
        raise UsageError(f"several keys are called '{asked}': {', '.join(key.id for key in found)}; use an id")
    return found[0]


def add_key(store: DocumentStore, key: ApiKey) -> ApiKey:
    """Write a new key and return it, with its grants bound to the repositories that they name."""
    made = bound(key, ids_by_name(store))
    write_settled(store, KEY_PREFIX + key.id, made.to_document(), None)
    return _settled(store, made)


def grant_to_key(store: DocumentStore, key_id: str, grants: Sequence[Grant]) -> ApiKey:
    """Add grants to a key and return it; raise UsageError if the key would have too many."""
    ids = ids_by_name(store)
    wanted = [replace(grant, repo_id="" if grant.is_pattern else ids.get(grant.repos, PENDING)) for grant in grants]
    return _settled(store, _write(store, key_id, lambda known: granted(known, wanted)))


def _settled(store: DocumentStore, key: ApiKey) -> ApiKey:
    """Bind grants that are still pending: their repository may have been added while the key was being written."""
    if not any(grant.repo_id == PENDING for grant in key.grants):
        return key
    ids = ids_by_name(store)
    return _write(store, key.id, lambda known: bound(known, ids))


def ids_by_name(store: DocumentStore) -> dict[str, str]:
    """Return the ids of the repositories in the catalog, by name."""
    return {repository.name: repository.id for repository in list_repositories(store)}


def bind_pending(store: DocumentStore, repository: Repository) -> None:
    """Bind the grants that are waiting for the name of a repository that was just added."""
    _bind(store, {repository.name: repository.id}, PENDING)


def bind_grants(store: DocumentStore) -> None:
    """Bind all grants that a dead process left unbound or that an older version wrote.

    An older version's grant becomes LOST if no repository has its name: it may be left over from a removed repository
    and must not show the next repository that takes the name.
    """
    _bind(store, ids_by_name(store), LOST)


def _bind(store: DocumentStore, ids: Mapping[str, str], otherwise: str) -> None:
    for key in list_keys(store):
        if bound(key, ids, otherwise) != key:
            _write(store, key.id, lambda known: bound(known, ids, otherwise))


def change_key(store: DocumentStore, key_id: str, change: Callable[[ApiKey], ApiKey]) -> ApiKey:
    """Apply a rule from ``keys.py`` and return the key; raise NotIndexed if unknown, IndexMoved if the index moved."""
    return _write(store, key_id, change)


def dangling_grants(store: DocumentStore) -> list[tuple[ApiKey, Grant]]:
    """Return lost grants and grants for removed repositories, with their keys; they can never show anything again."""
    ids = {*ids_by_name(store).values(), *(state.repo_id for state in read_head(store).timelines.values())}
    return [
        (key, grant)
        for key in list_keys(store)
        if not key.revoked_at
        for grant in key.grants
        if grant.repo_id == LOST or (grant.is_bound and grant.repo_id not in ids)
    ]


def note_use(store: DocumentStore, key_id: str, change: Callable[[ApiKey], ApiKey]) -> None:
    """Record that a key was used, unless another process changes the key at the same time."""
    document = store.read_document(KEY_PREFIX + key_id)
    if document is not None:
        changed = change(ApiKey.from_document(document.body))
        # Not ``write_settled``: a request must not wait for a migration to end just to record this.
        store.write_document(document.key, changed.to_document(), document.version)


def forget_in_grants(store: DocumentStore, repo: str, repo_id: str) -> None:
    """Withdraw the grants for a repository that is being removed, and the grants that are waiting for its name."""
    for key in list_keys(store):
        if without_repository(key, repo, repo_id) != key:
            _write(store, key.id, lambda known: without_repository(known, repo, repo_id))


def rename_in_grants(store: DocumentStore, repo_id: str, new: Repository) -> None:
    """Change the name in the grants for a renamed repository, and its id if an older version began the rename."""
    for key in list_keys(store):
        if renamed(key, repo_id, new.name, new.id) != key:
            _write(store, key.id, lambda known: renamed(known, repo_id, new.name, new.id))


def _write(store: DocumentStore, key_id: str, change: Callable[[ApiKey], ApiKey]) -> ApiKey:
    while True:
        document = store.read_document(KEY_PREFIX + key_id)
        if document is None:
            raise NotIndexed(f"there is no key '{key_id}'; codequarry keys list shows all keys")
        changed = change(ApiKey.from_document(document.body))
        try:
            write_settled(store, document.key, changed.to_document(), document.version)
        except Conflict:
            continue
        return changed
