"""The vector of a text as the sum of its tokens' rows: how the built-in model works."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import read_magic
from numpy.typing import NDArray

from codequarry.shared.arrays import Matrix, Vector
from codequarry.shared.embedding.declarations import declared_names, summaries
from codequarry.shared.embedding.strides import fingerprint, normalised, rounded
from codequarry.shared.embedding.vocabulary import Vocabulary
from codequarry.shared.errors import EmbeddingError
from codequarry.shared.known_models import TABLE_FILES

ROWS, SCALES, QUERY_SCALES, VOCABULARY = TABLE_FILES
_HEADER = re.compile(
    rb"\{'descr': '(?P<type>[|<][a-z]\d)', 'fortran_order': False, 'shape': \((?P<shape>\d+,(?: \d+)?)\), \}\s*"
)
# Extra counts for the words of a declared name and of its summary. Mean of four tables on CoSQA's development half:
# .449 with 0 and 0, .463 with 2 and 0, .474 with 2 and 1, .478 with 3 and 1, .475 with 4 and 1. On held-out packages
# (without summaries, and without names for name queries), a higher count of names helps doc comments, not names: .686
# and .462 with 2 and 1, .692 and .456 with 3 and 1, .697 and .450 with 4. A table trained with them would gain less.
NAMES, SUMMARIES = 3, 1
# Increased with every change to how tokens and names are found, because the same files then give different vectors.
_RULES = 3
# Rows summed at once, which limits the memory for a very long text to 8 MB.
_ROWS_AT_ONCE = 8192
# Texts whose tokens are counted at once: enough to make calls cheap, few enough to stay in the CPU cache.
_TEXTS_AT_ONCE = 64
# One integer holds the text number and the token id, so that a single sort counts the tokens of many texts.
_TOKEN_BITS = 32


@dataclass(frozen=True, slots=True)
class TokenTable:
    """``rows`` is int8 (tokens, dimension), ``scales`` float32 (tokens): a token's vector is its row times its scale.

    A vector's length is the token's weight. Queries use ``query_scales``, because different words matter in them. In
    documents, words of declared names count ``declared`` more times, and words of summaries ``summarised`` more times.
    """

    vocabulary: Vocabulary
    rows: NDArray[np.int8]
    scales: NDArray[np.float32]
    query_scales: NDArray[np.float32]
    declared: int = NAMES
    summarised: int = SUMMARIES

    @classmethod
    def of(cls, vocabulary: Vocabulary, weights: Matrix, in_queries: Vector | None = None) -> "TokenTable":
        """Round float32 weights (tokens, dimension) to int8; ``in_queries`` (tokens) multiplies them in queries."""
        rows, scales = rounded(weights)
        query_scales = scales if in_queries is None else scales * in_queries.astype(np.float32)
        return cls(vocabulary, rows, scales, query_scales)

    @classmethod
    def read(cls, folder: Path) -> "TokenTable":
        """Open a model, mapping its rows; raise EmbeddingError if files are missing, damaged or of different models."""
        try:
            rows = _mapped(folder / ROWS)
            scales, query_scales = (np.array(_mapped(folder / name)) for name in (SCALES, QUERY_SCALES))
            vocabulary = Vocabulary.read(folder / VOCABULARY)
        except FileNotFoundError as error:
            raise EmbeddingError(f"{error.filename} is missing") from error
        # numpy raises these errors for a truncated or foreign file; text that is not UTF-8 is a ValueError too.
        except (OSError, ValueError) as error:
            raise EmbeddingError(f"a file in {folder} is damaged: {error}") from error
        shapes = {rows.shape[:1], scales.shape, query_scales.shape, (len(vocabulary.tokens),)}
        if rows.ndim != 2 or len(shapes) > 1 or rows.dtype != np.int8:
            raise EmbeddingError(f"the files in {folder} do not belong together")
        return cls(vocabulary, rows, scales, query_scales)

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
        return replace(self, scales=self.query_scales, declared=0, summarised=0)

    def fingerprint(self) -> str:
        """Return a short hash of everything that determines the vectors."""
        tokens = "\n".join(self.vocabulary.tokens).encode()
        arrays = (self.scales, self.query_scales, self.rows)
        return fingerprint(
            (
                tokens,
                bytes([self.declared, self.summarised, _RULES]),
                *(np.ascontiguousarray(array).data.cast("B") for array in arrays),
            )
        )

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one row of length 1 per text.

        A token counts as the square root of its frequency: the tenth occurrence says less than the first. Texts without
        tokens all get a vector of equal numbers: stores accept no row of zeros, and such texts then match each other.
        """
        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for at in range(0, len(texts), _TEXTS_AT_ONCE):
            for number, vector in enumerate(self._sums(texts[at : at + _TEXTS_AT_ONCE]), at):
                found[number] = vector
        found[~found.any(axis=1)] = 1.0
        return normalised(found)

    def weighted(self, text: str) -> tuple[NDArray[np.int32], NDArray[np.int64], Vector]:
        """Return the distinct tokens of a text in order, how often each counts, and the factors of their rows."""
        tokens, counts = np.unique(np.frombuffer(self._packed(text), dtype=np.int32), return_counts=True)
        return tokens, counts, self._weights(tokens, counts)

    def _packed(self, text: str) -> bytes:
        packed = self.vocabulary.packed(text)
        for times, find in ((self.declared, declared_names), (self.summarised, summaries)):
            if times:
                packed += times * b"".join(map(self.vocabulary.packed, find(text)))
        return packed

    def _weights(self, tokens: NDArray[np.integer], counts: NDArray[np.int64]) -> Vector:
        weights: Vector = np.sqrt(counts, dtype=np.float32) * self.scales[tokens]
        return weights

    def _sums(self, texts: Sequence[str]) -> Iterator[Vector]:
        """Yield the sum of each text, computed separately so that it does not depend on the other texts."""
        packed = [self._packed(text) for text in texts]
        ids = np.frombuffer(b"".join(packed), dtype=np.int32)
        lengths = [len(part) // ids.itemsize for part in packed]
        keys, counts = np.unique(np.repeat(np.arange(len(texts)) << _TOKEN_BITS, lengths) + ids, return_counts=True)
        tokens = keys & (1 << _TOKEN_BITS) - 1
        weights = self._weights(tokens, counts)
        ends = np.searchsorted(keys, np.arange(len(texts) + 1) << _TOKEN_BITS).tolist()
        # Indexing a memmap creates a new memmap each time, which takes longer than the sum.
        rows = np.asarray(self.rows)
        for first, end in pairwise(ends):
            yield _sum(rows, tokens[first:end], weights[first:end])


def _mapped(path: Path) -> NDArray[Any]:
    """Map a .npy array; numpy's reader fails in Python 3.11 if two threads parse headers (cpython issue 106905)."""
    with path.open("rb") as file:
        read_magic(file)
        found = _HEADER.fullmatch(file.read(int.from_bytes(file.read(2), "little")))
        offset = file.tell()
    if found is None:
        raise ValueError("its header does not describe an array of a token table")
    shape = tuple(int(number) for number in found["shape"].split(b",") if number.strip())
    return np.memmap(path, dtype=found["type"].decode(), mode="r", offset=offset, shape=shape)


def _sum(rows: NDArray[np.int8], tokens: NDArray[np.int64], weights: Vector) -> Vector:
    total = weights[:_ROWS_AT_ONCE] @ rows[tokens[:_ROWS_AT_ONCE]].astype(np.float32)
    for at in range(_ROWS_AT_ONCE, len(tokens), _ROWS_AT_ONCE):
        part = slice(at, at + _ROWS_AT_ONCE)
        total += weights[part] @ rows[tokens[part]].astype(np.float32)
    return total
