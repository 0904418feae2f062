"""The switch to another edition of the index, as pure functions over the head document (rule 17)."""

from dataclasses import replace

from codequarry.shared.errors import Conflict, LeaseHeld
from codequarry.shared.versions.head import Head, Move, Timeline


def hold_timelines(head: Head, holder: str, edition: int, model: str) -> Head:
    """Let only ``holder`` change the head document from now on; raise LeaseHeld if another migration holds it."""
    if head.move is not None and head.move.holder != holder:
        raise LeaseHeld("another migration is about to finish; wait for it")
    return replace(head, move=Move(holder, edition, model))


def still_held(head: Head, holder: str) -> Move:
    """Return the move of ``holder``; raise Conflict if writers considered it dead and continued."""
    if head.move is None or head.move.holder != holder:
        raise Conflict("the migration paused for too long, and other processes resumed writing")
    return head.move


def beat(head: Head, holder: str) -> Head:
    """Show that the migration is alive."""
    move = still_held(head, holder)
    return replace(head, move=replace(move, beat=move.beat + 1))


def release_timelines(head: Head, holder: str) -> Head:
    """Let other processes write to this edition again; nothing changes if ``holder`` does not hold it."""
    return replace(head, move=None) if head.move and head.move.holder == holder else head


def switch_edition(head: Head, holder: str, copied: Head, at: str) -> Head:
    """Switch readers and writers to the other edition for good; raise Conflict if ``copied`` is out of date."""
    move = still_held(head, holder)
    if replace(head, move=None) != replace(copied, move=None):
        raise Conflict("the index changed after it was copied")
    return replace(head, move=replace(move, done=True, at=at))


def successor(head: Head) -> Head:
    """Return the other edition's first head document, with only published timelines; open numbers become aborted."""
    return replace(
        head,
        open={},
        aborted=head.hidden,
        timelines={key: replace(state, lease=None) for key, state in published(head).items()},
        move=None,
    )


def published(head: Head) -> dict[int, Timeline]:
    """Return the timelines that readers may see."""
    return {key: state for key, state in head.timelines.items() if state.published}
