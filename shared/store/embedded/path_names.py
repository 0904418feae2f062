"""The text of every path by its id, and which paths fit a set of globs."""

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


def globs_as_json(allowed: Sequence[PathGlobs]) -> str:
    """Return what ``path_allowed`` takes, in SQL, as its first argument."""
    return json.dumps([astuple(globs) for globs in allowed])


@lru_cache(maxsize=_KEPT_GLOBS)
def _globs_of(text: str) -> tuple[PathGlobs, ...]:
    return tuple(PathGlobs(tuple(include), tuple(exclude)) for include, exclude in json.loads(text))


def path_allowed(*values: object) -> bool:
    """Tell whether a path fits any of the globs that ``globs_as_json`` wrote: a function of SQL of these two texts."""
    allowed, path = map(str, values)
    return any(path_matches(globs, path) for globs in _globs_of(allowed))
