"""What is live in a snapshot: a mask over the arrays for rows, SQL for file records and single files."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock

import apsw
import numpy as np
from numpy.typing import NDArray

from codequarry.shared.filters import RECALL_WEIGHTS
from codequarry.shared.model import TOKEN_FIELDS, Layer, LayerState, Snapshot
from codequarry.shared.store.embedded.columns import EMPTY, Bools, Columns, Ints
from codequarry.shared.store.embedded.path_names import PathNames, globs_as_json
from codequarry.shared.store.embedded.sql import LISTED, as_json, fetch_first
from codequarry.shared.versions.snapshots import OPEN

# Snapshots whose masks are cached: the head and the few versions in use at any one time.
_KEPT_VIEWS = 8
# Rows whose lengths are summed at once: few enough that the memory used (1 MB) fits in the CPU cache.
_ROWS_AT_ONCE = 16_384
_WEIGHTS = np.array([RECALL_WEIGHTS[name] for name in TOKEN_FIELDS], np.int32)

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class LiveRows:
    """The rows as a snapshot sees them; ``weighted`` numbers count tokens by their recall weight."""

    columns: Columns
    live: Bools
    live_chunks: int
    average_lengths: Mapping[str, float]
    weighted_lengths: Floats
    weighted_average: float


class ViewCache:
    """Caches the views of recent snapshots until a row changes."""

    def __init__(self, paths: PathNames) -> None:
        self._paths = paths
        self._kept: OrderedDict[tuple[int, Snapshot], LiveRows] = OrderedDict()
        self._weighted = (EMPTY.lengths, _weighted(EMPTY.lengths))
        self._lock = Lock()
        self._making = Lock()

    def view(self, connection: apsw.Connection, columns: Columns, snapshot: Snapshot) -> LiveRows:
        """Return the view of ``snapshot``."""
        key = (columns.seq, snapshot)
        if found := self._known(key):
            return found
        # One at a time: after a change, all searches want the same view, and building it takes memory.
        with self._making:
            return self._known(key) or self._made(connection, columns, key)

    def _known(self, key: tuple[int, Snapshot]) -> LiveRows | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _made(self, connection: apsw.Connection, columns: Columns, key: tuple[int, Snapshot]) -> LiveRows:
        live = self._live(connection, columns, key[1])
        view = _view(columns, live, self._weighted_lengths(columns))
        with self._lock:
            # Views from before a change are not requested again, and each one holds all rows.
            for old in [kept for kept in self._kept if kept[0] < columns.seq]:
                del self._kept[old]
            if all(seq == columns.seq for seq, _ in self._kept):
                self._kept[key] = view
            if len(self._kept) > _KEPT_VIEWS:
                self._kept.popitem(last=False)
        return view

    def _live(self, connection: apsw.Connection, columns: Columns, snapshot: Snapshot) -> Bools:
        live = np.zeros(len(columns.timeline), np.bool_)
        for layer in snapshot.layers:
            names = self._paths.names(connection, int(columns.path.max(initial=0))) if layer.others else ()
            rows = live_mask(columns, layer, _path_ids(connection, layer), names)
            if layer.allowed:
                rows &= self._allowed(connection, columns, layer)
            live |= rows
        return live

    def _allowed(self, connection: apsw.Connection, columns: Columns, layer: Layer) -> Bools:
        largest = int(columns.path.max(initial=0))
        fitting = [self._paths.fitting(connection, globs, largest) for globs in layer.allowed]
        shortest = min(map(len, fitting))
        allowed: Bools = np.logical_or.reduce([paths[:shortest] for paths in fitting])
        return allowed[columns.path]

    def _weighted_lengths(self, columns: Columns) -> Floats:
        """Return the weighted lengths, recomputed only if rows were added."""
        lengths, weighted = self._weighted
        if lengths is not columns.lengths:
            weighted = _weighted(columns.lengths)
            self._weighted = (columns.lengths, weighted)
        return weighted


def _weighted(lengths: Ints) -> Floats:
    # In integers: BLAS reads beyond such short rows, and warns if it finds NaN there.
    return (lengths @ _WEIGHTS).astype(np.float32)


def _view(columns: Columns, live: Bools, weighted: Floats) -> LiveRows:
    first = live & columns.first
    chunks = int(np.count_nonzero(first))
    averages = _sums(columns.lengths, first) / max(chunks, 1)
    by_field = dict(zip(TOKEN_FIELDS, averages.tolist(), strict=True))
    return LiveRows(columns, live, chunks, by_field, weighted, float(averages @ _WEIGHTS) or 1.0)


def _sums(lengths: Ints, rows: Bools) -> NDArray[np.float64]:
    """Sum the marked rows of ``lengths`` by an exact float64 product, which is five times as fast as picking them."""
    sums = np.zeros(lengths.shape[1])
    for at in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(at, at + _ROWS_AT_ONCE)
        sums += rows[part].astype(np.float64) @ lengths[part].astype(np.float64)
    return sums


def _path_ids(connection: apsw.Connection, layer: Layer) -> list[int]:
    """Return the ids of the paths in the mask of a layer's last state."""
    masked = layer.states[-1].mask
    if not masked:
        return []
    return fetch_first(connection, f"SELECT id FROM path WHERE path IN {LISTED}", (as_json(masked),))


