"""Copies of catalog records beside the mirrors, for a repair if the catalog is lost."""

import os
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from codequarry.ingest.git.mirrors import ENTRY, mirrors_folder
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.data_folder import private_opener

_FORM = TypeAdapter(Repository)


def note_entry(repository: Repository, mirror: Path) -> None:
    """Write a repository's record beside its mirror; it is deleted with the mirror."""
    fresh = mirror.with_suffix(f"{ENTRY}.{os.getpid()}")
    with open(fresh, "wb", opener=private_opener) as file:
        file.write(_FORM.dump_json(repository))
    fresh.replace(mirror.with_suffix(ENTRY))


def noted_entries(home: Path) -> list[Repository]:
    """Return the records beside this machine's mirrors, without unreadable ones."""
    found = []
    for path in sorted(mirrors_folder(home).glob(f"*{ENTRY}")):
        try:
            found.append(_FORM.validate_json(path.read_bytes()))
        except (OSError, ValidationError):
            continue
    return found
