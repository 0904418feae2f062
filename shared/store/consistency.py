"""Whether the head document and the rows of a store belong together."""

from codequarry.shared.errors import StoreError
from codequarry.shared.store.port import Store
from codequarry.shared.versions.ledger import read_head


def check_counter(store: Store) -> None:
    """Raise StoreError if a row is newer than the head document: the two do not belong together (rule 18).

    To be asked once when a store is opened for work, not with every search.
    """
    # In this order: a run that takes a number meanwhile raises the counter before it writes.
    newest = store.newest_number()
    counter = read_head(store).counter
    if newest > counter:
        raise StoreError(
            f"the index holds rows of transaction {newest}, but the counter of its head document stands at {counter}: "
            "they come from two backups; restore rows and catalog from the same one, or index again into an empty store"
        )
