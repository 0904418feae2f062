"""How near a query and a document are by a model, and why where the model can tell."""

from dataclasses import dataclass

import numpy as np

from codequarry.shared.embedding.explanation import Explaining, TokenExplanation
from codequarry.shared.embedding.port import Embedder


@dataclass(frozen=True, slots=True)
class Comparison:
    """The cosine (-1 to 1) of a query with a document, or with the nearest of the ``windows`` that it is read in.

    ``window`` is that one, counted from 0; ``query_cut`` where the query is longer than the model reads.
    ``explanation`` is None where the model can't tell.
    """

    similarity: float
    windows: int
    window: int
    query_cut: bool
    explanation: TokenExplanation | None


def compare(embedder: Embedder, query: str, document: str, most: int) -> Comparison:
    """Compare two texts as a search would; ``most`` contributions of each kind are told."""
    windows = [window.text for window in embedder.windows(document)]
    cosines = embedder.embed_documents(windows) @ embedder.embed_query(query)
    best = int(np.argmax(cosines))
    return Comparison(
        similarity=float(np.clip(cosines[best], -1, 1)),
        windows=len(windows),
        window=best,
        query_cut=len(embedder.windows(query)) > 1,
        explanation=explain(embedder, query, windows[best], most),
    )


def explains(embedder: Embedder) -> bool:
    """Tell whether a model can say why two texts are near."""
    return isinstance(embedder, Explaining)


def explain(embedder: Embedder, query: str, document: str, most: int) -> TokenExplanation | None:
    """Return why two texts are near, if the model can tell."""
    return embedder.explain(query, document, most) if isinstance(embedder, Explaining) else None
