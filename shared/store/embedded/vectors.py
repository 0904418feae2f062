"""The vectors of all rows and of the embedding cache: float32 slots in one file, memory-mapped by every reader.

Slots are only appended, by the one process that is in a write transaction, and are on the disk before the transaction
that points to them commits: what a crash leaves behind the last slot in use, the next writer writes over. A slot is
not used again, since another process may still read the rows it belonged to; a purge that frees many writes the
remaining ones to a new file instead (the next generation), and the transaction that moves the rows there names it.
Who began to read before goes on with the old file, which the system keeps for as long as it is mapped.
"""

import os
from pathlib import Path
from threading import Lock

import apsw
import numpy as np
from numpy.typing import NDArray

from codequarry.shared.data_folder import FILE_MODE
from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.store.embedded.columns import Ints
from codequarry.shared.store.embedded.schema import read_meta, write_meta

Matrix = NDArray[np.float32]

# Slots copied at a time into a new generation.
_COPIED_AT_ONCE = 65_536


class GenerationGone(Exception):
    """The vector file was replaced after the transaction began; begin again."""


class VectorFile:
    """The vector files of one folder."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder = folder
        self._dimension = dimension
        self._mapped: tuple[int, Matrix] = (0, np.empty((0, dimension), np.float32))
        self._lock = Lock()

    def matrix(self, connection: apsw.Connection) -> Matrix:
        """Return the slots, one a row, as the transaction sees them; GenerationGone if it began too long ago."""
        generation, slots = read_meta(connection, "generation"), read_meta(connection, "slots")
        with self._lock:
            known, matrix = self._mapped
            if known != generation or len(matrix) < slots:
                matrix = self._map(generation, slots)
                self._mapped = (generation, matrix)
        return matrix[:slots]

    def _map(self, generation: int, slots: int) -> Matrix:
        if not slots:
            return np.empty((0, self._dimension), np.float32)
        path = self._path(generation)
        try:
            if path.stat().st_size < slots * self._dimension * 4:
                raise StoreUnavailable(f"{path} is damaged: it is too short; move the folder away and index again")
            return np.asarray(np.memmap(path, np.float32, "r", shape=(slots, self._dimension)))
        except FileNotFoundError as error:
            raise GenerationGone(f"{path} is missing; move the folder away and index again") from error

    def append(self, connection: apsw.Connection, vectors: Matrix) -> range:
        """Write vectors behind the last slot and return their slots; part of a write transaction."""
        first = read_meta(connection, "slots")
        self._write(self._path(read_meta(connection, "generation")), first, vectors)
        write_meta(connection, "slots", first + len(vectors))
        return range(first, first + len(vectors))

    def _write(self, path: Path, first: int, vectors: Matrix) -> None:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            offset, data = first * self._dimension * 4, memoryview(vectors.astype("<f4").tobytes())
            while data:
                written = os.pwrite(file, data, offset)
                offset, data = offset + written, data[written:]
            os.fdatasync(file)
        finally:
            os.close(file)
        if first == 0:
            self._sync_folder()

    def _sync_folder(self) -> None:
        """Make the name of a new file as durable as its content."""
        folder = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def compact(self, connection: apsw.Connection, kept: Ints) -> None:
        """Write the slots ``kept`` to the next generation, in that order; part of a write transaction."""
        matrix = self.matrix(connection)
        generation = read_meta(connection, "generation") + 1
        path = self._path(generation)
        path.unlink(missing_ok=True)
        for start in range(0, len(kept), _COPIED_AT_ONCE):
            self._write(path, start, matrix[kept[start : start + _COPIED_AT_ONCE]])
        write_meta(connection, "generation", generation)
        write_meta(connection, "slots", len(kept))

    def remove_old(self, connection: apsw.Connection) -> None:
        """Delete the files of generations before the one in use; part of a write transaction of its own."""
        current = self._path(read_meta(connection, "generation"))
        for path in self._folder.glob("vectors-*.f32"):
            if path != current:
                path.unlink(missing_ok=True)

    def _path(self, generation: int) -> Path:
        return self._folder / f"vectors-{generation}.f32"
