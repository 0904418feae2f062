"""Timelines, transactions and leases as pure functions over the head document, and what a version means as a filter.

The rules behind every function here are in docs/versioned-index.md. Nothing in this file does any input or output:
``ledger.py`` reads the head document, applies one of these functions and writes the result by compare-and-set.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from codequarry.shared.errors import Conflict, LeaseHeld
from codequarry.shared.model import Layer, Snapshot

OPEN = 2**31 - 1
"""The ``died`` of a row that lives: the largest 32-bit integer, so that any transaction number is below it."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Who writes to a timeline: ``number`` is its transaction, ``beat`` counts up while the holder lives."""

    holder: str
    number: int
    beat: int = 0


@dataclass(frozen=True, slots=True)
class Timeline:
    """One line of history; ``published`` is the newest transaction that readers see, 0 before the first."""

    repo: str
    published: int = 0
    commit: str = ""
    lease: Lease | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The head document: the one place that says what exists and what is visible."""

    counter: int = 0
    open: Mapping[int, int] = field(default_factory=dict)
    aborted: frozenset[int] = frozenset()
    timelines: Mapping[int, Timeline] = field(default_factory=dict)
    defaults: Mapping[str, int] = field(default_factory=dict)

    @property
    def hidden(self) -> frozenset[int]:
        """The numbers that no reader sees: open or aborted."""
        return self.aborted | frozenset(self.open)

    def to_json(self) -> dict[str, Any]:
        """Return the document as the stores keep it."""
        return {
            "counter": self.counter,
            "open": {str(number): timeline for number, timeline in self.open.items()},
            "aborted": sorted(self.aborted),
            "timelines": {str(key): _timeline_to_json(value) for key, value in self.timelines.items()},
            "defaults": dict(self.defaults),
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Head":
        """Read what ``to_json`` wrote."""
        return cls(
            counter=body["counter"],
            open={int(number): timeline for number, timeline in body["open"].items()},
            aborted=frozenset(body["aborted"]),
            timelines={int(key): _timeline_from_json(value) for key, value in body["timelines"].items()},
            defaults=dict(body["defaults"]),
        )


def _timeline_to_json(timeline: Timeline) -> dict[str, Any]:
    lease = timeline.lease
    return {
        "repo": timeline.repo,
        "published": timeline.published,
        "commit": timeline.commit,
        "lease": lease and {"holder": lease.holder, "number": lease.number, "beat": lease.beat},
    }


def _timeline_from_json(body: Mapping[str, Any]) -> Timeline:
    lease = body["lease"]
    return Timeline(body["repo"], body["published"], body["commit"], Lease(**lease) if lease else None)


def _with_timeline(head: Head, timeline: int, state: Timeline) -> Head:
    return replace(head, timelines={**head.timelines, timeline: state})


def check_held(head: Head, timeline: int, holder: str, number: int) -> Timeline:
    """Return the timeline if ``holder`` still holds its lease with ``number`` open; raise Conflict if not."""
    state = head.timelines.get(timeline)
    lease = state.lease if state else None
    if state is None or lease is None or (lease.holder, lease.number) != (holder, number) or number not in head.open:
        raise Conflict(f"transaction {number} of timeline {timeline} is no longer held by {holder}")
    return state


def new_timeline(head: Head, repo: str) -> tuple[Head, int]:
    """Add an empty timeline; its id comes from the counter, so that a recreated branch is a new timeline (rule 11)."""
    timeline = head.counter + 1
    return replace(_with_timeline(head, timeline, Timeline(repo)), counter=timeline), timeline


def begin(head: Head, timeline: int, holder: str) -> tuple[Head, int]:
    """Take a number and the timeline's lease in one write (rule 6); LeaseHeld if another holder has it."""
    state = head.timelines[timeline]
    if state.lease is not None:
        raise LeaseHeld(f"{state.repo} is being indexed by {state.lease.holder}; wait for it or stop it")
    number = head.counter + 1
    taken = replace(state, lease=Lease(holder, number))
    changed = _with_timeline(head, timeline, taken)
    return replace(changed, counter=number, open={**head.open, number: timeline}), number


def beat(head: Head, timeline: int, holder: str, number: int) -> Head:
    """Show that the holder lives; Conflict if the lease was lost."""
    state = check_held(head, timeline, holder, number)
    assert state.lease is not None
    return _with_timeline(head, timeline, replace(state, lease=replace(state.lease, beat=state.lease.beat + 1)))


