"""Both forms of the rule of what is live, against its one definition."""

import apsw
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from codequarry.shared.model import Layer
from codequarry.shared.store.embedded.columns import RECORD, ColumnCache, log_added
from codequarry.shared.store.embedded.live import live_clause, live_mask
from codequarry.shared.store.embedded.schema import prepare
from codequarry.shared.versions.snapshots import OPEN, is_live

NUMBERS = st.integers(0, 12)
ROWS = st.lists(st.tuples(st.integers(1, 4), NUMBERS, NUMBERS | st.just(OPEN), st.integers(1, 5)), max_size=30)
LAYERS = st.builds(
    Layer,
    st.lists(st.integers(1, 6), unique=True, max_size=4).map(tuple),
    NUMBERS,
    st.frozensets(st.integers(0, 14) | st.integers(0, 2**31 - 2), max_size=5),
    st.frozensets(st.sampled_from(["p1", "p2", "p3", "other"]), max_size=4),
)


@settings(deadline=None)
@given(ROWS, LAYERS)
def test_the_mask_and_the_clause_are_the_definition(rows, layer):
    expected = [is_live(layer, timeline, born, died, f"p{path}") for timeline, born, died, path in rows]
    connection = apsw.Connection(":memory:")
    prepare(connection, 4)
    for path in range(1, 6):
        connection.execute("INSERT INTO path VALUES (?, ?)", (path, f"p{path}"))
    records = np.zeros(len(rows), RECORD)
    for place, (timeline, born, died, path) in enumerate(rows):
        records[place] = (place + 1, timeline, born, died, path, 0, True, False, place, (0,) * 5)
        values = (place + 1, str(place), 0, timeline, born, died, path, 0)
        connection.execute("INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
    log_added(connection, records)
    masked = [number for number in range(1, 6) if f"p{number}" in layer.mask]
    live = live_mask(ColumnCache().refreshed(connection), layer, masked)
    assert live[1:].tolist() == expected
    clause, values = live_clause(layer)
    query = f"SELECT row FROM chunk JOIN path ON path.id = chunk.path WHERE {clause} ORDER BY row"
    assert [row for (row,) in connection.execute(query, values)] == [n + 1 for n, is_in in enumerate(expected) if is_in]
    connection.close()
