"""The port between the code and an embedding model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from codequarry.shared.arrays import Matrix, Vector


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a text that fits the model; offsets in the model's tokens, end exclusive."""

    start_token: int
    end_token: int
    text: str


class Embedder(Protocol):
    """One embedding model. All vectors are L2-normalised float32 of ``dimension`` numbers."""

    @property
    def name(self) -> str:
        """Name that the index records: model and everything that changes its vectors (dimension, prefixes)."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def leaves_machine(self) -> bool:
        """Whether what is embedded is sent to another machine."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """The most tokens that the model reads of one text; None where it reads any length."""
        ...

    @property
    def preferred_batch(self) -> int:
        """Number of texts that one call of ``embed_documents`` should get."""
        ...

    def windows(self, text: str) -> list[Window]:
        """Cut a text into overlapping stretches that the model can read; one window where it fits whole."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return one row a text; raise EmbedderUnavailable or EmbeddingError, never a short answer."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query; a longer text than the model reads is cut."""
        ...

    def close(self) -> None:
        """Give back connections and memory."""
        ...
