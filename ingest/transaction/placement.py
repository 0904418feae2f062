"""Where a version goes: on which timeline, and over which base."""

from dataclasses import dataclass

from codequarry.ingest.git.ancestry import is_ancestor
from codequarry.ingest.source.source import FileSource
from codequarry.ingest.transaction.bases import Base, choose_base, is_overlay, plan_over
from codequarry.ingest.transaction.plan import make_plan
from codequarry.shared.catalog.ledger import read_transaction
from codequarry.shared.errors import Conflict
from codequarry.shared.settings.index import IndexingSettings
from codequarry.shared.store.port import Store
from codequarry.shared.versions.head import Head, Place
from codequarry.shared.versions.snapshots import snapshot_at

# A default branch that was moved to other history and differs in more than this share of its tree, and in more than
# so many paths, is built anew beside the old one: retiring most rows of a timeline makes all of its readers slower.
REBUILD_SHARE = 0.5
REBUILD_PATHS = 300


@dataclass(frozen=True, slots=True)
class Placement:
    """The timeline to write to, None for one that has to be made, and the base of an overlay.

    ``current`` is the timeline that readers of the version saw when this was decided.
    """

    timeline: int | None
    base: Base | None
    current: int | None


def timelines_of(head: Head, repo: str, key: str) -> list[int]:
    """Return the timelines of a version; with an empty key the default branch's and those that were that once."""
    return [one for one in head.of_repo(repo) if head.timelines[one].ref == key and not head.timelines[one].gone]


def current_timeline(head: Head, repo: str, key: str) -> int | None:
    """Return the timeline that readers of a version see, if it was ever published."""
    if not key:
        return head.defaults.get(repo)
    published = [one for one in timelines_of(head, repo, key) if head.timelines[one].published]
    return max(published, key=lambda one: head.timelines[one].published, default=None)


class Placer:
    """Decides where one version goes, again whenever the head document has changed under it."""

    def __init__(self, store: Store, source: FileSource, repo: str, settings: IndexingSettings, *, full: bool) -> None:
        self._store, self._source, self._repo, self._full = store, source, repo, full
        self._settings = settings
        self._bases: dict[Place, Base] = {}

    def place(self, head: Head) -> Placement:
        """Decide by a head document that was just read."""
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
        goes_on = current if current is not None and not self._full else draft
        return Placement(goes_on, base, current)

    def base_at(self, head: Head, place: Place) -> Base:
        """Return the base that a transaction was begun with."""
        if place not in self._bases:
            record = read_transaction(self._store, *place)
            if record is None:
                raise Conflict(f"transaction {place[1]} of timeline {place[0]} is no longer kept")
            self._bases[place] = Base(record, plan_over(self._store, head, self._source, record))
        return self._bases[place]

    def accepts(self, head: Head, timeline: int) -> bool:
        """Tell whether an open transaction on ``timeline`` writes where this version would go now."""
        state = head.timelines.get(timeline)
        if state is None:
            return False
        wanted = self.place(head).timeline if not self._source.key or self._full else timeline
        is_draft = not state.published
        return wanted == timeline or (wanted is None and is_draft)

    def _draft(self, head: Head) -> int | None:
        """Return a timeline that was made for this version and that nobody has seen yet."""
        mine = timelines_of(head, self._repo, self._source.key)
        return next((one for one in mine if not head.timelines[one].published), None)

    def _base_of(self, head: Head, timeline: int | None) -> Place | None:
        if timeline is None:
            return None
        record = read_transaction(self._store, timeline, head.timelines[timeline].published)
        return record.base if record else None

    def _is_too_large(self, base: Base) -> bool:
        most = min(self._settings.overlay_max_paths, self._settings.overlay_max_share * len(self._source.tasks))
        return base.paths > most

    def _is_other_tree(self, head: Head, timeline: int) -> bool:
        """Tell whether the branch was moved to history that has little in common with what is published."""
        state = head.timelines[timeline]
        if is_ancestor(self._source.mirror, state.commit, self._source.commit):
            return False
        plan = make_plan(self._source.tasks, self._store.files(snapshot_at(head, timeline, state.published)))
        return plan.paths > max(REBUILD_PATHS, REBUILD_SHARE * (len(self._source.tasks) + plan.removed))
