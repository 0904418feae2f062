"""A text's vector as the sum of its tokens' rows: what the built-in model does."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from codequarry.shared.embedding.port import Matrix, Vector
from codequarry.shared.embedding.vectors import normalised
from codequarry.shared.embedding.vocabulary import Vocabulary

ROWS = "rows.npy"
SCALES = "scales.npy"
QUERY_SCALES = "query-scales.npy"
VOCABULARY = "vocabulary.txt"
# An int8 holds this much on either side of zero.
_LEVELS = 127
# Tokens summed at once: bounds the memory that one very long text needs to 8 MB.
_TOKENS_AT_ONCE = 8192


@dataclass(frozen=True, slots=True)
class TokenTable:
    """``rows`` is int8 (tokens, dimension), ``scales`` float32 (tokens): a token's vector is its row times its scale.

    How long a token's vector is says how much it counts; ``query_scales`` are those of a query, in which other words
    say little than in code.
    """

    vocabulary: Vocabulary
    rows: NDArray[np.int8]
    scales: NDArray[np.float32]
    query_scales: NDArray[np.float32]

    @classmethod
    def of(cls, vocabulary: Vocabulary, weights: Matrix, in_queries: Vector | None = None) -> "TokenTable":
        """Round float32 weights (tokens, dimension) to int8, each row by its own scale.

        ``in_queries`` is by what a token counts more in a query (tokens).
        """
        scales = (np.abs(weights).max(axis=1) / _LEVELS).astype(np.float32)
        scales[scales == 0] = 1.0
        query_scales = scales if in_queries is None else scales * in_queries.astype(np.float32)
        return cls(vocabulary, np.rint(weights / scales[:, None]).astype(np.int8), scales, query_scales)

    @classmethod
    def read(cls, folder: Path) -> "TokenTable":
        """Open a model; its rows are mapped into memory, so that processes share them."""
        rows = np.load(folder / ROWS, mmap_mode="r", allow_pickle=False)
        scales = np.load(folder / SCALES, allow_pickle=False)
        query_scales = np.load(folder / QUERY_SCALES, allow_pickle=False)
        return cls(Vocabulary.read(folder / VOCABULARY), rows, scales, query_scales)

    def write(self, folder: Path) -> None:
        """Write a model into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / ROWS, self.rows)
        np.save(folder / SCALES, self.scales)
        np.save(folder / QUERY_SCALES, self.query_scales)
        self.vocabulary.write(folder / VOCABULARY)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self.rows.shape[1])

    @property
    def asking(self) -> "TokenTable":
        """The same table for queries."""
        return replace(self, scales=self.query_scales)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return a row a text, of length one; zeros for a text without any token.

        A token counts with the square root of how often it occurs: the tenth time says less than the first.
        """
        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for number, text in enumerate(texts):
            if ids := self.vocabulary.ids(text):
                found[number] = self._sum(ids)
        return normalised(found)

    def weighted(self, ids: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.int64], Vector]:
        """Return the tokens of a text, each once and in order, how often they occur, and by what their rows count."""
        tokens, counts = np.unique(np.array(ids, dtype=np.int32), return_counts=True)
        return tokens, counts, np.sqrt(counts, dtype=np.float32) * self.scales[tokens]

    def _sum(self, ids: Sequence[int]) -> Vector:
        tokens, _, weights = self.weighted(ids)
        total = np.zeros(self.dimension, dtype=np.float32)
        for at in range(0, len(tokens), _TOKENS_AT_ONCE):
            part = slice(at, at + _TOKENS_AT_ONCE)
            total += weights[part] @ self.rows[tokens[part]].astype(np.float32)
        return total
