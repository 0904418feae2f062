"""SQLite uses the right index: a query for a few paths must not read a whole timeline."""

import pytest

from codequarry.shared.model import Layer
from codequarry.shared.store.embedded import deletion, inventory, lifetimes, reader
from codequarry.shared.store.embedded.live_rows import live_clause

CLAUSE, _ = live_clause(Layer((1,), 1))
PATHS = "SELECT id FROM path WHERE path IN (SELECT value FROM json_each(?))"
PLANS = {
    f"UPDATE chunk SET died = ? WHERE {lifetimes._RETIRABLE}": "chunk_path (path=? AND timeline=? AND born<?)",
    f"SELECT count(*) FROM file WHERE {lifetimes._RETIRABLE}": "file_1 (timeline=? AND path=? AND born<?)",
    f"{reader._FILES} WHERE {CLAUSE} AND file.path IN ({PATHS})": "file_1 (timeline=? AND path=? AND born<?)",
    reader._LIVES: "file_path (path=?)",
    f"{reader._BODIES} AND {CLAUSE}": "chunk_path (path=? AND timeline=? AND born<?)",
    "SELECT count(*) FROM chunk WHERE timeline = ? AND born = ?": "chunk_born (timeline=? AND born=?)",
    "DELETE FROM file WHERE timeline = ? AND born = ?": "file_born (timeline=? AND born=?)",
    f"UPDATE chunk SET died = 1 WHERE {lifetimes._RETIRED}": "chunk_died (timeline=? AND died=?)",
    f"UPDATE file SET died = 1 WHERE {lifetimes._RETIRED}": "file_died (timeline=? AND died=?)",
    f"SELECT row FROM chunk WHERE {deletion._COLLECTABLE} LIMIT ?": "chunk_died (timeline=? AND died<?)",
    f"SELECT row FROM file WHERE {deletion._COLLECTABLE} LIMIT ?": "file_died (timeline=? AND died<?)",
    reader._SYMBOL_LIVES: "chunk USING INTEGER PRIMARY KEY (rowid=?)",
    inventory._ROWS: "chunk_born (timeline=? AND born=? AND rowid>?)",
    inventory._RECORDS: "file_born (timeline=? AND born=? AND rowid>?)",
}


UNUSED = {
    deletion._UNUSED_PATHS: ("chunk_path (path=?)", "file_path (path=?)", "path USING INTEGER PRIMARY KEY (rowid=?)"),
    deletion._UNUSED_VECTORS: ("vector_slot (slot=?)", "chunk_slot (slot=?)"),
    "SELECT vector.key FROM chunk JOIN vector ON vector.slot = chunk.slot WHERE row = 1": ("vector_slot (slot=?)",),
}


@pytest.mark.parametrize(("statement", "indices"), UNUSED.items())
def test_collection_finds_unused_rows_through_indices(connection, statement, indices):
    plan = [line[3] for line in connection.execute(f"EXPLAIN QUERY PLAN {statement}", ["[]"] * statement.count("?"))]
    assert [index for index in indices if not any(index in line for line in plan)] == [], plan


@pytest.mark.parametrize(("statement", "index"), PLANS.items(), ids=[statement[:30] for statement in PLANS])
def test_each_statement_uses_its_index(connection, statement, index):
    values = ["[]"] * (4 if "?4" in statement else statement.count("?"))
    plan = [line[3] for line in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    assert any(index in line for line in plan), plan
    assert not any("TEMP B-TREE" in line for line in plan), plan
