"""How similar a model considers a query and a document, and why, if the model can explain it."""

from dataclasses import dataclass

import numpy as np

from codequarry.shared.embedding.explanation import Explaining, TokenExplanation
from codequarry.shared.embedding.port import Embedder


@dataclass(frozen=True, slots=True)
class Comparison:
    """The cosine (-1 to 1) of a query and a document's nearest ``window``; ``query_cut`` if the query was cut."""

    similarity: float
    windows: int
    window: int
    query_cut: bool
    explanation: TokenExplanation | None


def compare(embedder: Embedder, query: str, document: str, most: int) -> Comparison:
    """Compare two texts as a search would, and explain the result with at most ``most`` contributions of each kind."""
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
    """Return whether a model can explain why two texts are similar."""
    return isinstance(embedder, Explaining)


def explain(embedder: Embedder, query: str, document: str, most: int) -> TokenExplanation | None:
    """Return why two texts are similar, or None if the model cannot explain it."""
    return embedder.explain(query, document, most) if isinstance(embedder, Explaining) else None
