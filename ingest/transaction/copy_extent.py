"""Which rows of a timeline a copy of it needs, in another edition or under another name of the repository."""

from dataclasses import dataclass

from codequarry.shared.versions.head import Head
from codequarry.shared.versions.snapshots import OPEN


@dataclass(frozen=True, slots=True)
class CopyExtent:
    """The rows of a timeline born after ``after`` that a reader may still ask for (rules 10 and 16)."""

    timeline: int
    after: int
    published: int
    floor: int
    pins: frozenset[int]
    hidden: frozenset[int]

    @classmethod
    def of(cls, head: Head, timeline: int, after: int) -> "CopyExtent":
        """Return the extent of a timeline as given by the head document."""
        state = head.timelines[timeline]
        return cls(timeline, after, state.published, state.floor, head.pinned(timeline), head.hidden)

    def death(self, died: int) -> int:
        """Return ``died`` as readers see it: a retirement in an invisible transaction does not count."""
        return OPEN if died > self.published or died in self.hidden else died

    def has(self, born: int, died: int) -> bool:
        """Return whether a row needs copying."""
        if not self.after < born <= self.published or born in self.hidden:
            return False
        end = self.death(died)
        return end > self.floor or any(born <= pin < end for pin in self.pins)
