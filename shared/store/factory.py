"""Opens the store that the settings name."""

from contextlib import closing

from codequarry.shared.data_folder import check_private
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.editions import Editions
from codequarry.shared.store.port import Store


def editions_of(settings: SettingsModel) -> Editions:
    """Return the editions of the index, still unopened; raise FolderNotPrivate if others can read the data folder."""
    if settings.store == "opensearch":
        from codequarry.shared.store.opensearch.editions import OpenSearchEditions

        return OpenSearchEditions(settings.opensearch)
    from codequarry.shared.store.embedded.editions import EmbeddedEditions

    home = settings.home.expanduser()
    check_private(home)
    return EmbeddedEditions(home)


def open_store(settings: SettingsModel, dimension: int) -> Store:
    """Open the active edition for vectors of ``dimension``; raise StoreUnavailable if the engine does not answer."""
    with closing(editions_of(settings)) as editions:
        return editions.open(editions.active(), dimension)
