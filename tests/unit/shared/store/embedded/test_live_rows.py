"""The array mask and the SQL clause for live rows, compared with the definition."""

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import apsw
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from codequarry.shared.model import Layer, LayerState, Snapshot
from codequarry.shared.store.embedded.columns import RECORD, ColumnCache, log_added
from codequarry.shared.store.embedded.live_rows import LiveRows, ViewCache, live_clauses, live_mask
from codequarry.shared.store.embedded.path_names import PathNames
from codequarry.shared.store.embedded.schema import create_tables
from codequarry.shared.versions.snapshots import OPEN, is_live

NUMBERS = st.integers(0, 12)
ROWS = st.lists(st.tuples(st.integers(1, 4), NUMBERS, NUMBERS | st.just(OPEN), st.integers(1, 5)), max_size=30)
MASKS = st.frozensets(st.sampled_from(["p1", "p2", "p3", "other"]), max_size=4)
LAYERS = st.builds(
    Layer,
    st.lists(st.integers(1, 6), unique=True, max_size=4).map(tuple),
    NUMBERS,
    st.frozensets(st.integers(0, 14) | st.integers(0, 2**31 - 2), max_size=5),
    MASKS,
    others=st.just(()) | st.lists(st.builds(LayerState, NUMBERS, MASKS), max_size=5).map(tuple),
)


@settings(deadline=None)
@given(ROWS, LAYERS)
def test_the_mask_and_the_clause_match_the_definition(rows, layer):
    expected = [is_live(layer, timeline, born, died, f"p{path}") for timeline, born, died, path in rows]
    connection = apsw.Connection(":memory:")
    create_tables(connection, 4)
    for path in range(1, 6):
        connection.execute("INSERT INTO path VALUES (?, ?)", (path, f"p{path}"))
    records = np.zeros(len(rows), RECORD)
    for place, (timeline, born, died, path) in enumerate(rows):
        records[place] = (place + 1, timeline, born, died, path, 0, True, False, place, (0,) * 5)
        values = (place + 1, str(place), 0, timeline, born, died, path, 0)
        connection.execute("INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
    log_added(connection, records)
    names = [None, *(f"p{number}" for number in range(1, 6))]
    masked = [number for number, name in enumerate(names) if name in layer.states[-1].mask]
    live = live_mask(ColumnCache().refreshed(connection), layer, masked, names)
    assert live[1:].tolist() == expected
    found = set()
    for clause, values in live_clauses(Snapshot((layer,))):
        query = f"SELECT row FROM chunk JOIN path ON path.id = chunk.path WHERE {clause}"
        found.update(row for (row,) in connection.execute(query, values))
    assert sorted(found) == [n + 1 for n, is_in in enumerate(expected) if is_in]
    connection.close()


def test_old_rows_are_freed_when_they_change():
    """Each view holds all rows, so old views would fill the memory of a reader during many writes."""
    connection = apsw.Connection(":memory:")
    create_tables(connection, 4)
    columns, views = ColumnCache(), ViewCache(PathNames())
    snapshots = [Snapshot((Layer((1,), at, frozenset(), frozenset()),)) for at in (1, 2)]
    seen = []
    for place in range(1, 4):
        log_added(connection, np.array([(place, 1, 1, OPEN, 1, 0, True, False, place, (0,) * 5)], RECORD))
        now = columns.refreshed(connection)
        found = [views.view(connection, now, snapshot) for snapshot in snapshots]
        again = [views.view(connection, now, snapshot) for snapshot in snapshots]
        assert all(new is old for new, old in zip(again, found, strict=True)), "unchanged views must be reused"
        seen.append(weakref.ref(now.timeline))
    del found, again, now
    gc.collect()
    assert [reference() is None for reference in seen] == [True, True, False]


def test_a_reader_keeps_its_view_across_a_change():
    connection = apsw.Connection(":memory:")
    create_tables(connection, 4)
    columns, views = ColumnCache(), ViewCache(PathNames())
    snapshot = Snapshot((Layer((1,), 1, frozenset(), frozenset()),))
    before = columns.refreshed(connection)
    log_added(connection, np.array([(1, 1, 1, OPEN, 1, 0, True, False, 1, (0,) * 5)], RECORD))
    after = columns.refreshed(connection)
    newer = views.view(connection, after, snapshot)
    assert views.view(connection, before, snapshot).live_chunks == 0
    assert views.view(connection, after, snapshot) is newer and newer.live_chunks == 1


def test_a_view_wanted_by_many_threads_is_built_once():
    connection = apsw.Connection(":memory:")
    create_tables(connection, 4)
    views, snapshot = ViewCache(PathNames()), Snapshot((Layer((1,), 1, frozenset(), frozenset()),))
    rows = [(place, 1, 1, OPEN, 1, 0, True, False, place, (3,) * 5) for place in range(1, 40_000)]
    log_added(connection, np.array(rows, RECORD))
    now, together = ColumnCache().refreshed(connection), threading.Barrier(8)

    def ask(_: int) -> LiveRows:
        together.wait()
        return views.view(connection, now, snapshot)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert all(view is found[0] for view in found)
    assert found[0].live_chunks == 39_999 and set(found[0].average_lengths.values()) == {3.0}
