"""Editions: a whole index made with one model. One of them is active; a migration fills another one beside it.

What is active is decided by the head documents (``Head.move``): an edition that was left says where the index went on.
The pointer that ``active`` reads, a file or an alias, follows that within milliseconds, or at the next opening after a
crash in between.
"""

from typing import Protocol, Self

from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.store.port import Store

FIRST = 1


class Editions(Protocol):
    """The editions of one index, by number; a number is never given to two of them that hold something."""

    def within(self, deadline: Deadline | None) -> Self:
        """Return the same editions for a request that must be answered by ``deadline``; None waits as a run does."""
        ...

    def active(self) -> int:
        """Return the edition that the pointer names; cheap enough to be asked before every request."""
        ...

    def present(self) -> list[int]:
        """Return the editions that exist, in ascending order."""
        ...

    def dimension(self, edition: int) -> int | None:
        """Return the length of an edition's vectors; None where it was not made yet."""
        ...

    def open(self, edition: int, dimension: int) -> Store:
        """Open an edition as a store, which stays with it whatever becomes active."""
        ...

    def activate(self, edition: int) -> None:
        """Set the pointer, in one step."""
        ...

    def remove(self, edition: int) -> None:
        """Delete an edition with all that it holds, if it exists."""
        ...

    def close(self) -> None:
        """Give back connections; stores that were opened stay open."""
        ...
