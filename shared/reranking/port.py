"""The port between a search and a model that scores its candidates once more."""

from collections.abc import Iterator, Sequence
from typing import Protocol


class Reranker(Protocol):
    """One model that says how well texts answer a query. May be used from several threads."""

    @property
    def name(self) -> str:
        """Name of the model, for people."""
        ...

    @property
    def leaves_machine(self) -> bool:
        """Whether the texts are sent to another machine: those of some repositories must not be."""
        ...

    def score(self, query: str, texts: Sequence[str], seconds: float) -> Iterator[tuple[int, float]]:
        """Yield the index of a text and its score, each as soon as it is known.

        Higher is better; on what scale is the model's own affair, but it is the same for all texts of a query. After
        ``seconds`` nobody waits any more: what is not scored by then is left out. Raise EmbedderUnavailable or
        EmbeddingError where the model fails.
        """
        ...

    def close(self) -> None:
        """Give back connections and memory."""
        ...
