"""Timelines, transactions and leases as pure functions over the head document.

The rules are in docs/versioned-index.md. This module does no input or output: ``ledger.py`` reads the head document,
applies one of these functions and writes the result by compare-and-set.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from codequarry.shared.errors import Conflict, IndexMoved, LeaseHeld
from codequarry.shared.versions.commit_log import log_timeline
from codequarry.shared.versions.head import Head, Lease, Place, Timeline, pinned_numbers

# A transaction's rules begin with this if its secrets were masked. Otherwise its rows hold unmasked secrets, because an
# older version wrote them or [secrets] action was "off".
MASKED = "m1."

TRANSACTION_PREFIX = "transaction:"


def transactions_prefix(timeline: int) -> str:
    """Return the key prefix of a timeline's records."""
    return f"{TRANSACTION_PREFIX}{timeline:010d}:"


@dataclass(frozen=True, slots=True)
class TransactionRecord:
    """The target of a transaction; stored before it is published and never changed (rules 6 and 7).

    ``ref`` is the version's name (``refs.Ref.name``). An overlay has a base and a ``mask``, the paths of the base that
    it replaces. ``commits`` are the commits that ``commit`` has and the timeline's previous commit lacked, newest first
    and at most ``MAX_COMMITS``; ``commit_count`` is their full number. ``lost`` are the commits that only the previous
    commit has, for example after a force-push; None if they are unknown or too many.

    ``log_rules`` is the hash of the settings of the timeline's log, or empty if it has none. ``log_mask`` are the paths
    in the base's log of commits that ``commit`` lacks; None if the version's own log does without the base's.
    """

    timeline: int
    number: int
    repo: str
    ref: str
    commit: str
    rules: str
    changed_paths: int
    indexed_at: str
    base_timeline: int | None = None
    base_number: int | None = None
    mask: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    commit_count: int = 0
    lost: tuple[str, ...] | None = ()
    log_rules: str = ""
    log_mask: tuple[str, ...] | None = ()

    @property
    def is_masked(self) -> bool:
        """Whether secrets were masked in what this transaction wrote (docs/secrets.md)."""
        return self.rules.startswith(MASKED)

    @property
    def key(self) -> str:
        """The document key; numbers are padded so that keys sort by age."""
        return f"{transactions_prefix(self.timeline)}{self.number:010d}"

    @property
    def base(self) -> Place | None:
        """The place that an overlay lies on, or None for a full timeline."""
        if self.base_timeline is None or self.base_number is None:
            return None
        return self.base_timeline, self.base_number

    @property
    def log_base(self) -> Place | None:
        """The place whose log is a part of this version's log, or None if its own log has all of its commits."""
        return self.base if self.log_rules and self.log_mask is not None else None


# Searches that name a commit read the record; this many ids take 40 kB.
MAX_COMMITS = 1_000


def _with_timeline(head: Head, timeline: int, state: Timeline) -> Head:
    return replace(head, timelines={**head.timelines, timeline: state})


def check_held(head: Head, timeline: int, holder: str, number: int) -> Timeline:
    """Return the timeline if ``holder`` holds its lease and ``number`` is open; else raise Conflict or IndexMoved."""
    check_here(head)
    state = head.timelines.get(timeline)
    lease = state.lease if state else None
    if state is None or lease is None or (lease.holder, lease.number) != (holder, number) or number not in head.open:
        raise Conflict(f"transaction {number} of timeline {timeline} is no longer held by this run")
    return state


def check_here(head: Head) -> None:
    """Raise IndexMoved if another edition has replaced the edition of this head document."""
    if head.move and head.move.done:
        raise IndexMoved(f"the index has moved to model '{head.move.model}'; run the command again")


def new_timeline(head: Head, repo: str, ref: str = "", repo_id: str = "") -> tuple[Head, int]:
    """Add an empty timeline with an id from the counter (rule 11); raise Conflict if another id has the name.

    The number after it is that of the timeline's log.
    """
    if head.id_of_repo(repo) not in (None, repo_id):
        raise Conflict(f"'{repo}' is now the name of another repository")
    timeline = head.counter + 1
    added = _with_timeline(head, timeline, Timeline(repo, ref=ref, repo_id=repo_id))
    return replace(added, counter=log_timeline(timeline)), timeline


