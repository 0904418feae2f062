"""The embedding cache and the chunks' vectors: float32, L2-normalised, one after another in a memory-mapped file.

A vector's place in the file is its slot. Slots are only appended, always within SQLite's write transaction. A failed
transaction leaves bytes after the last slot, which the next append overwrites. A purge that leaves many unused slots
writes the used slots to a new file (the next generation), which the same transaction makes current. Earlier readers
continue with the old file, which the system keeps while it is mapped.

Reads are verified (``checksums.py``): every block when a process maps it, then one block on each further use. Each
use also checks that the file was neither replaced nor truncated. If the file is truncated while a process is using it,
the system kills that process (SIGBUS), because a mapping cannot be protected from that.
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
REPAIR_VECTORS = "run codequarry fsck --repair to replace its vectors"


class GenerationGone(Exception):
    """The vector file was replaced after the transaction began; the transaction must be restarted."""


@dataclass(frozen=True, slots=True)
class _Mapping:
    """A mapped file: its generation and inode, its slots, and the number of slots whose checksums were verified."""

    generation: int
    inode: int
    matrix: Matrix
    checked: int = 0


class VectorFile:
    """The vector files of a folder."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder = folder
        self._dimension = dimension
        self._mapped = _Mapping(0, 0, np.empty((0, dimension), np.float32))
        self._next = 0
        self._lock = Lock()

    def matrix(self, connection: apsw.Connection) -> Matrix:
        """Return the slots, one per row; raise GenerationGone if the file was replaced, StoreDamaged if damaged."""
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
        """Return the file's inode after checking its length, because a truncated mapping would kill the process."""
        path = self.path(generation)
        try:
            status = path.stat()
        except FileNotFoundError as error:
            raise GenerationGone(f"the index's {path.name} is missing; {REPAIR_VECTORS}") from error
        if status.st_size < slots * self._dimension * 4:
            raise StoreDamaged(f"the index's {path.name} is damaged: it is too short; {REPAIR_VECTORS}")
        return status.st_ino

    def _map(self, generation: int, slots: int) -> Matrix:
        path = self.path(generation)
        try:
            return np.asarray(np.memmap(path, np.float32, "r", shape=(slots, self._dimension)))
        except FileNotFoundError as error:
            raise GenerationGone(f"the index's {path.name} is missing; {REPAIR_VECTORS}") from error
        except ValueError as error:
            raise StoreDamaged(f"the index's {path.name} is damaged: it is too short; {REPAIR_VECTORS}") from error

    def _checked(self, connection: apsw.Connection, known: _Mapping, slots: int) -> _Mapping:
        """Verify the blocks that are new to this process, or else the next block in turn."""
        if known.checked < slots:
            blocks = range(known.checked // BLOCK_SLOTS, -(-slots // BLOCK_SLOTS))
        else:
            self._next = (self._next + 1) % -(-slots // BLOCK_SLOTS)
            blocks = range(self._next, self._next + 1)
        if wrong := damaged_blocks(connection, known.matrix[:slots], blocks):
            self._mapped = replace(known, checked=0)
            raise StoreDamaged(
                f"the index's {self.path(known.generation).name} is damaged in {len(wrong)} places; {REPAIR_VECTORS}"
            )
        return replace(known, checked=max(known.checked, slots))

    def damaged_slots(self, connection: apsw.Connection, most_blocks: int | None = None) -> Ints:
        """Return the slots of damaged blocks and missing parts; check at most ``most_blocks`` blocks, evenly spaced."""
        generation, slots = read_meta(connection, "generation"), read_meta(connection, "slots")
        readable = self._readable(generation, slots)
        count = -(-readable // BLOCK_SLOTS)
        step = 1 if most_blocks is None else max(1, -(-count // most_blocks))
        blocks = range(0, count, step)
        wrong = damaged_blocks(connection, self._map(generation, readable), blocks, slots) if readable else []
        damaged = [np.arange(block * BLOCK_SLOTS, min((block + 1) * BLOCK_SLOTS, slots)) for block in wrong]
        return np.unique(np.concatenate([*damaged, np.arange(readable, slots)])).astype(np.int32)

    def _readable(self, generation: int, slots: int) -> int:
        try:
            return min(slots, self.path(generation).stat().st_size // (self._dimension * 4))
        except FileNotFoundError:
            return 0

    def append(self, connection: apsw.Connection, vectors: Matrix) -> range:
        """Write vectors after the last slot and return their slots; part of a write transaction."""
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
        """Make the name of a new file durable."""
        folder = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def compact(self, connection: apsw.Connection, kept: Ints) -> None:
        """Write the slots ``kept`` to the next generation, in that order; part of a write transaction."""
        self._rewrite(connection, self.matrix(connection), kept, {})

    def readable(self, connection: apsw.Connection) -> Matrix:
        """Return the slots that are in the file, without verifying them."""
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
        """Return whether there are several vector files; another process may be writing one of them now."""
        return len(list(self._folder.glob(VECTORS))) > 1

    def remove_old(self, connection: apsw.Connection) -> None:
        """Delete the files of all generations except the current one, in a separate write transaction."""
        current = self.path(read_meta(connection, "generation"))
        for path in self._folder.glob(VECTORS):
            if path != current:
                path.unlink(missing_ok=True)

    def path(self, generation: int) -> Path:
        """Return the path of a generation's file."""
        return self._folder / f"vectors-{generation}.f32"
