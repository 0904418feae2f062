"""SQLite goes by the index that fits: none of these may read a whole timeline because a few paths are asked for."""

import pytest

from codequarry.shared.model import Layer
from codequarry.shared.store.embedded import lifetimes, reading
from codequarry.shared.store.embedded.live import live_clause

CLAUSE, _ = live_clause(Layer((1,), 1))
PATHS = "SELECT id FROM path WHERE path IN (SELECT value FROM json_each(?))"
PLANS = {
    f"UPDATE chunk SET died = ? WHERE {lifetimes._RETIRABLE}": "chunk_path (path=? AND timeline=? AND born<?)",
    f"SELECT count(*) FROM file WHERE {lifetimes._RETIRABLE}": "file_1 (timeline=? AND path=? AND born<?)",
    f"{reading._FILES} WHERE {CLAUSE} AND file.path IN ({PATHS})": "file_1 (timeline=? AND path=? AND born<?)",
    f"{reading._BODIES} AND {CLAUSE}": "chunk_path (path=? AND timeline=? AND born<?)",
    "SELECT count(*) FROM chunk WHERE timeline = ? AND born = ?": "chunk_born (timeline=? AND born=?)",
    "DELETE FROM file WHERE timeline = ? AND born = ?": "file_born (timeline=? AND born=?)",
    f"UPDATE chunk SET died = 1 WHERE {lifetimes._RETIRED}": "chunk_died (timeline=? AND died=?)",
    f"UPDATE file SET died = 1 WHERE {lifetimes._RETIRED}": "file_died (timeline=? AND died=?)",
}


@pytest.mark.parametrize(("statement", "index"), PLANS.items(), ids=[statement[:30] for statement in PLANS])
def test_the_index_is_used(connection, statement, index):
    plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", ["[]"] * statement.count("?"))
    assert any(index in line[3] for line in plan)
