"""What a repair writes down beside the new folder, so that the next one goes on where it was interrupted."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from codequarry.ingest.repair.catalog import Anew, Lost, MendedCatalog
from codequarry.shared.data_folder import private_opener
from codequarry.shared.store.embedded.salvage import Salvage
from codequarry.shared.store.embedded.schema import DATABASE

NAME = "repair.json"

Source = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Note:
    """What was brought over from which state of the damaged folder, and what is left to do."""

    source: Source
    salvage: Salvage
    mended: MendedCatalog


def state_of(folder: Path) -> Source:
    """Return what changes when the database of a folder is written to."""
    paths = [folder / DATABASE, folder / f"{DATABASE}-wal"]
    return {path.name: (path.stat().st_size, path.stat().st_mtime_ns) for path in paths if path.exists()}


def write_note(folder: Path, note: Note) -> None:
    """Write the note, whole or not at all."""
    fresh = folder / f"{NAME}.new"
    with open(fresh, "w", encoding="utf-8", opener=private_opener) as file:
        json.dump(asdict(note), file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder / NAME)


def read_note(folder: Path) -> Note | None:
    """Return the note of an interrupted repair; None if there is none."""
    try:
        body = json.loads((folder / NAME).read_text("utf-8"))
    except FileNotFoundError:
        return None
    return Note({name: (size, at) for name, (size, at) in body["source"].items()}, _salvage(body), _mended(body))


def _salvage(body: Mapping[str, Any]) -> Salvage:
    said = body["salvage"]
    pairs = {name: tuple(map(tuple, said[name])) for name in ("incomplete", "written")}
    return Salvage(**{**said, **pairs, "lost_documents": tuple(said["lost_documents"])})


def _mended(body: Mapping[str, Any]) -> MendedCatalog:
    said = body["mended"]
    return MendedCatalog(
        tuple(Anew(**one) for one in said["anew"]),
        tuple(Lost(**one) for one in said["lost"]),
        tuple((timeline, number) for timeline, number in said["summaries"]),
    )
