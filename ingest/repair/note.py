"""What a repair writes down beside the new folder, so that the next one goes on where it was interrupted."""

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
    """What was brought over from which state of the damaged folder (size and time of its files), and what is to do."""

    source: Mapping[str, tuple[int, int]]
    salvage: Salvage
    mended: MendedCatalog


_FORM = TypeAdapter(RepairNote)


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Return what changes when the database of a folder is written to."""
    paths = [folder / DATABASE, folder / f"{DATABASE}-wal"]
    return {path.name: (path.stat().st_size, path.stat().st_mtime_ns) for path in paths if path.exists()}


def write_note(folder: Path, note: RepairNote) -> None:
    """Write the note, whole or not at all."""
    fresh = folder / f"{NAME}.new"
    with open(fresh, "wb", opener=private_opener) as file:
        file.write(_FORM.dump_json(note))
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder / NAME)


def read_note(folder: Path) -> RepairNote | None:
    """Return the note of an interrupted repair; None if there is none, or another release wrote it."""
    try:
        return _FORM.validate_json((folder / NAME).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
