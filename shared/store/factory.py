"""From the settings to a store."""

from codequarry.shared.config import SettingsModel
from codequarry.shared.store.port import Store

EMBEDDED_FOLDER = "store"


def open_store(settings: SettingsModel, dimension: int) -> Store:
    """Open the store that the settings name, for vectors of ``dimension``; StoreUnavailable if it does not answer."""
    if settings.store == "opensearch":
        from codequarry.shared.store.opensearch.store import OpenSearchStore

        return OpenSearchStore(settings.opensearch, dimension)
    from codequarry.shared.store.embedded.store import EmbeddedStore

    return EmbeddedStore(settings.home.expanduser() / EMBEDDED_FOLDER, dimension)
