"""The API keys in the catalog: each change by compare-and-set."""

from collections.abc import Callable

from codequarry.shared.access.keys import ApiKey, renamed, withdrawn
from codequarry.shared.errors import Conflict, NotIndexed, UsageError
from codequarry.shared.store.port import Store
from codequarry.shared.versions.settled import write_settled

KEY_PREFIX = "key:"


def list_keys(store: Store) -> list[ApiKey]:
    """Return every key that there ever was, the oldest first."""
    keys = [ApiKey.from_document(document.body) for document in store.list_documents(KEY_PREFIX)]
    return sorted(keys, key=lambda key: (key.created_at, key.id))


def find_key(store: Store, asked: str) -> ApiKey:
    """Return the key with an id, or the only one of a name that is not revoked; UsageError says what else there is."""
    keys = list_keys(store)
    found = [key for key in keys if key.id == asked] or [
        key for key in keys if key.name == asked and not key.revoked_at
    ]
    if not found:
        raise NotIndexed(f"there is no key '{asked}'; codequarry keys list names them")
    if len(found) > 1:
        raise UsageError(f"several keys are called '{asked}': {', '.join(key.id for key in found)}; give the id")
    return found[0]


def add_key(store: Store, key: ApiKey) -> None:
    """Write a new key."""
    write_settled(store, KEY_PREFIX + key.id, key.to_document(), None)


def change_key(store: Store, key_id: str, change: Callable[[ApiKey], ApiKey]) -> ApiKey:
    """Apply a rule of ``keys.py`` and return the key; NotIndexed if there is none, and what the rule raises.

    IndexMoved where the index went on in another edition meanwhile, which may lack the change: make it again.
    """
    return _write(store, key_id, change)


def note_use(store: Store, key_id: str, change: Callable[[ApiKey], ApiKey]) -> None:
    """Write down that a key was used, if nobody else changes it at this moment."""
    document = store.read_document(KEY_PREFIX + key_id)
    if document is not None:
        changed = change(ApiKey.from_document(document.body))
        # Not settled: no request waits for the end of a migration to have this in it.
        store.write_document(document.key, changed.to_document(), document.version)


def forget_in_grants(store: Store, repo: str) -> None:
    """Withdraw the grants of one repository, which was removed: who has its name later is another one."""
    for key in list_keys(store):
        if any(grant.repos == repo for grant in key.grants):
            _write(store, key.id, lambda known: withdrawn(known, [repo]))


def rename_in_grants(store: Store, old: str, new: str) -> None:
    """Let the grants of one repository follow it to its new name."""
    for key in list_keys(store):
        if any(grant.repos == old for grant in key.grants):
            _write(store, key.id, lambda known: renamed(known, old, new))


def _write(store: Store, key_id: str, change: Callable[[ApiKey], ApiKey]) -> ApiKey:
    while True:
        document = store.read_document(KEY_PREFIX + key_id)
        if document is None:
            raise NotIndexed(f"there is no key '{key_id}'; codequarry keys list names them")
        changed = change(ApiKey.from_document(document.body))
        try:
            write_settled(store, document.key, changed.to_document(), document.version)
        except Conflict:
            continue
        return changed