def take_over(head: Head, timeline: int, seen: Lease, holder: str) -> Head:
    """Take the lease of a holder that died, as last ``seen``; its transaction stays open, to be resumed or aborted.

    Conflict if the lease changed since: then its holder lives, or someone else was first.
    """
    state = head.timelines[timeline]
    if state.lease != seen:
        raise Conflict(f"the lease of timeline {timeline} changed hands")
    return _with_timeline(head, timeline, replace(state, lease=Lease(holder, seen.number, seen.beat + 1)))


def publish(head: Head, timeline: int, holder: str, number: int, commit: str, *, default: bool = False) -> Head:
    """Make ``number`` visible and give back the lease, in one write (rule 6).

    ``default`` also makes the timeline the one that readers of head see, in the same write.
    """
    state = check_held(head, timeline, holder, number)
    if number <= state.published:
        raise Conflict(f"transaction {number} is older than what timeline {timeline} has published")
    published = replace(state, published=number, commit=commit, lease=None)
    still_open = {key: value for key, value in head.open.items() if key != number}
    defaults = {**head.defaults, state.repo: timeline} if default else head.defaults
    return replace(_with_timeline(head, timeline, published), open=still_open, defaults=defaults)


def abort(head: Head, timeline: int, holder: str, number: int) -> Head:
    """Give up an open number for good (rule 9): it stays hidden for the life of the index; the lease is given back."""
    state = check_held(head, timeline, holder, number)
    still_open = {key: value for key, value in head.open.items() if key != number}
    changed = _with_timeline(head, timeline, replace(state, lease=None))
    return replace(changed, open=still_open, aborted=head.aborted | {number})


def forget(head: Head, repo: str) -> Head:
    """Drop a repository's timelines; numbers still open become aborted, so that a late writer stays hidden."""
    gone = {key for key, state in head.timelines.items() if state.repo == repo}
    orphaned = {number for number, timeline in head.open.items() if timeline in gone}
    return replace(
        head,
        open={number: timeline for number, timeline in head.open.items() if timeline not in gone},
        aborted=head.aborted | orphaned,
        timelines={key: state for key, state in head.timelines.items() if key not in gone},
        defaults={name: timeline for name, timeline in head.defaults.items() if name != repo},
    )


def drop_timeline(head: Head, timeline: int) -> Head:
    """Drop one timeline that a rebuilt one replaced; never the default of its repository."""
    if timeline in head.defaults.values():
        raise Conflict(f"timeline {timeline} is the default one of its repository")
    orphaned = {number for number, owner in head.open.items() if owner == timeline}
    return replace(
        head,
        open={number: owner for number, owner in head.open.items() if owner != timeline},
        aborted=head.aborted | orphaned,
        timelines={key: state for key, state in head.timelines.items() if key != timeline},
    )


def head_snapshot(head: Head, repos: Iterable[str] | None = None) -> Snapshot:
    """Return what readers of head see of ``repos`` (all of them if None): one layer, whatever their number (rule 11).

    Repositories that the index does not have are left out; a snapshot without timelines is empty.
    """
    wanted = head.defaults if repos is None else {name: head.defaults[name] for name in repos if name in head.defaults}
    timelines = tuple(sorted(key for key in wanted.values() if head.timelines[key].published))
    return Snapshot((Layer(timelines, head.counter, head.hidden),))


def snapshot_at(head: Head, timeline: int, number: int) -> Snapshot:
    """Return what ``timeline`` held right after transaction ``number`` (rule 10)."""
    return Snapshot((Layer((timeline,), number, head.hidden),))


def draft_snapshot(head: Head, timeline: int, number: int) -> Snapshot:
    """Return what readers will see of ``timeline`` once its open transaction ``number`` is published."""
    return Snapshot((Layer((timeline,), number, head.hidden - {number}),))


def is_live(layer: Layer, timeline: int, born: int, died: int, path: str) -> bool:
    """Tell whether a row is in ``layer``: the one definition that both stores' filters are tested against."""
    return (
        timeline in layer.timelines
        and path not in layer.mask
        and born <= layer.at
        and born not in layer.hidden
        and (died > layer.at or died in layer.hidden)
    )
