"""Rows as an engine keeps them: by id, searchable only after a refresh, changed by queries one row at a time."""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from codequarry.shared.model import Snapshot
from codequarry.shared.versions.snapshots import OPEN, is_live
from tests.property.simulator.rules import Rule

# Each file version has one chunk row, followed by its file record.
CHUNK, RECORD = 0, 1


class Row(NamedTuple):
    """A chunk row or a file record."""

    timeline: int
    born: int
    died: int
    path: str
    part: int
    blob: int


class Rows:
    """All rows of an index. Operations that take an engine several writes yield between them to let others act."""

    def __init__(self, left_out: Collection[Rule]) -> None:
        self._left_out = left_out
        self._stored: dict[tuple[object, ...], Row] = {}
        self._searchable: dict[tuple[object, ...], Row] = {}
        self._unseen: set[tuple[object, ...]] = set()

    def _id(self, row: Row) -> tuple[object, ...]:
        life = (0, 0) if Rule.OWN_IDS in self._left_out else (row.timeline, row.born)
        return *life, row.path, row.part, row.blob

    def create(self, row: Row) -> None:
        key = self._id(row)
        if key not in self._stored or Rule.CREATE_ONLY in self._left_out:
            self._put(key, row)

    def _put(self, key: tuple[object, ...], row: Row | None) -> None:
        self._unseen.add(key)
        if row is None:
            self._stored.pop(key, None)
        else:
            self._stored[key] = row

    def refresh(self) -> None:
        for key in self._unseen:
            if key in self._stored:
                self._searchable[key] = self._stored[key]
            else:
                self._searchable.pop(key, None)
        self._unseen.clear()

    def _change(self, fits: Callable[[Row], bool], change: Callable[[Row], Row | None]) -> Iterator[None]:
        """Change matching rows: found among the searchable rows, and checked again when each row is written."""
        while True:
            self.refresh()
            found = [key for key, row in self._searchable.items() if fits(row)]
            if not found:
                return
            for key in found:
                yield
                row = self._stored.get(key)
                if row is not None and fits(row):
                    self._put(key, change(row))

    def retire(self, timeline: int, number: int, paths: Collection[str], aborted: Collection[int]) -> Iterator[None]:
        def fits(row: Row) -> bool:
            return row.timeline == timeline and row.path in paths and self._retirable(row, number, aborted)

        yield from self._change(fits, lambda row: row._replace(died=number))

    def _retirable(self, row: Row, number: int, aborted: Collection[int]) -> bool:
        if row.died == number or (row.born >= number and Rule.RETIRE_OLDER_ONLY not in self._left_out):
            return False
        if row.died == OPEN or Rule.RETIRE_LIVING_ONLY in self._left_out:
            return True
        return row.died in aborted and Rule.RETIRE_AGAIN_AFTER_ABORT not in self._left_out

    def undo(self, timeline: int, number: int) -> Iterator[None]:
        yield from self._change(lambda row: (row.timeline, row.born) == (timeline, number), lambda _: None)
        if Rule.UNDO_REVIVES not in self._left_out:
            yield from self._change(
                lambda row: (row.timeline, row.died) == (timeline, number), lambda row: row._replace(died=OPEN)
            )

    def collect(self, timeline: int, after: int, until: int, aborted: Collection[int]) -> Iterator[None]:
        def fits(row: Row) -> bool:
            spared = row.died in aborted and Rule.ABORTED_IS_SPARED not in self._left_out
            return row.timeline == timeline and row.born > after and row.died <= until and not spared

        yield from self._change(fits, lambda _: None)

    def purge(self, timeline: int) -> Iterator[None]:
        yield from self._change(lambda row: row.timeline == timeline, lambda _: None)

    def written(self, timeline: int, number: int) -> list[Row]:
        """Return the searchable rows that a transaction wrote."""
        return [row for row in self._searchable.values() if (row.timeline, row.born) == (timeline, number)]

    def retirable(self, timeline: int, number: int, paths: Collection[str], aborted: Collection[int]) -> int:
        """Count the older live rows of ``paths``, regardless of which rules of retiring are left out."""
        return sum(
            row.timeline == timeline
            and row.path in paths
            and row.born < number
            and (row.died == OPEN or row.died in aborted)
            for row in self._searchable.values()
        )

    def live(self, snapshot: Snapshot, paths: Collection[str]) -> list[Row]:
        """Return the rows of these paths that readers of a snapshot see."""
        return [row for row in self._searchable.values() if row.path in paths and self._in(snapshot, row)]

    def _in(self, snapshot: Snapshot, row: Row) -> bool:
        for layer in snapshot.layers:
            if row.died in layer.hidden and Rule.HIDDEN_RETIRES_NOTHING in self._left_out and row.died <= layer.at:
                continue
            if is_live(layer, row.timeline, row.born, row.died, row.path):
                return True
        return False
