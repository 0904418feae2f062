"""The parts of the head document: timelines, leases and places."""

from dataclasses import dataclass

Place = tuple[int, int]
"""A state of a timeline: the timeline, and the number of one of its published transactions."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write to a timeline; ``number`` is the transaction, ``beat`` counts up while the holder is alive.

    ``base`` is the place that the transaction's overlay will lie on; from now on, the collector keeps it.
    """

    holder: str
    number: int
    beat: int = 0
    base: Place | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """One line of history; ``published`` is the newest transaction that readers see, 0 before the first.

    ``ref`` is the key of its version (``refs.py``), empty for present and former default branches, which ``branch``
    names instead. ``floor`` is the oldest number that readers may ask for. ``pins`` are the bases of an overlay's
    retained transactions, empty for other timelines. A ``gone`` timeline has lost its version, and stays only until no
    overlay lies on it. ``repo_id`` is the id of its repository, even if another repository is called ``repo`` later;
    all timelines of a name have the same id.

    A timeline that no longer shows the newest state of its version, because the version was deleted, outgrew its layer
    or became the default branch, has the key in ``former`` instead of ``ref``. Its commits stay searchable.
    ``expiring_since`` (ISO 8601) is the time from which its newest commit ages; empty while that commit is current.
    """

    repo: str
    published: int = 0
    commit: str = ""
    lease: Lease | None = None
    ref: str = ""
    floor: int = 0
    pins: frozenset[Place] = frozenset()
    branch: str = ""
    gone: bool = False
    repo_id: str = ""
    former: str = ""
    expiring_since: str = ""

    @property
    def version(self) -> str:
        """The key of the version that the timeline shows or showed; empty for default branches."""
        return self.ref or self.former
