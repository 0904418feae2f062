"""The vectors of a damaged folder: copied slot by slot, those that are not what was written as zeros."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from codequarry.shared.store.embedded.checksums import BLOCK_SLOTS, FloatArray, block_sums
from codequarry.shared.store.embedded.columns import Bools
from codequarry.shared.store.embedded.damaged_database import VECTOR_INDEX, DamagedDatabase
from codequarry.shared.store.embedded.folder_format import VECTORS
from codequarry.shared.store.vectors import usable_rows

# Vectors of which no checksum is left must have length 1 as closely as 32-bit numbers have it when they are written.
_LENGTH_TOLERANCE = 1e-4
# Blocks read at a time.
_BLOCKS_AT_ONCE = 256


class SalvagedVectors:
    """The vectors of a folder, by slot, and their keys."""

    def __init__(self, folder: Path, wreck: DamagedDatabase, dimension: int) -> None:
        numbers = {str(values[0]): values[1] for _, values in wreck.records("meta")}
        self.keys = _keys(wreck)
        after_last = max(self.keys, default=-1) + 1
        said, generation = numbers.get("slots"), numbers.get("generation")
        self.slots = said if isinstance(said, int) else after_last
        self._dimension = dimension
        self._matrix = _mapped(_file(folder, generation), dimension, self.slots)
        self._sums = {row: values[1] for row, values in wreck.records("vector_block")}
        if not isinstance(said, int):
            # Slots that nothing uses may follow: then the sum of the last block is of more than is known.
            self._sums.pop(self.slots // BLOCK_SLOTS, None)

    def parts(self) -> Iterator[tuple[FloatArray, Bools]]:
        """Yield all slots in order, some blocks at a time, and which of them are what was written."""
        for start in range(0, self.slots, _BLOCKS_AT_ONCE * BLOCK_SLOTS):
            size = min(_BLOCKS_AT_ONCE * BLOCK_SLOTS, self.slots - start)
            part = np.zeros((size, self._dimension), np.float32)
            found = self._matrix[start : start + size]
            part[: len(found)] = found
            right = self._right(part, start)
            right[len(found) :] = False
            part[~right] = 0
            yield part, right

    def _right(self, part: FloatArray, start: int) -> Bools:
        right = usable_rows(part)
        for at, (block, words) in enumerate(block_sums(part, start)):
            some = slice(at * BLOCK_SLOTS, (at + 1) * BLOCK_SLOTS)
            if block not in self._sums:
                right[some] = _have_length_1(part[some])
            elif self._sums[block] != words:
                right[some] = False
        return right


def _have_length_1(vectors: FloatArray) -> Bools:
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    right: Bools = np.abs(lengths - 1) <= _LENGTH_TOLERANCE
    return right


def _keys(wreck: DamagedDatabase) -> dict[int, str]:
    """Return the key of each slot; table and index hold the same, and what one has lost the other may have."""
    found = {int(str(slot)): str(key) for _, (key, slot) in wreck.records("vector")}
    return found | {int(str(slot)): str(key) for _, (slot, key) in wreck.records(VECTOR_INDEX)}


def _file(folder: Path, generation: object) -> Path:
    """Return the vector file in use; where the number of its generation is lost, the newest one."""
    if isinstance(generation, int):
        return folder / f"vectors-{generation}.f32"
    there = sorted(folder.glob(VECTORS), key=lambda path: (len(path.name), path.name))
    return there[-1] if there else folder / "vectors-1.f32"


def _mapped(path: Path, dimension: int, slots: int) -> FloatArray:
    size = path.stat().st_size if path.exists() else 0
    readable = min(slots, size // (4 * dimension))
    if not readable:
        return np.empty((0, dimension), np.float32)
    return np.asarray(np.memmap(path, "<f4", "r", shape=(readable, dimension)))
