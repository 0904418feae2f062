"""The choice of an overlay's base: the indexed state from which the version differs in the fewest paths."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codequarry.ingest.git.ancestry import differing_paths, nearest
from codequarry.ingest.source.source import FileSource
from codequarry.ingest.transaction.chores import noted_purges
from codequarry.ingest.transaction.plan import TransactionPlan, make_plan
from codequarry.shared.catalog.ledger import published_transactions
from codequarry.shared.store.port import DocumentStore, RowReader, Store
from codequarry.shared.versions.head import Head, Place
from codequarry.shared.versions.snapshots import snapshot_at
from codequarry.shared.versions.transactions import TransactionRecord

# How many full timelines are considered, newest first; if there are more, many of them hardly differ.
MOST_TIMELINES = 8
WORKSPACES = "workspace/"


@dataclass(frozen=True, slots=True)
class Base:
    """A published state and the differences from it: ``plan.changed`` is the overlay, ``plan.retired`` its mask."""

    record: TransactionRecord
    plan: TransactionPlan

    @property
    def place(self) -> Place:
        """The timeline and the number of the state."""
        return self.record.timeline, self.record.number

    @property
    def paths(self) -> int:
        """The number of paths in which the version differs from the state."""
        return self.plan.paths


def is_overlay(head: Head, timeline: int) -> bool:
    """Return whether a timeline lies, or will lie, over another timeline (rule 12)."""
    state = head.timelines[timeline]
    return bool(state.pins) or bool(state.lease and state.lease.base)


def choose_base(store: Store, head: Head, source: FileSource, repo: str, current: Place | None) -> Base | None:
    """Return the nearest base, or None without a full timeline; ties go to ``current``, then to the default branch."""
    candidates = list(dict.fromkeys(_candidates(store, head, source, repo)))
    if candidates:
        _ = source.tasks  # git compares trees without a limit, so the new tree must be listed within the limit first
    plans: dict[Place, TransactionPlan] = {}

    def paths(record: TransactionRecord) -> int:
        # If the rules are the same, git can count the paths; the index need not be read.
        if record.rules == source.rules.digest:
            number = differing_paths(source.mirror, record.commit, source.commit)
            if number is not None:
                return number
        plans[record.timeline, record.number] = plan_over(store, head, source, record)
        return plans[record.timeline, record.number].paths

    def rank(record: TransactionRecord) -> tuple[int, bool, bool, int]:
        place = (record.timeline, record.number)
        return paths(record), place != current, record.timeline != head.defaults.get(repo), -record.number

    best = min(candidates, key=rank, default=None)
    if best is None:
        return None
    return Base(best, plans.get((best.timeline, best.number)) or plan_over(store, head, source, best))


def plan_over(store: RowReader, head: Head, source: FileSource, record: TransactionRecord) -> TransactionPlan:
    """Compare a version with a published state, path by path, by blob, rules and presence."""
    live = store.files(snapshot_at(head, record.timeline, record.number))
    return make_plan(source.tasks, live, source.forced)


def _candidates(store: DocumentStore, head: Head, source: FileSource, repo: str) -> Iterator[TransactionRecord]:
    """Yield the newest and the oldest state of each full timeline, and the state nearest in the commit's history."""
    by_commit: dict[str, TransactionRecord] = {}
    for timeline in _full_timelines(store, head, source, repo):
        records = published_transactions(store, head, timeline)
        if records:
            yield records[-1]
            yield records[0]
        by_commit = {record.commit: record for record in records} | by_commit
    found = nearest(source.mirror, source.commit, by_commit) if by_commit else None
    if found:
        yield by_commit[found]


def _full_timelines(store: DocumentStore, head: Head, source: FileSource, repo: str) -> Sequence[int]:
    """Return the timelines that may be a base, default first, without working trees and timelines to be purged."""
    going = noted_purges(store)

    def may_be(key: int) -> bool:
        state = head.timelines[key]
        if not state.published or state.gone or state.former or is_overlay(head, key):
            return False
        if state.ref.startswith(WORKSPACES):
            return False
        is_former = not state.ref and key != head.defaults.get(repo)
        return not (is_former and key in going) and not (source.key and state.ref == source.key)

    found = filter(may_be, head.of_repo(repo))
    ranked = sorted(found, key=lambda key: (key != head.defaults.get(repo), -head.timelines[key].published))
    return ranked[:MOST_TIMELINES]
