"""The embedding cache and the chunks' vectors: float32, L2-normalised, one after the other in a file that is mapped.

A vector's place in the file is its slot. Slots are only ever appended, always within SQLite's write transaction: a
transaction that fails leaves bytes behind the last slot, which the next append overwrites. A purge that leaves many
unused slots writes the remaining ones to a new file instead (the next generation), and the transaction that moves the
rows there names it. A reader that began before goes on with the old file, which the system keeps while it is mapped.

What is read is checked (``checksums.py``): every block when a process maps it, then one block with each further use,
and each time that the file is the one that was mapped and has not become shorter. If the file is cut off at the very
moment in which a process computes with it, the system ends that process (SIGBUS): a mapping can't be protected.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

import apsw
import numpy as np

from codequarry.shared.arrays import Matrix
from codequarry.shared.data_folder import FILE_MODE
from codequarry.shared.errors import StoreDamaged
from codequarry.shared.stop_request import check_stop
from codequarry.shared.store.embedded.checksums import (
    BLOCK_SLOTS,
    add_checksums,
    damaged_blocks,
    drop_checksums,
)
from codequarry.shared.store.embedded.columns import Ints
from codequarry.shared.store.embedded.folder_format import VECTORS
from codequarry.shared.store.embedded.schema import read_meta, write_meta

# Slots copied at a time into a new generation.
_COPIED_AT_ONCE = 65_536
REPAIR_VECTORS = "codequarry fsck --repair makes its vectors anew"


class GenerationGone(Exception):
    """The vector file was replaced after the transaction began; begin again."""


@dataclass(frozen=True, slots=True)
class _Mapping:
    """A file in memory: its generation and inode, its slots, and up to which slot their checksums were right."""

    generation: int
    inode: int
    matrix: Matrix
    checked: int = 0


class VectorFile:
    """The vector files of one folder."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder = folder
        self._dimension = dimension
        self._mapped = _Mapping(0, 0, np.empty((0, dimension), np.float32))
        self._next = 0
        self._lock = Lock()

    def matrix(self, connection: apsw.Connection) -> Matrix:
        """Return the slots, one a row, as the transaction sees them.

        GenerationGone if the transaction began too long ago, StoreDamaged if the file is not what was written.
        """
        generation, slots = read_meta(connection, "generation"), read_meta(connection, "slots")
        if not slots:
            return np.empty((0, self._dimension), np.float32)
        inode = self._inode(generation, slots)
        with self._lock:
            known = self._mapped
            if (known.generation, known.inode) != (generation, inode):
                known = _Mapping(generation, inode, self._map(generation, slots))
            elif len(known.matrix) < slots:
                known = replace(known, matrix=self._map(generation, slots))
            self._mapped = self._checked(connection, known, slots)
            return self._mapped.matrix[:slots]

    def _inode(self, generation: int, slots: int) -> int:
        """Return which file is there now; a mapping of one that was cut off would end the process."""
        path = self.path(generation)
        try:
            status = path.stat()
        except FileNotFoundError as error:
            raise GenerationGone(f"{path.name} of the index is missing; {REPAIR_VECTORS}") from error
        if status.st_size < slots * self._dimension * 4:
            raise StoreDamaged(f"{path.name} of the index is damaged: it is too short; {REPAIR_VECTORS}")
        return status.st_ino

    def _map(self, generation: int, slots: int) -> Matrix:
        path = self.path(generation)
        try:
            return np.asarray(np.memmap(path, np.float32, "r", shape=(slots, self._dimension)))
        except FileNotFoundError as error:
            raise GenerationGone(f"{path.name} of the index is missing; {REPAIR_VECTORS}") from error
        except ValueError as error:
            raise StoreDamaged(f"{path.name} of the index is damaged: it is too short; {REPAIR_VECTORS}") from error

    def _checked(self, connection: apsw.Connection, known: _Mapping, slots: int) -> _Mapping:
        """Check the blocks that are new to this process, or one of the others in turn."""
        if known.checked < slots:
            blocks = range(known.checked // BLOCK_SLOTS, -(-slots // BLOCK_SLOTS))
        else:
            self._next = (self._next + 1) % -(-slots // BLOCK_SLOTS)
            blocks = range(self._next, self._next + 1)
        if wrong := damaged_blocks(connection, known.matrix[:slots], blocks):
            self._mapped = replace(known, checked=0)
            raise StoreDamaged(
                f"{self.path(known.generation).name} of the index is damaged in {len(wrong)} places; {REPAIR_VECTORS}"
            )
        return replace(known, checked=max(known.checked, slots))

    def damaged_slots(self, connection: apsw.Connection, most_blocks: int | None = None) -> Ints:
        """Return the slots that are not known to be what was written: those of damaged blocks and of missing parts.

        At most ``most_blocks`` blocks are looked at, spread evenly over the file.
        """
        generation, slots = read_meta(connection, "generation"), read_meta(connection, "slots")
        readable = self._readable(generation, slots)
        count = -(-readable // BLOCK_SLOTS)
        step = 1 if most_blocks is None else max(1, -(-count // most_blocks))
        blocks = range(0, count, step)
        wrong = damaged_blocks(connection, self._map(generation, readable), blocks, slots) if readable else []
        damaged = [np.arange(one * BLOCK_SLOTS, min((one + 1) * BLOCK_SLOTS, slots)) for one in wrong]
        return np.unique(np.concatenate([*damaged, np.arange(readable, slots)])).astype(np.int32)

    def _readable(self, generation: int, slots: int) -> int:
        """Return how many slots the file has."""
        try:
            return min(slots, self.path(generation).stat().st_size // (self._dimension * 4))
        except FileNotFoundError:
            return 0

    def append(self, connection: apsw.Connection, vectors: Matrix) -> range:
        """Write vectors behind the last slot and return their slots; part of a write transaction."""
        first = read_meta(connection, "slots")
        self._write(self.path(read_meta(connection, "generation")), first, vectors)
        add_checksums(connection, first, vectors)
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
        self._rewrite(connection, self.matrix(connection), kept, {})

    def readable(self, connection: apsw.Connection) -> Matrix:
        """Return the slots that the file has, unchecked."""
        generation, slots = read_meta(connection, "generation"), read_meta(connection, "slots")
        count = self._readable(generation, slots)
        return self._map(generation, count) if count else np.empty((0, self._dimension), np.float32)

    def mend(self, connection: apsw.Connection, vectors: Mapping[int, Matrix]) -> None:
        """Write all slots to the next generation, with ``vectors`` in their slots; part of a write transaction."""
        slots = read_meta(connection, "slots")
        matrix = np.zeros((slots, self._dimension), np.float32)
        found = self.readable(connection)
        matrix[: len(found)] = found
        self._rewrite(connection, matrix, np.arange(slots, dtype=np.int32), vectors)

    def _rewrite(self, connection: apsw.Connection, matrix: Matrix, kept: Ints, replaced: Mapping[int, Matrix]) -> None:
        generation = read_meta(connection, "generation") + 1
        path = self.path(generation)
        path.unlink(missing_ok=True)
        drop_checksums(connection)
        for start in range(0, len(kept), _COPIED_AT_ONCE):
            check_stop()
            places = kept[start : start + _COPIED_AT_ONCE]
            part = matrix[places]
            for at, slot in enumerate(places.tolist()):
                if slot in replaced:
                    part[at] = replaced[slot]
            self._write(path, start, part)
            add_checksums(connection, start, part)
        write_meta(connection, "generation", generation)
        write_meta(connection, "slots", len(kept))

    def has_old_files(self) -> bool:
        """Return whether there is another file than that of one generation; another process may be writing it now."""
        return len(list(self._folder.glob(VECTORS))) > 1

    def remove_old(self, connection: apsw.Connection) -> None:
        """Delete the files of generations before the one in use; part of a write transaction of its own."""
        current = self.path(read_meta(connection, "generation"))
        for path in self._folder.glob(VECTORS):
            if path != current:
                path.unlink(missing_ok=True)

    def path(self, generation: int) -> Path:
        """Return the file of a generation."""
        return self._folder / f"vectors-{generation}.f32"
