"""Timelines, transactions and leases as pure functions over the head document.

The rules behind every function here are in docs/versioned-index.md. Nothing in this file does any input or output:
``ledger.py`` reads the head document, applies one of these functions and writes the result by compare-and-set.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from codequarry.shared.errors import Conflict, IndexMoved, LeaseHeld
from codequarry.shared.versions.head import Head, Lease, Place, Timeline

# The rules of a transaction begin with this where its files' secrets were masked: rows of one without it, which an
# older version wrote or [secrets] action = "off", hold secrets as they are.
MASKED = "m1."


TRANSACTION_PREFIX = "transaction:"


def transactions_prefix(timeline: int) -> str:
    """Return what the document keys of a timeline's records begin with."""
    return f"{TRANSACTION_PREFIX}{timeline:010d}:"


@dataclass(frozen=True, slots=True)
class TransactionRecord:
    """What a transaction is for; stored before it is published and never changed (rules 6 and 7).

    ``ref`` is the version in words (``refs.Ref.name``). An overlay has a base and its ``mask``, the paths of the base
    that it replaces. ``commits`` are those that ``commit`` has and the timeline's commit before it had not, newest
    first and at most ``MAX_COMMITS`` of them; ``commit_count`` is how many they are in truth. ``lost`` are those that
    the one before had and ``commit`` has not, as after a force-push; None where they are more or unknown.
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
        """The place that an overlay lies on; None for a full timeline."""
        if self.base_timeline is None or self.base_number is None:
            return None
        return self.base_timeline, self.base_number


# A record is read by searches that name a commit: this many ids are 40 kB.
MAX_COMMITS = 1_000


def _with_timeline(head: Head, timeline: int, state: Timeline) -> Head:
    return replace(head, timelines={**head.timelines, timeline: state})


def check_held(head: Head, timeline: int, holder: str, number: int) -> Timeline:
    """Return the timeline if ``holder`` still holds its lease with ``number`` open; raise Conflict if not.

    IndexMoved where the index has gone on in another edition.
    """
    check_here(head)
    state = head.timelines.get(timeline)
    lease = state.lease if state else None
    if state is None or lease is None or (lease.holder, lease.number) != (holder, number) or number not in head.open:
        raise Conflict(f"transaction {number} of timeline {timeline} is no longer held by this run")
    return state


def check_here(head: Head) -> None:
    """Raise IndexMoved if this is the head document of an edition that was left."""
    if head.move and head.move.done:
        raise IndexMoved(f"the index was moved to model '{head.move.model}' meanwhile; run the command again")


def new_timeline(head: Head, repo: str, ref: str = "", repo_id: str = "") -> tuple[Head, int]:
    """Add an empty timeline; its id comes from the counter, so that a recreated branch is a new timeline (rule 11).

    Conflict if the name has timelines of another repository.
    """
    if head.id_of_repo(repo) not in (None, repo_id):
        raise Conflict(f"'{repo}' is the name of another repository by now")
    timeline = head.counter + 1
    added = _with_timeline(head, timeline, Timeline(repo, ref=ref, repo_id=repo_id))
    return replace(added, counter=timeline), timeline


def begin(head: Head, timeline: int, holder: str, base: Place | None = None) -> tuple[Head, int]:
    """Take a number and the timeline's lease in one write (rule 6); LeaseHeld if another holder has it.

    An overlay's ``base`` is pinned by the same write. Conflict if it is not there any more, or is an overlay (rule 12).
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
    """Show that the holder lives; Conflict if the lease was lost."""
    state = check_held(head, timeline, holder, number)
    assert state.lease is not None
    return _with_timeline(head, timeline, replace(state, lease=replace(state.lease, beat=state.lease.beat + 1)))