def begin(head: Head, timeline: int, holder: str, base: Place | None = None) -> tuple[Head, int]:
    """Take a number and the timeline's lease in one write (rule 6); raise LeaseHeld if another holder has it.

    The same write pins an overlay's ``base``; raise Conflict if the base is gone or is itself an overlay (rule 12).
    """
    state = head.timelines[timeline]
    if state.lease is not None:
        raise LeaseHeld(f"{state.repo} is being indexed by another process; wait for it or stop it")
    if base is not None:
        _check_base(head, base)
    number = head.counter + 1
    changed = _with_timeline(head, timeline, replace(state, lease=Lease(holder, number, base=base)))
    return replace(changed, counter=number, open={**head.open, number: timeline}), number


def _check_base(head: Head, base: Place) -> None:
    timeline, number = base
    state = head.timelines.get(timeline)
    if state is None or not state.floor <= number <= state.published or number in head.hidden:
        raise Conflict(f"transaction {number} of timeline {timeline} is no longer kept")
    if state.pins:
        raise Conflict(f"timeline {timeline} is an overlay itself")


def beat(head: Head, timeline: int, holder: str, number: int) -> Head:
    """Show that the holder is alive; raise Conflict if the lease was lost."""
    state = check_held(head, timeline, holder, number)
    assert state.lease is not None
    return _with_timeline(head, timeline, replace(state, lease=replace(state.lease, beat=state.lease.beat + 1)))


def take_over(head: Head, timeline: int, seen: Lease, holder: str) -> Head:
    """Take over a dead holder's lease, as last ``seen``; its transaction stays open, to be resumed or aborted.

    Raise Conflict if the lease has changed since then: its holder is alive, or another process was first.
    """
    state = head.timelines.get(timeline)
    if state is None or state.lease != seen:
        raise Conflict(f"the lease of timeline {timeline} changed hands")
    return _with_timeline(head, timeline, replace(state, lease=replace(seen, holder=holder, beat=seen.beat + 1)))


def publish(
    head: Head,
    timeline: int,
    holder: str,
    number: int,
    commit: str,
    *,
    branch: str = "",
    default: bool = False,
    expiring_since: str = "",
) -> Head:
    """Make ``number`` visible and release the lease, in one write (rule 6).

    ``branch`` names the default branch. ``default`` makes the timeline the default timeline of its repository.
    ``expiring_since`` is given for a version that only searches asked for.
    """
    state = check_held(head, timeline, holder, number)
    assert state.lease is not None
    if number <= state.published:
        raise Conflict(f"transaction {number} is older than the published state of timeline {timeline}")
    base = state.lease.base
    pins = state.pins | {base} if base else state.pins
    name = branch or state.branch
    published = replace(state, published=number, commit=commit, lease=None, pins=pins, branch=name)
    published = replace(published, expiring_since=expiring_since)
    still_open = {key: value for key, value in head.open.items() if key != number}
    defaults = {**head.defaults, state.repo: timeline} if default else head.defaults
    return replace(_with_timeline(head, timeline, published), open=still_open, defaults=defaults)


def abort(head: Head, timeline: int, holder: str, number: int) -> Head:
    """Abort an open number (rule 9), which stays hidden for the life of the index, and release the lease."""
    state = check_held(head, timeline, holder, number)
    still_open = {key: value for key, value in head.open.items() if key != number}
    changed = _with_timeline(head, timeline, replace(state, lease=None))
    return replace(changed, open=still_open, aborted=head.aborted | {number})


def forget(head: Head, repo: str) -> Head:
    """Drop a repository's timelines, and abort their open numbers so that a late writer stays hidden."""
    without = replace(head, defaults={name: key for name, key in head.defaults.items() if name != repo})
    return _without(without, set(head.of_repo(repo)))


