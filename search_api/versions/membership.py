"""Which versions have which files: computed in memory from the lives of the files' records, not asked per version."""

from collections.abc import Collection, Mapping, Sequence

from codequarry.search_api.versions.views import View
from codequarry.shared.filters import path_matches
from codequarry.shared.model import INDEXED, FileRecord
from codequarry.shared.store.port import RowReader
from codequarry.shared.store.records import StoredFile
from codequarry.shared.versions.head import Place

Lives = Mapping[tuple[str, int], Sequence[StoredFile]]
"""The records of each path in each timeline, oldest first."""


def records_by_version(
    store: RowReader, views: Sequence[View], hidden: frozenset[int], paths: Collection[str]
) -> dict[str, list[FileRecord | None]]:
    """Return, for each path, the record that each of ``views`` has of it; None if the file or the view lacks it.

    The views must be of one repository.
    """
    timelines = {view.timeline for view in views} | {view.base[0] for view in views if view.base}
    lives: dict[tuple[str, int], list[StoredFile]] = {}
    for life in store.file_lives(timelines, paths):
        lives.setdefault((life.record.path, life.record.timeline), []).append(life)
    return {path: _of_path(lives, views, hidden, path) for path in paths}


def versions_by_blob(records: Sequence[FileRecord | None]) -> dict[str, list[int]]:
    """Return the positions of the versions that have each blob of a file; skipped files have no text in the index."""
    found: dict[str, list[int]] = {}
    for position, record in enumerate(records):
        if record is not None and record.verdict == INDEXED:
            found.setdefault(record.blob, []).append(position)
    return found


def _of_path(lives: Lives, views: Sequence[View], hidden: frozenset[int], path: str) -> list[FileRecord | None]:
    known: dict[Place, FileRecord | None] = {}  # many versions lie on the same state of one timeline
    changed = {timeline for timeline in {view.timeline for view in views} if (path, timeline) in lives}

    def live(place: Place) -> FileRecord | None:
        if place not in known:
            known[place] = _live_at(lives.get((path, place[0]), ()), place[1], hidden)
        return known[place]

    found: list[FileRecord | None] = []
    for view in views:
        record = live((view.timeline, view.number)) if view.timeline in changed else None
        if record is None and view.base and path not in view.mask:
            record = live(view.base)
        if record and view.allowed and not any(path_matches(globs, path) for globs in view.allowed):
            record = None
        found.append(record)
    return found


def _live_at(lives: Sequence[StoredFile], number: int, hidden: frozenset[int]) -> FileRecord | None:
    """Return the record that is live after a transaction, by the definition in ``snapshots.is_live``."""
    for life in lives:
        born = life.record.born
        if born <= number and born not in hidden and (life.died > number or life.died in hidden):
            return life.record
    return None
