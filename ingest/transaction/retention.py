"""Which commits stay searchable: rule 16 as pure functions over the head document and the transactions' records."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from codequarry.shared.settings.index import RetentionSettings
from codequarry.shared.versions.head import Head, Place
from codequarry.shared.versions.transactions import TransactionRecord

# Lower than any number that a timeline can have.
BEFORE_ALL = -1
# Notes of what must be deleted from a timeline, and of what was last deleted from it.
SWEEP, SWEPT = "sweep:", "swept:"

# A version that a search asked for is kept for at least this many days; its caller may search it again.
ONCE_DAYS = 1.0

TransactionRecords = Mapping[int, Sequence[TransactionRecord]]
"""The published transactions of some timelines, oldest first."""


def sweep_key(timeline: int) -> str:
    """Return the key of the note of what must be deleted from a timeline; all keys of such notes begin with it."""
    return f"{SWEEP}{timeline:010d}"


def swept_key(timeline: int) -> str:
    """Return the key of the note of what was last deleted from a timeline."""
    return f"{SWEPT}{timeline:010d}"


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """How much history a repository keeps: a commit beyond either limit expires, but the newest never does.

    ``ended`` is how many of its versions that have ended, or that only searches asked for, are kept.
    """

    commits: int
    days: float
    ended: int = 1000

    @classmethod
    def of(cls, settings: RetentionSettings, repo: str) -> "RetentionLimits":
        """Return a repository's limits: each its own if it is set, or else the general limit."""
        own = settings.repositories.get(repo)
        commits = own.keep_commits if own and own.keep_commits is not None else settings.keep_commits
        days = own.keep_days if own and own.keep_days is not None else settings.keep_days
        return cls(commits, days, settings.keep_ended)


@dataclass(frozen=True, slots=True)
class HistoryCut:
    """A cut of a timeline's history: readers can no longer ask for numbers below ``floor``.

    ``published`` is the timeline's published number at the time of the decision, ``pins`` are the bases of the commits
    that it keeps, and ``given_up`` the commits that expire. A ``dropped`` timeline keeps nothing.
    """

    timeline: int
    published: int
    floor: int
    pins: frozenset[Place]
    given_up: tuple[TransactionRecord, ...]
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class VersionHistory:
    """The published timelines of one version, present and former, which are one history.

    ``expiring_since`` (ISO 8601) is the time from which its newest commit ages, or empty if that commit never expires.
    A version that ``has_ended`` can no longer be indexed.
    """

    timelines: tuple[int, ...]
    expiring_since: str = ""
    has_ended: bool = False


def histories(head: Head, repo: str, leaving: Collection[int] = ()) -> list[VersionHistory]:
    """Return the histories of a repository's versions, that of the default branch first.

    ``leaving`` timelines will be purged once no overlay lies on them; they are left out.
    """
    going = frozenset(leaving) - frozenset(head.defaults.values())
    states = {key: head.timelines[key] for key in sorted(head.of_repo(repo)) if key not in going}
    found: dict[str, list[int]] = {}
    for key, state in states.items():
        if state.published and not state.gone:
            found.setdefault(state.version, []).append(key)
    return [_history(head, found[version]) for version in sorted(found)]


def _history(head: Head, timelines: Sequence[int]) -> VersionHistory:
    newest = max((head.timelines[key] for key in timelines), key=lambda state: state.published)
    return VersionHistory(tuple(timelines), newest.expiring_since, has_ended=bool(newest.former))


def expired_histories(
    found: Iterable[VersionHistory], limits: RetentionLimits, now: datetime
) -> frozenset[VersionHistory]:
    """Return the histories whose newest commit has expired, although nothing replaced it.

    Its version ended, or only searches asked for it, and that is longer ago than the limits allow, or newer ones fill
    the place. What a search asked for stays for a day in any case.
    """
    aging = sorted((history for history in found if history.expiring_since), key=lambda history: history.expiring_since)
    surplus = aging[: max(0, len(aging) - limits.ended)]

    def is_older(history: VersionHistory, days: float) -> bool:
        return _moment(history.expiring_since, now) < now - timedelta(days=days)

    beyond = frozenset(surplus).union(history for history in aging if is_older(history, limits.days))
    return frozenset(history for history in beyond if history.has_ended or is_older(history, ONCE_DAYS))


