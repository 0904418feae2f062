"""The placement of a version: its timeline, and the base of an overlay."""

from dataclasses import dataclass

from codequarry.ingest.git.ancestry import differing_paths, is_ancestor
from codequarry.ingest.source.source import FileSource
from codequarry.ingest.transaction.bases import Base, choose_base, is_overlay, plan_over
from codequarry.ingest.transaction.plan import make_plan
from codequarry.shared.catalog.ledger import read_transaction
from codequarry.shared.errors import Conflict
from codequarry.shared.settings.index import IndexingSettings
from codequarry.shared.store.port import Store
from codequarry.shared.versions.head import Head, Place
from codequarry.shared.versions.snapshots import snapshot_at
from codequarry.shared.versions.transactions import TransactionRecord

# A default branch that moved to another history is rebuilt on a new timeline if it differs in more than this share of
# its tree and in more than this many paths: retiring most rows of a timeline slows all of its readers.
REBUILD_SHARE = 0.5
REBUILD_PATHS = 300


@dataclass(frozen=True, slots=True)
class Placement:
    """The timeline to write to (None: a new timeline), an overlay's base, and the timeline that readers saw."""

    timeline: int | None
    base: Base | None
    current: int | None


def timelines_of(head: Head, repo: str, key: str) -> list[int]:
    """Return the timelines of a version; an empty key means the current and former default timelines."""
    states = {timeline: head.timelines[timeline] for timeline in head.of_repo(repo)}
    return [timeline for timeline, state in states.items() if state.version == key and not (state.former or state.gone)]


def current_timeline(head: Head, repo: str, key: str) -> int | None:
    """Return the timeline that readers of a version see, or None if it was never published."""
    if not key:
        return head.defaults.get(repo)
    published = [timeline for timeline in timelines_of(head, repo, key) if head.timelines[timeline].published]
    return max(published, key=lambda timeline: head.timelines[timeline].published, default=None)


class Placer:
    """Decides the placement of one version for a given state of the head document."""

    def __init__(self, store: Store, source: FileSource, repo: str, settings: IndexingSettings, *, full: bool) -> None:
        self._store, self._source, self._repo, self._full = store, source, repo, full
        self._settings = settings
        self._bases: dict[Place, Base] = {}

    def place(self, head: Head) -> Placement:
        """Decide the placement from a head document that was just read."""
        current = current_timeline(head, self._repo, self._source.key)
        draft = self._draft(head)
        if not self._source.key:
            anew = current is None or self._full or self._is_other_tree(head, current)
            return Placement(draft if anew else current, None, current)
        if current is not None and not self._full and not is_overlay(head, current):
            return Placement(current, None, current)
        base = choose_base(self._store, head, self._source, self._repo, self._base_of(head, current))
        if base is None or self._is_too_large(base):
            return Placement(draft, None, current)
        self._bases[base.place] = base
        timeline = current if current is not None and not self._full else draft
        return Placement(timeline, base, current)

    def fits_better_elsewhere(self, head: Head) -> bool:
        """Return whether the published overlay would be smaller over the newest state of the default branch.

        That is so after a merge. Staying on an old base keeps rows of the default branch that nobody else needs.
        """
        current = current_timeline(head, self._repo, self._source.key)
        default = head.defaults.get(self._repo)
        if current is None or default is None or current == default or not is_overlay(head, current):
            return False
        record = read_transaction(self._store, current, head.timelines[current].published)
        newest = read_transaction(self._store, default, head.timelines[default].published)
        if record is None or newest is None or record.base == (default, newest.number):
            return False
        if newest.rules != self._source.rules.digest or self._source.entries is not None:
            return False
        paths = differing_paths(self._source.mirror, newest.commit, self._source.commit)
        return paths is not None and paths < self._overlay_paths(head, record)

    def _overlay_paths(self, head: Head, record: TransactionRecord) -> int:
        own = self._store.files(snapshot_at(head, record.timeline, record.number))
        return len({file.path for file in own}.union(record.mask))

    def base_at(self, head: Head, place: Place) -> Base:
        """Return the base on which a transaction was begun; raise Conflict if it is no longer kept."""
        if place not in self._bases:
            record = read_transaction(self._store, *place)
            if record is None:
                raise Conflict(f"transaction {place[1]} of timeline {place[0]} is no longer kept")
            self._bases[place] = Base(record, plan_over(self._store, head, self._source, record))
        return self._bases[place]

    def accepts(self, head: Head, timeline: int) -> bool:
        """Return whether this version would now be placed on ``timeline``, which has an open transaction."""
        state = head.timelines.get(timeline)
        if state is None:
            return False
        wanted = self.place(head).timeline if not self._source.key or self._full else timeline
        is_draft = not state.published
        return wanted == timeline or (wanted is None and is_draft)

    def _draft(self, head: Head) -> int | None:
        mine = timelines_of(head, self._repo, self._source.key)
        return next((timeline for timeline in mine if not head.timelines[timeline].published), None)

    def _base_of(self, head: Head, timeline: int | None) -> Place | None:
        if timeline is None:
            return None
        record = read_transaction(self._store, timeline, head.timelines[timeline].published)
        return record.base if record else None

    def _is_too_large(self, base: Base) -> bool:
        most = min(self._settings.overlay_max_paths, self._settings.overlay_max_share * len(self._source.tasks))
        return base.paths > most

    def _is_other_tree(self, head: Head, timeline: int) -> bool:
        """Return whether the branch moved to a history that shares little with the published state."""
        state = head.timelines[timeline]
        if is_ancestor(self._source.mirror, state.commit, self._source.commit):
            return False
        plan = make_plan(self._source.tasks, self._store.files(snapshot_at(head, timeline, state.published)))
        return plan.paths > max(REBUILD_PATHS, REBUILD_SHARE * (len(self._source.tasks) + plan.removed))
