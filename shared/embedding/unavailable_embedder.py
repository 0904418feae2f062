"""A placeholder for a model that cannot be used here: the index that the model filled still answers word searches."""

from collections.abc import Sequence

from codequarry.shared.arrays import Matrix, Vector
from codequarry.shared.embedding.port import Window
from codequarry.shared.embedding.tokens import count_tokens
from codequarry.shared.errors import EmbedderUnavailable


class UnavailableEmbedder:
    """Has the name and dimension of a model, and raises EmbedderUnavailable with ``reason`` for every text."""

    preferred_batch = 1

    def __init__(self, name: str, dimension: int, reason: str) -> None:
        self._name, self._dimension, self.reason = name, dimension, reason

    @property
    def name(self) -> str:
        """Name that the index records."""
        return self._name

    @property
    def dimension(self) -> int:
        """Length of the index's vectors."""
        return self._dimension

    @property
    def leaves_machine(self) -> bool:
        """False: nothing is embedded."""
        return False

    @property
    def max_tokens(self) -> int | None:
        """None: the window of the model is unknown."""
        return None

    def windows(self, text: str) -> list[Window]:
        """Return the whole text as one window."""
        return [Window(0, count_tokens(text), text, 0, len(text))]

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Raise EmbedderUnavailable."""
        raise EmbedderUnavailable(self.reason)

    def embed_query(self, text: str) -> Vector:
        """Raise EmbedderUnavailable."""
        raise EmbedderUnavailable(self.reason)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
