"""The port between a search and a model that re-ranks its candidates."""

from collections.abc import Iterator, Sequence
from typing import Protocol


class Reranker(Protocol):
    """A model that scores how well texts answer a query. Safe to use from several threads."""

    @property
    def name(self) -> str:
        """Name of the model, for people."""
        ...

    @property
    def leaves_machine(self) -> bool:
        """Whether texts are sent to another machine, which some repositories forbid."""
        ...

    def score(self, query: str, texts: Sequence[str], seconds: float) -> Iterator[tuple[int, float]]:
        """Yield the index and the score of each text, as soon as it is known.

        Higher is better. The scale depends on the model, but is the same for all texts of a query. The caller ignores
        scores that come after ``seconds``. Raise EmbedderUnavailable or EmbeddingError if the model fails.
        """
        ...

    def close(self) -> None:
        """Release connections and memory."""
        ...
