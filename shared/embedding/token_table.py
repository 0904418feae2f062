"""A text's vector as the sum of its tokens' rows: what the built-in model does."""

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
# So many times more count the words of a declared name, and those of the first sentence that is said of it. CoSQA's
# development half gives .449 without either, .463 with two and none, .474 with two and one, .478 with three and one,
# .475 with four and one (mean of four tables). Of held-out packages, where that sentence is taken out and for
# names the name, doc comments gain by names and names lose: .686 and .462 with two and one, .692 and .456 with three
# and one, .697 and .450 with four (mean reciprocal ranks). A table does not learn with it: it would gain less by it.
NAMES, SUMMARIES = 3, 1
# Counted up with every change of how a text is cut into tokens and names: the same files then make other vectors.
_RULES = 3
# Rows summed at once: bounds the memory that one very long text needs to 8 MB.
_ROWS_AT_ONCE = 8192
# Texts whose tokens are counted at once: enough that the calls do not count, few enough to stay in the cache.
_TEXTS_AT_ONCE = 64
# A text's number stands before the token's in one integer, so that one sort counts the tokens of many texts.
_TOKEN_BITS = 32


@dataclass(frozen=True, slots=True)
class TokenTable:
    """``rows`` is int8 (tokens, dimension), ``scales`` float32 (tokens): a token's vector is its row times its scale.

    How long a token's vector is says how much it counts; ``query_scales`` are those of a query, in which other words
    say little than in code. The words of a name that a text declares count ``declared`` times more, those of the first
    sentence that is said of it ``summarised`` times; in a query, none.
    """

    vocabulary: Vocabulary
    rows: NDArray[np.int8]
    scales: NDArray[np.float32]
    query_scales: NDArray[np.float32]
    declared: int = NAMES
    summarised: int = SUMMARIES

    @classmethod
    def of(cls, vocabulary: Vocabulary, weights: Matrix, in_queries: Vector | None = None) -> "TokenTable":
        """Round float32 weights (tokens, dimension) to int8, each row by its own scale.

        ``in_queries`` is by what a token counts more in a query (tokens).
        """
        rows, scales = rounded(weights)
        query_scales = scales if in_queries is None else scales * in_queries.astype(np.float32)
        return cls(vocabulary, rows, scales, query_scales)

    @classmethod
    def read(cls, folder: Path) -> "TokenTable":
        """Open a model; its rows are mapped into memory, so that processes share them.

        Raise EmbeddingError where a file is missing, damaged, or not of the same model as the others.
        """
        try:
            rows = _mapped(folder / ROWS)
            scales, query_scales = (np.array(_mapped(folder / name)) for name in (SCALES, QUERY_SCALES))
            vocabulary = Vocabulary.read(folder / VOCABULARY)
        except FileNotFoundError as error:
            raise EmbeddingError(f"{error.filename} is missing") from error
        # So numpy calls a file that is cut off or not its own; text that is not UTF-8 is a ValueError too.
        except (OSError, ValueError) as error:
            raise EmbeddingError(f"a file in {folder} is damaged: {error}") from error
        shapes = {rows.shape[:1], scales.shape, query_scales.shape, (len(vocabulary.tokens),)}
        if rows.ndim != 2 or len(shapes) > 1 or rows.dtype != np.int8:
            raise EmbeddingError(f"the files of {folder} do not belong together")
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
        """Return a short hash of all that decides the vectors."""
        tokens = "\n".join(self.vocabulary.tokens).encode()
        arrays = (self.scales, self.query_scales, self.rows)
        return fingerprint(
            (
                tokens,
                bytes([self.declared, self.summarised, _RULES]),
                *(np.ascontiguousarray(one).data.cast("B") for one in arrays),
            )
        )

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return a row a text, of length one.

        A token counts with the square root of how often it occurs: the tenth time says less than the first. Texts
        without any token have one direction in common, all numbers equal: a store takes no row of zeros, and such
        texts are found by each other.
        """
        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for at in range(0, len(texts), _TEXTS_AT_ONCE):
            for number, vector in enumerate(self._sums(texts[at : at + _TEXTS_AT_ONCE]), at):
                found[number] = vector
        found[~found.any(axis=1)] = 1.0
        return normalised(found)

    def weighted(self, text: str) -> tuple[NDArray[np.int32], NDArray[np.int64], Vector]:
        """Return the tokens of a text, each once and in order, how often they count, and by what their rows count."""
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
        """Yield each text's sum. Each is summed alone: its vector must not depend on what is embedded with it."""
        packed = [self._packed(text) for text in texts]
        ids = np.frombuffer(b"".join(packed), dtype=np.int32)
        lengths = [len(one) // ids.itemsize for one in packed]
        keys, counts = np.unique(np.repeat(np.arange(len(texts)) << _TOKEN_BITS, lengths) + ids, return_counts=True)
        tokens = keys & (1 << _TOKEN_BITS) - 1
        weights = self._weights(tokens, counts)
        ends = np.searchsorted(keys, np.arange(len(texts) + 1) << _TOKEN_BITS).tolist()
        # Indexing a memmap itself makes another one each time, which takes longer than the sum.
        rows = np.asarray(self.rows)
        for first, end in pairwise(ends):
            yield _sum(rows, tokens[first:end], weights[first:end])


def _mapped(path: Path) -> NDArray[Any]:
    """Map an array of a .npy file; ValueError for what is none of one or two dimensions.

    numpy's own reader makes a syntax tree of the header, and in Python 3.11 two threads that make one at once fail
    (cpython issue 106905).
    """
    with path.open("rb") as file:
        read_magic(file)
        found = _HEADER.fullmatch(file.read(int.from_bytes(file.read(2), "little")))
        offset = file.tell()
    if found is None:
        raise ValueError("its header is none of a table's array")
    shape = tuple(int(number) for number in found["shape"].split(b",") if number.strip())
    return np.memmap(path, dtype=found["type"].decode(), mode="r", offset=offset, shape=shape)


def _sum(rows: NDArray[np.int8], tokens: NDArray[np.int64], weights: Vector) -> Vector:
    total = weights[:_ROWS_AT_ONCE] @ rows[tokens[:_ROWS_AT_ONCE]].astype(np.float32)
    for at in range(_ROWS_AT_ONCE, len(tokens), _ROWS_AT_ONCE):
        part = slice(at, at + _ROWS_AT_ONCE)
        total += weights[part] @ rows[tokens[part]].astype(np.float32)
    return total
