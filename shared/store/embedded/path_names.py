"""The text of every path by id, and which paths match a set of globs."""

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import astuple
from functools import lru_cache
from threading import Lock

import apsw
import numpy as np

from codequarry.shared.filters import path_matches
from codequarry.shared.model import PathGlobs
from codequarry.shared.store.embedded.columns import Bools
from codequarry.shared.store.embedded.sql import fetch

# Sets of globs whose paths are cached: clients request page after page with the same few sets.
_KEPT_GLOBS = 32


class PathNames:
    """Every path by id, and which paths match recent globs; paths are only ever added."""

    def __init__(self) -> None:
        self._names: list[str | None] = [None]
        self._fitting: OrderedDict[PathGlobs, Bools] = OrderedDict()
        self._lock = Lock()

    def fitting(self, connection: apsw.Connection, globs: PathGlobs, largest: int) -> Bools:
        """Return which paths match, by id up to ``largest`` or further; a purged path matches nothing."""
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

    def names(self, connection: apsw.Connection, largest: int) -> Sequence[str | None]:
        """Return the paths by id, up to ``largest`` or further; a purged path is None. Callers must not change it."""
        with self._lock:
            self._refresh(connection)
            self._names.extend([None] * (largest + 1 - len(self._names)))
            return self._names

    def _refresh(self, connection: apsw.Connection) -> None:
        query = "SELECT id, path FROM path WHERE id >= ? ORDER BY id"
        for key, name in fetch(connection, query, (len(self._names),)):
            # A purged path leaves its id unused.
            self._names.extend([None] * (key - len(self._names)))
            self._names.append(name)


def globs_as_json(allowed: Sequence[PathGlobs]) -> str:
    """Return the first argument of the SQL function ``path_allowed``."""
    return json.dumps([astuple(globs) for globs in allowed])


@lru_cache(maxsize=_KEPT_GLOBS)
def _globs_of(text: str) -> tuple[PathGlobs, ...]:
    return tuple(PathGlobs(tuple(include), tuple(exclude)) for include, exclude in json.loads(text))


def path_allowed(*values: object) -> bool:
    """Return whether a path matches any globs from ``globs_as_json``; an SQL function of the globs and the path."""
    allowed, path = map(str, values)
    return any(path_matches(globs, path) for globs in _globs_of(allowed))
