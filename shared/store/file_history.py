"""The stored form of a file's history: short, because every chunk of the file has it."""

from collections.abc import Sequence
from typing import Any

from codequarry.shared.model import ChangedTogether, FileHistory, FileOwner


def list_of_history(history: FileHistory) -> list[Any]:
    """Return a history as lists, which JSON can hold."""
    together = [[other.path, other.commits] for other in history.changes_with]
    owners = [[owner.name, owner.share] for owner in history.owners]
    return [history.commits, history.is_partial, together, owners]


def history_of_list(stored: Sequence[Any]) -> FileHistory:
    """Return the history that ``list_of_history`` was given."""
    commits, is_partial, together, owners = stored
    return FileHistory(
        commits,
        is_partial,
        tuple(ChangedTogether(path, count) for path, count in together),
        tuple(FileOwner(name, share) for name, share in owners),
    )
