"""The port to an embedding model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from codequarry.shared.arrays import Matrix, Vector


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a text that fits the model; offsets are in the model's tokens, end exclusive.

    ``start_char`` is the first character of the part in the whole text, and ``characters`` their number; a text that
    is repeated before the part does not count.
    """

    start_token: int
    end_token: int
    text: str
    start_char: int = 0
    characters: int | None = None


class Embedder(Protocol):
    """An embedding model. All vectors are L2-normalised float32 of ``dimension`` numbers."""

    @property
    def name(self) -> str:
        """Name that the index records: the model and everything that changes its vectors (dimension, prefixes)."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def leaves_machine(self) -> bool:
        """Whether texts are sent to another machine."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """Maximum number of tokens that the model reads from one text, or None if unlimited or unknown."""
        ...

    @property
    def preferred_batch(self) -> int:
        """Number of texts to pass to one call of ``embed_documents``."""
        ...

    def windows(self, text: str) -> list[Window]:
        """Cut a text into overlapping windows that the model can read; a text that fits is one window."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row per text, never fewer; raise EmbedderUnavailable or EmbeddingError if that fails."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query; of a query longer than the model's window, the mean of its windows' vectors."""
        ...

    def close(self) -> None:
        """Release connections and memory."""
        ...
