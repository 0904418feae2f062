"""Which commits stay searchable: rule 16 as pure functions over the head document and the transactions' records."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from codequarry.shared.settings.index import RetentionSettings
from codequarry.shared.versions.head import Head, Place
from codequarry.shared.versions.transactions import TransactionRecord

# Before the first number that a timeline can have.
BEFORE_ALL = -1
# What a timeline waits to have deleted, and what was deleted of it last.
SWEEP, SWEPT = "sweep:", "swept:"

TransactionRecords = Mapping[int, Sequence[TransactionRecord]]
"""The published transactions of some timelines, oldest first."""


def sweep_key(timeline: int) -> str:
    """Return the key of the note of what is to be deleted of a timeline, and the beginning of all such keys."""
    return f"{SWEEP}{timeline:010d}"


def swept_key(timeline: int) -> str:
    """Return the key of what was deleted of a timeline last."""
    return f"{SWEPT}{timeline:010d}"


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """How much history a repository keeps: a commit beyond either limit is given up, the newest never is."""

    commits: int
    days: float

    @classmethod
    def of(cls, settings: RetentionSettings, repo: str) -> "RetentionLimits":
        """Take a repository's own limits where it has any, else those of all."""
        own = settings.repositories.get(repo)
        commits = own.keep_commits if own and own.keep_commits is not None else settings.keep_commits
        days = own.keep_days if own and own.keep_days is not None else settings.keep_days
        return cls(commits, days)


@dataclass(frozen=True, slots=True)
class HistoryCut:
    """Where the history of a timeline is cut off: nothing below ``floor`` may be asked for any more.

    ``published`` is what the timeline had published when that was decided, ``pins`` the bases of what it keeps. A
    timeline that is ``dropped`` keeps nothing.
    """

    timeline: int
    published: int
    floor: int
    pins: frozenset[Place]
    given_up: tuple[TransactionRecord, ...]
    dropped: bool = False


def families(head: Head, repo: str, leaving: Collection[int] = ()) -> list[tuple[int, ...]]:
    """Return the published timelines of a repository by the history that they count as.

    The default one and those that were it before are one history; every other version is one for itself. Timelines
    that are ``leaving`` go as soon as no overlay lies on them, and count for nothing.
    """
    going = frozenset(leaving) - frozenset(head.defaults.values())
    states = {key: head.timelines[key] for key in sorted(head.of_repo(repo)) if key not in going}
    published = [key for key, state in states.items() if state.published and not state.gone]
    defaults = tuple(key for key in published if not states[key].ref)
    others: list[tuple[int, ...]] = [(key,) for key in published if states[key].ref]
    return [defaults, *others] if defaults else others


def cut_history(
    head: Head, family: Sequence[int], records: TransactionRecords, limits: RetentionLimits, now: datetime
) -> list[HistoryCut]:
    """Decide what one history gives up; a timeline that gives up nothing has no cut."""
    history = sorted((record for key in family for record in records[key]), key=lambda record: record.number)
    if not history:
        return []
    oldest = history[max(_oldest_kept(history, limits, now), _oldest_masked(history))].number
    return [cut for key in family if (cut := _cut(head, key, records[key], oldest))]


def _oldest_masked(history: Sequence[TransactionRecord]) -> int:
    """Return the place from which on secrets are masked; 0 where the newest are not: then there is nothing better."""
    if not history[-1].is_masked:
        return 0
    return next((place + 1 for place in reversed(range(len(history))) if not history[place].is_masked), 0)


def _oldest_kept(history: Sequence[TransactionRecord], limits: RetentionLimits, now: datetime) -> int:
    """Return the place of the oldest transaction that is kept."""
    since = now - timedelta(days=limits.days)
    newest = len(history) - 1
    first = max(0, len(history) - limits.commits)
    # The next one took its place when it was begun, or a little later.
    young = (place for place in range(first, newest) if _began(history[place + 1], now) >= since)
    return next(young, newest)


def _began(record: TransactionRecord, now: datetime) -> datetime:
    """Return when a transaction began; what can't be read is taken for new."""
    try:
        began = datetime.fromisoformat(record.indexed_at)
    except ValueError:
        return now
    return began if began.tzinfo else began.replace(tzinfo=now.tzinfo)


def _cut(head: Head, timeline: int, records: Sequence[TransactionRecord], oldest: int) -> HistoryCut | None:
    state = head.timelines[timeline]
    given_up = tuple(record for record in records if record.number < oldest)
    if not given_up:
        return None
    if state.published < oldest and _is_free(head, timeline):
        return HistoryCut(timeline, state.published, oldest, frozenset(), given_up, dropped=True)
    # An overlay still lies on a timeline that is the default one no more: what it published last stays with it.
    floor = min(oldest, state.published)
    kept = [record for record in records if record.number >= floor]
    pins = frozenset(record.base for record in kept if record.base)
    left = tuple(record for record in given_up if record.number < floor)
    return HistoryCut(timeline, state.published, floor, pins, left) if left else None


def _is_free(head: Head, timeline: int) -> bool:
    """Tell whether nobody reads, writes or builds on a timeline that is given up whole."""
    in_use = timeline in head.defaults.values() or head.timelines[timeline].lease is not None
    return not in_use and not head.pinned(timeline)


@dataclass(frozen=True, slots=True)
class TimelineExtent:
    """What is deleted of a timeline: all that is seen from neither ``floor``, nor above it, nor one of ``pins``."""

    floor: int
    pins: tuple[int, ...]

    @classmethod
    def of(cls, head: Head, timeline: int) -> "TimelineExtent":
        """Return what may be deleted of a timeline as it is."""
        floor = head.timelines[timeline].floor
        return cls(floor, tuple(sorted(number for number in head.pinned(timeline) if number < floor)))

    def gaps(self) -> list[tuple[int, int]]:
        """Return the pairs (after, until) between which nobody looks: rows born after the one and dead by the other."""
        return list(pairwise((BEFORE_ALL, *self.pins, self.floor)))

    def covers(self, number: int) -> bool:
        """Tell whether a transaction of this number may be forgotten."""
        return number < self.floor and number not in self.pins

    def frees(self, born: int, died: int) -> bool:
        """Tell whether a row with this life is deleted; the caller knows that no aborted number retired it."""
        return any(after < born and died <= until for after, until in self.gaps())
