"""What a renaming keeps of a repository's history: which timelines, and which of their commits."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from codequarry.ingest.transaction.bases import WORKSPACES
from codequarry.ingest.transaction.chores import noted_purges
from codequarry.ingest.transaction.copy_extent import CopyExtent
from codequarry.shared.catalog.ledger import published_transactions, read_transaction
from codequarry.shared.errors import StoreError
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.head import Head, Place, Timeline
from codequarry.shared.versions.transactions import TransactionRecord


@dataclass(frozen=True, slots=True)
class KeptTimeline:
    """A timeline to copy: the rows of ``extent`` and the transactions of ``records``.

    ``state`` is the state of the copy, with the pins of the original. A copy that ``only_carries`` overlays shows no
    commits of its own; it is purged once no overlay lies on it.
    """

    extent: CopyExtent
    state: Timeline
    records: tuple[TransactionRecord, ...]
    only_carries: bool = False

    @property
    def source(self) -> int:
        """The timeline to copy."""
        return self.extent.timeline


def kept_timelines(store: DocumentStore, head: Head, old: str, new: str, at: str) -> list[KeptTimeline]:
    """Return the timelines of ``old`` with commits that no current version of ``new`` shows, bases first.

    Versions that the origin no longer has end ``at`` this time (ISO 8601). Left out are the states of working trees,
    which can't be named, timelines that will be purged, and commits from before masking, which are beyond the limits
    (rule 16).
    """
    shown = {state.commit for state in _current(head, new)}
    is_masked = _is_masked(store, head, new)
    kept: dict[int, _KeptPart] = {}
    for timeline in _named(store, head, old):
        part = _kept_part(published_transactions(store, head, timeline), is_masked=is_masked)
        if any(record.commit not in shown for record in part.records):
            kept[timeline] = part
    needed = _bases(part.records for part in kept.values())
    found = [
        _copy_of(store, head, timeline, part, needed.get(timeline, frozenset()), new, at)
        for timeline, part in kept.items()
    ]
    found += [_carrier(store, head, owner, numbers, new) for owner, numbers in needed.items() if owner not in kept]
    return sorted(found, key=lambda item: bool(item.state.pins))


@dataclass(frozen=True, slots=True)
class _KeptPart:
    """The transactions of a timeline that are kept; ``is_cut`` if there are older ones."""

    records: Sequence[TransactionRecord]
    is_cut: bool


def _kept_part(records: Sequence[TransactionRecord], *, is_masked: bool) -> _KeptPart:
    """Return all transactions, or those since the last one that was not masked, if the repository now is."""
    masked = (place + 1 for place in reversed(range(len(records))) if not records[place].is_masked)
    first = next(masked, 0) if is_masked else 0
    return _KeptPart(records[first:], first > 0)


def _current(head: Head, repo: str) -> Iterator[Timeline]:
    """Yield the current states of a repository's versions, without working trees."""
    for timeline in head.of_repo(repo):
        state = head.timelines[timeline]
        is_current = bool(state.ref) or head.defaults.get(repo) == timeline
        if is_current and state.published and not state.gone and not state.ref.startswith(WORKSPACES):
            yield state


def _is_masked(store: DocumentStore, head: Head, repo: str) -> bool:
    default = head.defaults.get(repo)
    record = read_transaction(store, default, head.timelines[default].published) if default is not None else None
    return record is not None and record.is_masked


def _named(store: DocumentStore, head: Head, repo: str) -> Iterator[int]:
    """Yield the published timelines of a repository whose commits can be named."""
    going = noted_purges(store)
    for timeline in sorted(head.of_repo(repo)):
        state = head.timelines[timeline]
        is_leaving = timeline in going and not state.version and head.defaults.get(repo) != timeline
        if state.published and not (state.gone or is_leaving or state.version.startswith(WORKSPACES)):
            yield timeline


def _bases(kept: Iterable[Sequence[TransactionRecord]]) -> Mapping[int, frozenset[int]]:
    """Return the states that kept transactions lie on, as numbers by timeline."""
    found: dict[int, set[int]] = {}
    for owner, number in (record.base for records in kept for record in records if record.base):
        found.setdefault(owner, set()).add(number)
    return {owner: frozenset(numbers) for owner, numbers in found.items()}


def _copy_of(
    store: DocumentStore, head: Head, timeline: int, part: _KeptPart, pinned: frozenset[int], repo: str, at: str
) -> KeptTimeline:
    state = head.timelines[timeline]
    floor = part.records[0].number if part.is_cut else state.floor
    copy = Timeline(
        repo,
        state.published,
        state.commit,
        floor=floor,
        pins=frozenset(record.base for record in part.records if record.base),
        branch="" if state.version else state.branch,
        repo_id=state.repo_id,
        former=state.version,
        expiring_since=(state.expiring_since or at) if state.version else "",
    )
    older = pinned.difference(record.number for record in part.records)
    records = (*(_record(store, (timeline, number)) for number in sorted(older)), *part.records)
    return KeptTimeline(CopyExtent(timeline, -1, state.published, floor, pinned, head.hidden), copy, records)


def _carrier(store: DocumentStore, head: Head, timeline: int, numbers: frozenset[int], repo: str) -> KeptTimeline:
    """Return the copy of a timeline that is needed only by the overlays on it."""
    last = max(numbers)
    records = tuple(_record(store, (timeline, number)) for number in sorted(numbers))
    state = Timeline(repo, last, records[-1].commit, floor=last, gone=True, repo_id=head.timelines[timeline].repo_id)
    return KeptTimeline(CopyExtent(timeline, -1, last, last, numbers, head.hidden), state, records, only_carries=True)


def _record(store: DocumentStore, place: Place) -> TransactionRecord:
    record = read_transaction(store, *place)
    if record is None:
        timeline, number = place
        raise StoreError(
            f"transaction {number} of timeline {timeline}, on which a version lies, is gone: run codequarry fsck with "
            "--repair, then rename again"
        )
    return record


def renamed_record(record: TransactionRecord, repo: str, copies: Mapping[int, int]) -> TransactionRecord:
    """Return the record of the same transaction in the copy of its timeline."""
    base = None if record.base_timeline is None else copies[record.base_timeline]
    return replace(record, timeline=copies[record.timeline], repo=repo, base_timeline=base)
