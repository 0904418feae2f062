"""Field filters and path globs as a mask over the rows."""

from collections.abc import Sequence

import apsw
import numpy as np

from codequarry.shared.model import Filters
from codequarry.shared.store.embedded.batch import FIELD, field_key
from codequarry.shared.store.embedded.columns import Bools, Columns
from codequarry.shared.store.embedded.path_names import PathNames
from codequarry.shared.store.embedded.postings import PostingReader
from codequarry.shared.store.embedded.sql import LISTED, as_json, fetch_first
from codequarry.shared.store.filters import accepted_values


class Selector:
    """Turns filters into masks."""

    def __init__(self, postings: PostingReader, paths: PathNames) -> None:
        self._postings = postings
        self._paths = paths

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