def take_over(head: Head, timeline: int, seen: Lease, holder: str) -> Head:
    """Take the lease of a holder that died, as last ``seen``; its transaction stays open, to be resumed or aborted.

    Conflict if the lease changed since: then its holder lives, or someone else was first.
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
    replaces: int | None = None,
) -> Head:
    """Make ``number`` visible and give back the lease, in one write (rule 6).

    ``branch`` is the name of a default branch, which only that write changes. ``default`` also makes the timeline the
    one that readers of head see, and ``replaces`` drops another one that followed the same version, in the same write.
    """
    state = check_held(head, timeline, holder, number)
    assert state.lease is not None
    if number <= state.published:
        raise Conflict(f"transaction {number} is older than what timeline {timeline} has published")
    base = state.lease.base
    pins = state.pins | {base} if base else state.pins
    name = branch or state.branch
    published = replace(state, published=number, commit=commit, lease=None, pins=pins, branch=name)
    still_open = {key: value for key, value in head.open.items() if key != number}
    defaults = {**head.defaults, state.repo: timeline} if default else head.defaults
    changed = replace(_with_timeline(head, timeline, published), open=still_open, defaults=defaults)
    return changed if replaces is None else drop_timeline(changed, replaces)


def abort(head: Head, timeline: int, holder: str, number: int) -> Head:
    """Give up an open number for good (rule 9): it stays hidden for the life of the index; the lease is given back."""
    state = check_held(head, timeline, holder, number)
    still_open = {key: value for key, value in head.open.items() if key != number}
    changed = _with_timeline(head, timeline, replace(state, lease=None))
    return replace(changed, open=still_open, aborted=head.aborted | {number})


def forget(head: Head, repo: str) -> Head:
    """Drop a repository's timelines; numbers still open become aborted, so that a late writer stays hidden."""
    without = replace(head, defaults={name: key for name, key in head.defaults.items() if name != repo})
    return _without(without, set(head.of_repo(repo)))


def identify(head: Head, ids: Mapping[str, str]) -> Head:
    """Return the head with the ids of repositories in timelines of an older version, which have none."""
    known = {key: state for key, state in head.timelines.items() if not state.repo_id and state.repo in ids}
    if not known:
        return head
    named = {key: replace(state, repo_id=ids[state.repo]) for key, state in known.items()}
    return replace(head, timelines={**head.timelines, **named})


def drop_timeline(head: Head, timeline: int) -> Head:
    """Drop one timeline; Conflict where it is the default of its repository or an overlay lies on it."""
    if timeline in head.defaults.values():
        raise Conflict(f"timeline {timeline} is the default one of its repository")
    if head.pinned(timeline):
        raise Conflict(f"an overlay lies on timeline {timeline}")
    return _without(head, {timeline})


def drop_name(head: Head, timeline: int) -> Head:
    """Take a timeline's version from it, and its lease: only the overlays that lie on it read it from here on."""
    ended = _ended(head, {timeline})
    return _with_timeline(ended, timeline, replace(head.timelines[timeline], ref="", lease=None, gone=True))


def rename_default(head: Head, repo: str, branch: str) -> Head:
    """Give the default branch of a repository another name, where its commit is published already."""
    default = head.defaults.get(repo)
    if default is None or head.timelines[default].branch == branch:
        return head
    return _with_timeline(head, default, replace(head.timelines[default], branch=branch))


def _without(head: Head, gone: Collection[int]) -> Head:
    kept = {key: state for key, state in head.timelines.items() if key not in gone}
    return replace(_ended(head, gone), timelines=kept)


def _ended(head: Head, timelines: Collection[int]) -> Head:
    """Abort the numbers that are open on some timelines, so that a late writer stays hidden."""
    orphaned = {number for number, timeline in head.open.items() if timeline in timelines}
    still_open = {number: timeline for number, timeline in head.open.items() if number not in orphaned}
    return replace(head, open=still_open, aborted=head.aborted | orphaned)


def raise_floor(head: Head, timeline: int, published: int, floor: int, pins: Collection[Place]) -> Head:
    """Let readers and new overlays ask for nothing of a timeline below ``floor`` any more (rule 16).

    ``pins`` are the bases of its transactions from there on. Conflict if it has moved on from ``published``, since
    then these may lack one.
    """
    state = head.timelines.get(timeline)
    if state is None or state.published != published:
        raise Conflict(f"timeline {timeline} has moved on")
    kept = replace(state, floor=max(state.floor, min(floor, published)), pins=frozenset(pins))
    return _with_timeline(head, timeline, kept)
