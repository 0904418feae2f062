"""Deletes editions that a migration left behind, once the searches running at that time have ended."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.store.editions import Editions
from codequarry.shared.versions.head import Move


def remove_left_editions(editions: Editions, grace_seconds: float) -> list[int]:
    """Delete the editions that were left at least ``grace_seconds`` ago, and return their numbers."""
    removed = []
    present = editions.present()
    active = editions.active() if len(present) > 1 else 0
    for edition in (number for number in present if number < active):
        move = _move_of(editions, edition)
        # Without a move, it is an empty edition, recreated by a process that woke up late.
        if move is None or (move.done and _age(move) >= timedelta(seconds=grace_seconds)):
            editions.remove(edition)
            removed.append(edition)
    return removed


def _move_of(editions: Editions, edition: int) -> Move | None:
    dimension = editions.dimension(edition)
    if dimension is None:
        return None
    with closing(editions.open(edition, dimension)) as store:
        return read_head(store).move


def _age(move: Move) -> timedelta:
    """Return the time since an edition was left, or the maximum if no time is known."""
    return datetime.now(UTC) - datetime.fromisoformat(move.at) if move.at else timedelta.max
