"""Copies of repository records beside the mirrors, from which a repair restores the records if the catalog is lost."""

import os
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from codequarry.ingest.git.mirrors import ENTRY
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.data_folder import private_opener
from codequarry.shared.repositories.mirror_folders import mirrors_folder

_FORM = TypeAdapter(Repository)


def note_entry(repository: Repository, mirror: Path) -> None:
    """Write a repository's record beside its mirror; the copy is deleted with the mirror."""
    fresh = mirror.with_suffix(f"{ENTRY}.{os.getpid()}")
    with open(fresh, "wb", opener=private_opener) as file:
        file.write(_FORM.dump_json(repository))
    fresh.replace(mirror.with_suffix(ENTRY))


def noted_entries(home: Path) -> list[Repository]:
    """Return the readable records beside this machine's mirrors."""
    found = []
    for path in sorted(mirrors_folder(home).glob(f"*{ENTRY}")):
        try:
            found.append(_FORM.validate_json(path.read_bytes()))
        except (OSError, ValidationError):
            continue
    return found
