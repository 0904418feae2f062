"""Finds near copies of the files that are measured on, by MinHash.

Broder, "On the resemblance and containment of documents" (1997): the share of equal minima of two sets under many
random orders estimates their Jaccard similarity. Here, a set is the runs of five words of a file.
"""

import functools
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# At this similarity a file is a copy (the threshold of "The Stack", Kocetkov et al. 2022, is 0.7 to 0.85).
THRESHOLD = 0.8
ORDERS = 64
# Files that share a band of minima are compared: 16 bands of 4 find 0.8 with a chance of 1 - (1 - 0.8^4)^16 > 0.999.
_ROWS_A_BAND = 4
_SHINGLE = 5
_WORD = re.compile(r"\w+")
# Eight bits of each minimum (b-bit MinHash, Li and Koenig 2010): 1 in 256 agree by chance, but the file stays small.
Signature = NDArray[np.uint8]


def signature(text: str) -> Signature:
    """Return the low 8 bits of ORDERS minima of a text's runs of words."""
    hashed = np.fromiter(_runs([word.encode() for word in _WORD.findall(text)]), dtype=np.uint64)
    factors, shifts = _orders()
    # Multiply-shift hashing (Dietzfelbinger et al. 1997): products overflow on purpose, the upper half is the hash.
    minima = ((hashed[:, None] * factors + shifts) >> np.uint64(32)).min(axis=0)
    return (minima & np.uint64(0xFF)).astype(np.uint8)


def _runs(words: Sequence[bytes]) -> set[int]:
    """Return the hash of each run of words, joined by spaces; few words form a single run."""
    if len(words) <= _SHINGLE:
        return {zlib.crc32(b" ".join(words))}
    # Slices of the joined words: joining each run takes three times as long.
    written = b" ".join(words)
    ends = list(accumulate((len(word) + 1 for word in words), initial=-1))
    return {zlib.crc32(written[start + 1 : end]) for start, end in zip(ends, ends[_SHINGLE:], strict=False)}


@functools.cache
def _orders() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    chance = np.random.default_rng(1997)
    return (
        chance.integers(0, 1 << 64, ORDERS, dtype=np.uint64) | np.uint64(1),
        chance.integers(0, 1 << 64, ORDERS, dtype=np.uint64),
    )


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """Signatures of all files of the code bases that are measured on, one per row."""

    rows: NDArray[np.uint8]
    bands: dict[bytes, list[int]]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Fingerprints":
        """Make fingerprints of whole files."""
        return cls.of_signatures([signature(text) for text in texts])

    @classmethod
    def of_signatures(cls, rows: Sequence[Signature]) -> "Fingerprints":
        """Make fingerprints of existing signatures."""
        return cls.index(np.stack(rows) if rows else np.zeros((0, ORDERS), np.uint8))

    @classmethod
    def index(cls, rows: NDArray[np.uint8]) -> "Fingerprints":
        """Index signatures by their bands."""
        bands: dict[bytes, list[int]] = {}
        for number, row in enumerate(rows):
            for band in _bands(row):
                bands.setdefault(band, []).append(number)
        return cls(rows, bands)

    @classmethod
    @functools.lru_cache(maxsize=2)
    def read(cls, path: Path) -> "Fingerprints":
        """Read fingerprints from a file, once per process."""
        with np.load(path) as stored:
            return cls.index(stored["rows"])

    def write(self, path: Path) -> None:
        """Write the fingerprints to a file."""
        np.savez_compressed(path, rows=self.rows)

    def has_near_copy(self, text: str) -> bool:
        """Return whether a file is a near copy of one of these files."""
        own = signature(text)
        near = {number for band in _bands(own) for number in self.bands.get(band, ())}
        return bool(near) and bool(((self.rows[list(near)] == own).mean(axis=1) >= THRESHOLD).any())


def _bands(row: Signature) -> Iterable[bytes]:
    for at in range(0, ORDERS, _ROWS_A_BAND):
        yield bytes([at]) + row[at : at + _ROWS_A_BAND].tobytes()
