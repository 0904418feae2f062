"""Going on in another edition of the index, as pure functions over the head document (rule 17)."""

from dataclasses import replace

from codequarry.shared.errors import Conflict, LeaseHeld
from codequarry.shared.versions.head import Head, Move, Timeline


def hold_timelines(head: Head, holder: str, edition: int, model: str) -> Head:
    """Let nobody but ``holder`` change the head document from here on; LeaseHeld if another migration does that."""
    if head.move is not None and head.move.holder != holder:
        raise LeaseHeld("another migration is about to end; wait for it")
    return replace(head, move=Move(holder, edition, model))


def still_held(head: Head, holder: str) -> Move:
    """Return the move of ``holder``; Conflict where somebody took it for dead, and writers went on."""
    if head.move is None or head.move.holder != holder:
        raise Conflict("the migration was held up for too long, and others went on writing")
    return head.move


def beat(head: Head, holder: str) -> Head:
    """Show that the migration lives."""
    move = still_held(head, holder)
    return replace(head, move=replace(move, beat=move.beat + 1))


def release_timelines(head: Head, holder: str) -> Head:
    """Let others write again, in this edition; nothing changes where that is so already."""
    return replace(head, move=None) if head.move and head.move.holder == holder else head


def switch_edition(head: Head, holder: str, copied: Head, at: str) -> Head:
    """Say for good that the index has gone on in the other edition: the one write that switches.

    Conflict if the document is not the ``copied`` one any more.
    """
    move = still_held(head, holder)
    if replace(head, move=None) != replace(copied, move=None):
        raise Conflict("the index changed after it was copied")
    return replace(head, move=replace(move, done=True, at=at))


def successor(head: Head) -> Head:
    """Return the head document that the other edition begins with: all that is published, and nothing else.

    Open transactions are not carried over, so their numbers are aborted there; nor are timelines that were never
    published.
    """
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
