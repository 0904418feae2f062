"""The index of one worker process, opened on first use and reopened when the index has moved."""

from codequarry.ingest.request.index_request import CallHelpers, Workshop
from codequarry.shared.catalog.ledger import check_counter
from codequarry.shared.index.opened_index import OpenIndex, open_index_to_write
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.editions import Editions
from codequarry.shared.store.factory import editions_of


class WorkerIndex:
    """Opens the configured index; each process must open its own, because forked processes can't share connections."""

    def __init__(self, settings: SettingsModel) -> None:
        self.settings = settings
        self._editions: Editions | None = None
        self._index: OpenIndex | None = None

    def workshop(self, call_helpers: CallHelpers | None = None, *, anew: bool = True) -> Workshop:
        """Return a workshop over the active edition or, without ``anew`` (within a run), over the edition already open.

        Raise ModelMismatch if the settings name a different model, or StoreUnavailable if the index does not answer.
        """
        if self._index is None or (anew and self._is_outdated(self._index)):
            self._open()
        assert self._index is not None
        return Workshop(self._index.store, self._index.embedder, self.settings, call_helpers)

    def close(self) -> None:
        """Close the open index and its editions."""
        for opened in (self._index, self._editions):
            if opened is not None:
                opened.close()
        self._index = self._editions = None

    def _is_outdated(self, index: OpenIndex) -> bool:
        return self._editions is not None and self._editions.active() != index.edition

    def _open(self) -> None:
        self.close()
        self._editions = editions_of(self.settings)
        self._index = open_index_to_write(self.settings, self._editions)
        check_counter(self._index.store)