def cut_history(
    head: Head,
    history: VersionHistory,
    records: TransactionRecords,
    limits: RetentionLimits,
    now: datetime,
    *,
    expired: bool = False,
) -> list[HistoryCut]:
    """Return the cuts of one history; a timeline from which nothing expires has no cut.

    If the history is ``expired``, its newest commit expires too.
    """
    commits = sorted((record for key in history.timelines for record in records[key]), key=lambda item: item.number)
    if not commits:
        return []
    if expired:
        oldest = commits[-1].number + 1
    else:
        oldest = commits[max(_oldest_kept(commits, limits, now), _oldest_masked(commits))].number
    return [cut for key in history.timelines if (cut := _cut(head, key, records[key], oldest))]


def _oldest_masked(commits: Sequence[TransactionRecord]) -> int:
    """Return the index from which all commits are masked, or 0 if the newest is not: nothing could replace it."""
    if not commits[-1].is_masked:
        return 0
    return next((place + 1 for place in reversed(range(len(commits))) if not commits[place].is_masked), 0)


def _oldest_kept(commits: Sequence[TransactionRecord], limits: RetentionLimits, now: datetime) -> int:
    since = now - timedelta(days=limits.days)
    newest = len(commits) - 1
    first = _oldest_counted(commits, limits.commits)
    # A commit was replaced when the next transaction began, or a little later.
    young = (place for place in range(first, newest) if _moment(commits[place + 1].indexed_at, now) >= since)
    return next(young, newest)


def _oldest_counted(commits: Sequence[TransactionRecord], most: int) -> int:
    """Return the index from which there are ``most`` commits; one that was indexed again at once counts once."""
    counted = 0
    for place in reversed(range(len(commits))):
        is_new = place == len(commits) - 1 or commits[place].commit != commits[place + 1].commit
        counted += is_new
        if counted > most:
            return place + 1
    return 0


def _moment(text: str, now: datetime) -> datetime:
    """Return the moment of a stored time, or ``now`` if the time can't be read."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return now
    return moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)


def _cut(head: Head, timeline: int, records: Sequence[TransactionRecord], oldest: int) -> HistoryCut | None:
    state = head.timelines[timeline]
    given_up = tuple(record for record in records if record.number < oldest)
    if not given_up:
        return None
    if state.published < oldest and _is_free(head, timeline):
        return HistoryCut(timeline, state.published, oldest, frozenset(), given_up, dropped=True)
    # If an overlay still lies on a former default timeline, its last published state stays.
    floor = min(oldest, state.published)
    kept = [record for record in records if record.number >= floor]
    pins = frozenset(record.base for record in kept if record.base)
    left = tuple(record for record in given_up if record.number < floor)
    return HistoryCut(timeline, state.published, floor, pins, left) if left else None


def _is_free(head: Head, timeline: int) -> bool:
    """Return whether a timeline is not the default, has no lease, and has no overlay on it."""
    in_use = timeline in head.defaults.values() or head.timelines[timeline].lease is not None
    return not in_use and not head.pinned(timeline)


@dataclass(frozen=True, slots=True)
class TimelineExtent:
    """What is deleted from a timeline: everything visible neither at ``floor`` or above nor at one of ``pins``."""

    floor: int
    pins: tuple[int, ...]

    @classmethod
    def of(cls, head: Head, timeline: int) -> "TimelineExtent":
        """Return what may be deleted from a timeline in its current state."""
        floor = head.timelines[timeline].floor
        return cls(floor, tuple(sorted(number for number in head.pinned(timeline) if number < floor)))

    def gaps(self) -> list[tuple[int, int]]:
        """Return the spans (after, until) that no reader asks for: rows born after ``after`` and dead by ``until``."""
        return list(pairwise((BEFORE_ALL, *self.pins, self.floor)))

    def covers(self, number: int) -> bool:
        """Return whether the record of a transaction may be deleted."""
        return number < self.floor and number not in self.pins

    def frees(self, born: int, died: int) -> bool:
        """Return whether a row with this lifespan is deleted; the caller checks that no aborted number retired it."""
        return any(after < born and died <= until for after, until in self.gaps())
