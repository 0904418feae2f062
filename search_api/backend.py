"""The store, the embedder and the engine of one process, opened at their first use."""

from threading import Lock

from codequarry.search_api.engine import SearchEngine
from codequarry.shared.config import SettingsModel
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import CodequarryError
from codequarry.shared.ledger import read_head
from codequarry.shared.store.factory import open_store
from codequarry.shared.store.port import Store

MODELS_FOLDER = "models"


class Backend:
    """Opens what a search needs once, and tries again on the next request where that failed.

    A worker process must open its own: connections and files are not shared across a fork.
    """

    def __init__(self, settings: SettingsModel, store: Store | None = None, embedder: Embedder | None = None) -> None:
        self.settings = settings
        self._store = store
        self._embedder = embedder
        self._engine: SearchEngine | None = None
        self._lock = Lock()

    def engine(self) -> SearchEngine:
        """Return the engine; StoreUnavailable where the store does not answer yet."""
        with self._lock:
            if self._engine is None:
                if self._embedder is None:
                    folder = self.settings.home.expanduser() / MODELS_FOLDER
                    self._embedder = open_embedder(self.settings.embedding, folder)
                if self._store is None:
                    self._store = open_store(self.settings, self._embedder.dimension)
                self._engine = SearchEngine(self._store, self._embedder, self.settings)
            return self._engine

    def checks(self) -> dict[str, str]:
        """Return for each part what is wrong with it, or ``ok``."""
        try:
            engine = self.engine()
            read_head(engine.store)
        except CodequarryError as error:
            return {"store": str(error)}
        return {"store": "ok", "embedding": "ok" if engine.embeds else "unavailable: searches go on lexically"}

    def close(self) -> None:
        """Give back what was opened."""
        with self._lock:
            if self._store is not None:
                self._store.close()
            if self._embedder is not None:
                self._embedder.close()
            self._store = self._embedder = self._engine = None
