"""The port for editions of an index. One edition is active; a migration fills another edition alongside it.

The head documents decide which edition is active (``Head.move``): the head of an old edition names its successor. The
pointer that ``active`` reads (a file or an alias) follows within milliseconds or, after a crash, at the next opening.
"""

from typing import Protocol, Self

from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.store.port import Store

FIRST = 1


class Editions(Protocol):
    """The editions of an index, by number. A number is never reused once its edition has held data."""

    def within(self, deadline: Deadline | None) -> Self:
        """Return the same editions for requests that end by ``deadline``; with None, they wait as long as a run may."""
        ...

    def active(self) -> int:
        """Return the edition that the pointer names; cheap enough to call before every request."""
        ...

    def present(self) -> list[int]:
        """Return the editions that exist, in ascending order."""
        ...

    def dimension(self, edition: int) -> int | None:
        """Return the length of an edition's vectors, or None if the edition does not exist yet."""
        ...

    def open(self, edition: int, dimension: int) -> Store:
        """Open an edition as a store, which keeps using it when another edition becomes active."""
        ...

    def activate(self, edition: int) -> None:
        """Set the pointer to an edition, atomically."""
        ...

    def remove(self, edition: int) -> None:
        """Delete an edition and its contents, if it exists."""
        ...

    def close(self) -> None:
        """Close connections; opened stores stay open."""
        ...