def live_mask(columns: Columns, layer: Layer, masked_paths: list[int], names: Sequence[str | None] = ()) -> Bools:
    """Return which rows are live in ``layer``, ignoring allowed paths: ``snapshots.is_live`` over whole arrays.

    ``masked_paths`` are the paths in the mask of the last state; if there are others, ``names`` has the names of all.
    """
    hidden = np.array(sorted(layer.hidden), np.int32)
    live: Bools = _looked_up(layer.timelines, columns.timeline)
    live &= ~np.isin(columns.born, hidden)
    if layer.others:
        rows = np.flatnonzero(live)
        died = columns.died[rows].copy()
        died[np.isin(died, hidden)] = OPEN
        live[rows] = _live_in_any(layer, columns.born[rows], died, columns.path[rows], masked_paths, names)
        return live
    live &= columns.born <= layer.at
    live &= (columns.died > layer.at) | np.isin(columns.died, hidden)
    if masked_paths:
        live &= ~_looked_up(masked_paths, columns.path)
    return live


def _live_in_any(
    layer: Layer, born: Ints, died: Ints, paths: Ints, masked_paths: list[int], names: Sequence[str | None]
) -> Bools:
    """Return which rows are live in any state of a layer; most rows are decided by the last state in which they live.

    Only the mask of the newest state applies to many rows. Few rows ended before it, so their paths are looked up.
    """
    states = layer.states
    numbers = np.array([state.at for state in states], np.int64)
    # The last state in which each row is not dead yet. A row that is masked there may be seen in an earlier state.
    last = np.searchsorted(numbers, died, side="left") - 1
    pending = np.flatnonzero((last >= 0) & (numbers[last] >= born))
    live = np.zeros(len(born), np.bool_)
    live[pending] = True
    newest = last[pending] == len(states) - 1
    hides = newest & np.isin(paths[pending], masked_paths)
    hides[~newest] = _masked(states, last[pending[~newest]], paths[pending[~newest]], names)
    while hides.any():
        pending = pending[hides]
        live[pending] = False
        last[pending] -= 1
        pending = pending[(last[pending] >= 0) & (numbers[last[pending]] >= born[pending])]
        live[pending] = True
        hides = _masked(states, last[pending], paths[pending], names)
    return live


def _masked(states: Sequence[LayerState], places: NDArray[np.intp], paths: Ints, names: Sequence[str | None]) -> Bools:
    """Return which of the paths are masked, each in the state at a place."""
    width = len(names) + 1
    pairs, inverse = np.unique(places.astype(np.int64) * width + paths, return_inverse=True)
    hidden = [names[pair % width] in states[pair // width].mask for pair in pairs.tolist()]
    masked: Bools = np.array(hidden, np.bool_)[inverse]
    return masked


def _looked_up(wanted: tuple[int, ...] | list[int], values: NDArray[np.int32]) -> Bools:
    """Return which ``values`` are in ``wanted``, using a lookup table: one step per value, however many are wanted."""
    table = np.zeros(int(values.max(initial=0)) + 1, np.bool_)
    places = np.array(wanted, np.int64)
    table[places[(places > 0) & (places < len(table))]] = True
    return table[values]


def live_clauses(snapshot: Snapshot) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Yield conditions, any of which a live row meets, as SQL over ``timeline, born, died`` and ``path.path``."""
    for layer in snapshot.layers:
        for state in layer.states:
            yield live_clause(replace(layer, at=state.at, mask=state.mask, others=()))


def live_clause(layer: Layer) -> tuple[str, tuple[object, ...]]:
    """Return ``is_live`` with allowed paths as SQL, with bindings, for a layer with one state."""
    hidden = as_json(layer.hidden)
    clause = (
        f"timeline IN {LISTED} AND born <= ? AND born NOT IN {LISTED}"
        f" AND (died > ? OR died IN {LISTED}) AND path.path NOT IN {LISTED}"
    )
    values = (as_json(layer.timelines), layer.at, hidden, layer.at, hidden, as_json(layer.mask))
    if not layer.allowed:
        return clause, values
    return f"{clause} AND path_allowed(?, path.path)", (*values, globs_as_json(layer.allowed))
