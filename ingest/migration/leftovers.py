"""Editions that a migration left: kept for the searches that were running then, and deleted afterwards."""

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
        # Without a move it is what a process that woke up late has made anew: an empty shell behind the active one.
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
    """Return how long ago an edition was left; one that held nothing was left long ago."""
    return datetime.now(UTC) - datetime.fromisoformat(move.at) if move.at else timedelta.max
