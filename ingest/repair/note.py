"""The note in the new folder from which the next repair resumes an interrupted repair."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from codequarry.ingest.repair.catalog import MendedCatalog
from codequarry.shared.data_folder import private_opener
from codequarry.shared.store.embedded.salvage import Salvage
from codequarry.shared.store.embedded.schema import DATABASE

NAME = "repair.json"


@dataclass(frozen=True, slots=True)
class RepairNote:
    """What was salvaged from which state of the damaged folder (file sizes and times), and what remains to do."""

    source: Mapping[str, tuple[int, int]]
    salvage: Salvage
    mended: MendedCatalog


_FORM = TypeAdapter(RepairNote)


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the size and modification time of the database files, which change with every write."""
    paths = [folder / DATABASE, folder / f"{DATABASE}-wal"]
    return {path.name: (path.stat().st_size, path.stat().st_mtime_ns) for path in paths if path.exists()}


def write_note(folder: Path, note: RepairNote) -> None:
    """Write the note atomically."""
    fresh = folder / f"{NAME}.new"
    with open(fresh, "wb", opener=private_opener) as file:
        file.write(_FORM.dump_json(note))
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder / NAME)


def read_note(folder: Path) -> RepairNote | None:
    """Return the note of an interrupted repair, or None if there is no note or another release wrote it."""
    try:
        return _FORM.validate_json((folder / NAME).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
