"""Field filters and path globs as a mask over the rows."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import apsw
import numpy as np

from codequarry.shared.model import Filters, PathGlobs
from codequarry.shared.store.embedded.batch import FIELD, field_key
from codequarry.shared.store.embedded.columns import Bools, Columns
from codequarry.shared.store.embedded.postings import PostingReader
from codequarry.shared.store.embedded.sql import LISTED, as_json, fetch, fetch_first
from codequarry.shared.store.filters import accepted_values, path_matches

# Sets of globs whose paths are kept: an API answers page after page of the same few.
_KEPT_GLOBS = 32


class PathNames:
    """Every path by its id, and which of them fit the globs asked for last; paths are only ever added."""

    def __init__(self) -> None:
        self._names: list[str | None] = [None]
        self._fitting: OrderedDict[PathGlobs, Bools] = OrderedDict()
        self._lock = Lock()

    def fitting(self, connection: apsw.Connection, globs: PathGlobs, largest: int) -> Bools:
        """Return by path id, up to ``largest`` or further, which paths fit; one that was purged fits nothing."""
        with self._lock:
            self._refresh(connection)
            self._names.extend([None] * (largest + 1 - len(self._names)))
            known = self._fitting.get(globs, np.zeros(0, np.bool_))
            fresh = [name is not None and path_matches(globs, name) for name in self._names[len(known) :]]
            fitting = np.concatenate([known, np.array(fresh, np.bool_)]) if fresh else known
            self._fitting[globs] = fitting
            self._fitting.move_to_end(globs)
            if len(self._fitting) > _KEPT_GLOBS:
                self._fitting.popitem(last=False)
            return fitting

    def _refresh(self, connection: apsw.Connection) -> None:
        query = "SELECT id, path FROM path WHERE id >= ? ORDER BY id"
        for key, name in fetch(connection, query, (len(self._names),)):
            # A path that was purged leaves its id unused.
            self._names.extend([None] * (key - len(self._names)))
            self._names.append(name)


class Selector:
    """Turns filters into masks."""

    def __init__(self, postings: PostingReader) -> None:
        self._postings = postings
        self._paths = PathNames()

    def mask(self, connection: apsw.Connection, columns: Columns, filters: Filters, live: Bools) -> Bools:
        """Return which of the ``live`` rows fit ``filters``, all of which exist."""
        fitting = live
        for name, values in filters.terms:
            fitting = fitting & self._having(connection, len(live), name, values)
        for name, values in filters.excluded:
            fitting = fitting & ~self._having(connection, len(live), name, values)
        if filters.paths.include or filters.paths.exclude:
            fitting = fitting & self._paths.fitting(connection, filters.paths, int(columns.path.max()))[columns.path]
        return fitting

    def _having(self, connection: apsw.Connection, size: int, name: str, values: Sequence[str]) -> Bools:
        having = np.zeros(size, np.bool_)
        if name == "id":
            rows = fetch_first(connection, f"SELECT row FROM chunk WHERE id IN {LISTED}", (as_json(values),))
            having[np.array(rows, np.int64)] = True
            return having
        keys = [field_key(name, value) for value in accepted_values(name, values)]
        for posting in self._postings.read(connection, FIELD, keys).values():
            having[posting.rows] = True
        return having
