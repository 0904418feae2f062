"""The vectors of a damaged folder, slot by slot; damaged vectors are replaced with zeros."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from codequarry.shared.store.embedded.checksums import BLOCK_SLOTS, FloatArray, block_sums
from codequarry.shared.store.embedded.columns import Bools
from codequarry.shared.store.embedded.damaged_database import VECTOR_INDEX, DamagedDatabase
from codequarry.shared.store.embedded.folder_format import VECTORS
from codequarry.shared.store.vectors import usable_rows

# Vectors without a checksum must have length 1 to the precision of 32-bit numbers.
_LENGTH_TOLERANCE = 1e-4
# Blocks read at a time.
_BLOCKS_AT_ONCE = 256


class SalvagedVectors:
    """The vectors of a folder, by slot, and their keys."""

    def __init__(self, folder: Path, wreck: DamagedDatabase, dimension: int) -> None:
        numbers = {str(values[0]): values[1] for _, values in wreck.records("meta")}
        self.keys = _keys(wreck)
        after_last = max(self.keys, default=-1) + 1
        declared, generation = numbers.get("slots"), numbers.get("generation")
        self.slots = declared if isinstance(declared, int) else after_last
        self._dimension = dimension
        self._matrix = _mapped(_file(folder, generation), dimension, self.slots)
        self._sums = {row: values[1] for row, values in wreck.records("vector_block")}
        if not isinstance(declared, int):
            # Unused slots may follow, so the sum of the last block may cover more slots than are known.
            self._sums.pop(self.slots // BLOCK_SLOTS, None)

    def parts(self) -> Iterator[tuple[FloatArray, Bools]]:
        """Yield all slots in order, several blocks at a time, and which of them are intact."""
        for start in range(0, self.slots, _BLOCKS_AT_ONCE * BLOCK_SLOTS):
            size = min(_BLOCKS_AT_ONCE * BLOCK_SLOTS, self.slots - start)
            part = np.zeros((size, self._dimension), np.float32)
            found = self._matrix[start : start + size]
            part[: len(found)] = found
            intact = self._intact(part, start)
            intact[len(found) :] = False
            part[~intact] = 0
            yield part, intact

    def _intact(self, part: FloatArray, start: int) -> Bools:
        intact = usable_rows(part)
        for at, (block, words) in enumerate(block_sums(part, start)):
            slots = slice(at * BLOCK_SLOTS, (at + 1) * BLOCK_SLOTS)
            if block not in self._sums:
                intact[slots] = _have_length_1(part[slots])
            elif self._sums[block] != words:
                intact[slots] = False
        return intact


def _have_length_1(vectors: FloatArray) -> Bools:
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    right: Bools = np.abs(lengths - 1) <= _LENGTH_TOLERANCE
    return right


def _keys(wreck: DamagedDatabase) -> dict[int, str]:
    """Return the key of each slot, from the table and its index, because either may have lost some."""
    found = {int(str(slot)): str(key) for _, (key, slot) in wreck.records("vector")}
    return found | {int(str(slot)): str(key) for _, (slot, key) in wreck.records(VECTOR_INDEX)}


def _file(folder: Path, generation: object) -> Path:
    """Return the vector file in use, or the newest file if the generation is lost."""
    if isinstance(generation, int):
        return folder / f"vectors-{generation}.f32"
    files = sorted(folder.glob(VECTORS), key=lambda path: (len(path.name), path.name))
    return files[-1] if files else folder / "vectors-1.f32"


def _mapped(path: Path, dimension: int, slots: int) -> FloatArray:
    size = path.stat().st_size if path.exists() else 0
    readable = min(slots, size // (4 * dimension))
    if not readable:
        return np.empty((0, dimension), np.float32)
    return np.asarray(np.memmap(path, "<f4", "r", shape=(readable, dimension)))
