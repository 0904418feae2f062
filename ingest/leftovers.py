"""Editions that a migration left: kept for the searches that were running then, and deleted afterwards."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

from codequarry.shared.head import Move
from codequarry.shared.ledger import read_head
from codequarry.shared.store.editions import Editions


def remove_left_editions(editions: Editions, grace_seconds: float) -> list[int]:
    """Delete the editions that were left at least ``grace_seconds`` ago, and return their numbers."""
    removed = []
    for edition in _left(editions):
        move = _move_of(editions, edition)
        if move and move.done and _age(move) >= timedelta(seconds=grace_seconds):
            editions.remove(edition)
            removed.append(edition)
    return removed


def _left(editions: Editions) -> list[int]:
    present = editions.present()
    if len(present) < 2:
        return []
    active = editions.active()
    return [edition for edition in present if edition != active]


def _move_of(editions: Editions, edition: int) -> Move | None:
    dimension = editions.dimension(edition)
    if dimension is None:
        return None
    with closing(editions.open(edition, dimension)) as store:
        return read_head(store).move


def _age(move: Move) -> timedelta:
    """Return how long ago an edition was left; one that held nothing was left long ago."""
    return datetime.now(UTC) - datetime.fromisoformat(move.at) if move.at else timedelta.max
