"""Re-ranking by an embedding model, using the cosine of each candidate's vector with the query's vector."""

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock
from time import monotonic

import numpy as np

from codequarry.shared.arrays import Vector
from codequarry.shared.embedding.cache import vector_key
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.processors import processor_count

# The candidates of a few hundred queries: 30 MB with a small model's 384 numbers, 120 MB with the largest model.
MOST_REMEMBERED = 20_000


class EmbeddingReranker:
    """Scores texts by the cosine of their vectors with the query's vector, and caches the vectors."""

    def __init__(self, embedder: Embedder, most_remembered: int = MOST_REMEMBERED) -> None:
        self._embedder = embedder
        self._vectors = RecentVectors(most_remembered)

    @property
    def name(self) -> str:
        """Name of the embedding model."""
        return self._embedder.name

    @property
    def leaves_machine(self) -> bool:
        """Whether the embedding model is on another machine."""
        return self._embedder.leaves_machine

    def score(self, query: str, texts: Sequence[str], seconds: float) -> Iterator[tuple[int, float]]:
        """Yield the cosine of each text: cached texts first, then the others in order, a few at a time."""
        deadline = monotonic() + seconds
        wanted = self._embedder.embed_query(query)
        places: dict[str, list[int]] = defaultdict(list)
        for index, text in enumerate(texts):
            places[vector_key(self._embedder.name, text)].append(index)
        known = self._vectors.get(places)
        yield from _scores(known, places, wanted)
        missing = [key for key in places if key not in known]
        # One text per processor, so that the deadline is checked often.
        size = processor_count()
        for start in range(0, len(missing), size):
            if monotonic() >= deadline:
                return
            keys = missing[start : start + size]
            rows = self._embedder.embed_documents([texts[places[key][0]] for key in keys])
            made = dict(zip(keys, rows, strict=True))
            self._vectors.put(made)
            yield from _scores(made, places, wanted)

    def close(self) -> None:
        """Release the model's memory."""
        self._embedder.close()


def _scores(
    vectors: Mapping[str, Vector], places: Mapping[str, Sequence[int]], wanted: Vector
) -> Iterator[tuple[int, float]]:
    for key, vector in vectors.items():
        cosine = float(np.dot(vector, wanted))
        yield from ((index, cosine) for index in places[key])


class RecentVectors:
    """The most recently used vectors, at most ``most``. Safe to use from several threads.

    They are kept in the process because the index's cache only holds vectors of the index's dimension, and because a
    search may not be allowed to write.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._kept: OrderedDict[str, Vector] = OrderedDict()

    def get(self, keys: Iterable[str]) -> dict[str, Vector]:
        """Return the cached vectors among ``keys``."""
        with self._lock:
            found = {key: self._kept[key] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
        return found

    def put(self, vectors: Mapping[str, Vector]) -> None:
        """Cache vectors, and drop the least recently used."""
        with self._lock:
            for key, vector in vectors.items():
                # A row that is not copied would keep its whole matrix in memory.
                self._kept[key] = vector.copy()
                self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