def identify(head: Head, ids: Mapping[str, str]) -> Head:
    """Return the head with repository ids added to timelines from an older version, which have none."""
    known = {key: state for key, state in head.timelines.items() if not state.repo_id and state.repo in ids}
    if not known:
        return head
    named = {key: replace(state, repo_id=ids[state.repo]) for key, state in known.items()}
    return replace(head, timelines={**head.timelines, **named})


def drop_timeline(head: Head, timeline: int) -> Head:
    """Drop one timeline; raise Conflict if it is the default of its repository or an overlay lies on it."""
    if timeline in head.defaults.values():
        raise Conflict(f"timeline {timeline} is the default timeline of its repository")
    if head.pinned(timeline):
        raise Conflict(f"an overlay lies on timeline {timeline}")
    return _without(head, {timeline})


def drop_unused(head: Head, published: Mapping[int, int]) -> tuple[Head, frozenset[int]]:
    """Drop timelines in one pass, and return those that were dropped.

    ``published`` has the number that each had when this was decided. A timeline that has moved on, has a lease, is the
    default of its repository, or is needed by an overlay that is not dropped stays.
    """
    defaults = frozenset(head.defaults.values())
    going = {
        key
        for key, number in published.items()
        if (state := head.timelines.get(key)) and (state.published, state.lease) == (number, None)
    } - defaults
    while needed := going & pinned_numbers(state for key, state in head.timelines.items() if key not in going).keys():
        going -= needed
    return _without(head, going), frozenset(going)


def drop_name(head: Head, timeline: int) -> Head:
    """Take away a timeline's version and lease; from now on, only the overlays that lie on it read it."""
    ended = _abort_open(head, {timeline})
    state = replace(head.timelines[timeline], ref="", former="", expiring_since="")
    return _with_timeline(ended, timeline, replace(state, lease=None, gone=True))


def retire_version(head: Head, timeline: int, at: str) -> Head:
    """Make a published timeline a former timeline of its version at the time ``at`` (ISO 8601), without a lease.

    Its commits stay searchable until they expire. Its open number is aborted, so that a late writer stays hidden.
    """
    state = head.timelines[timeline]
    former = replace(state, ref="", lease=None, former=state.ref, expiring_since=at)
    return _with_timeline(_abort_open(head, {timeline}), timeline, former)


def keep_version(head: Head, timeline: int, expiring_since: str) -> Head:
    """Set the time from which a version ages, or "" for a version that stays."""
    state = head.timelines.get(timeline)
    if state is None or state.former or state.expiring_since == expiring_since:
        return head
    return _with_timeline(head, timeline, replace(state, expiring_since=expiring_since))


def rename_default(head: Head, repo: str, branch: str) -> Head:
    """Rename the default branch of a repository whose commit is already published."""
    default = head.defaults.get(repo)
    if default is None or head.timelines[default].branch == branch:
        return head
    return _with_timeline(head, default, replace(head.timelines[default], branch=branch))


def _without(head: Head, gone: Collection[int]) -> Head:
    kept = {key: state for key, state in head.timelines.items() if key not in gone}
    return replace(_abort_open(head, gone), timelines=kept)


def _abort_open(head: Head, timelines: Collection[int]) -> Head:
    """Abort the open numbers of some timelines, so that late writers stay hidden."""
    orphaned = {number for number, timeline in head.open.items() if timeline in timelines}
    still_open = {number: timeline for number, timeline in head.open.items() if number not in orphaned}
    return replace(head, open=still_open, aborted=head.aborted | orphaned)


def raise_floor(head: Head, timeline: int, published: int, floor: int, pins: Collection[Place]) -> Head:
    """Raise a timeline's floor: readers and new overlays can't ask for anything below it (rule 16).

    Raise Conflict if ``published`` is out of date: ``pins``, the bases of its kept transactions, may be incomplete.
    """
    state = head.timelines.get(timeline)
    if state is None or state.published != published:
        raise Conflict(f"timeline {timeline} has moved on")
    kept = replace(state, floor=max(state.floor, min(floor, published)), pins=frozenset(pins))
    return _with_timeline(head, timeline, kept)
