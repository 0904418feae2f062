"""Finds damaged vectors and replaces them."""

from collections.abc import Mapping

import apsw
import numpy as np

from codequarry.shared.arrays import Vector
from codequarry.shared.model import Chunk
from codequarry.shared.store.embedded.columns import Ints
from codequarry.shared.store.embedded.payload import decode
from codequarry.shared.store.embedded.schema import read_meta
from codequarry.shared.store.embedded.sql import LISTED, as_json, fetch, fetch_first
from codequarry.shared.store.embedded.vectors import VectorFile
from codequarry.shared.store.vectors import usable_rows

# Vectors checked at a time.
_PAGE = 8_192
# One row is enough to embed a text again, however many branches share the text.
_CHUNKS = (
    "SELECT vector.key, payload.body FROM vector"
    " JOIN payload ON payload.row = (SELECT min(row) FROM chunk WHERE chunk.slot = vector.slot)"
    f" WHERE vector.slot IN {LISTED}"
)
_UNUSED = f"DELETE FROM vector WHERE slot IN {LISTED} AND slot NOT IN (SELECT slot FROM chunk)"


def damaged_slots(connection: apsw.Connection, vector_file: VectorFile) -> Ints:
    """Return the slots that are damaged, and the slots in use whose vectors are zero or not finite."""
    slots = read_meta(connection, "slots")
    wrong = np.zeros(slots, np.bool_)
    wrong[vector_file.damaged_slots(connection)] = True
    used = np.array(fetch_first(connection, "SELECT slot FROM vector"), np.int64)
    readable = vector_file.readable(connection)
    present = used[used < len(readable)]
    for at in range(0, len(present), _PAGE):
        part = present[at : at + _PAGE]
        wrong[part[~usable_rows(readable[part])]] = True
    return np.flatnonzero(wrong).astype(np.int32)


def chunks_of_slots(connection: apsw.Connection, slots: Ints) -> dict[str, Chunk]:
    """Return a chunk for the key of each slot that rows use; slots that only the cache uses are left out."""
    found = fetch(connection, _CHUNKS, (as_json(slots.tolist()),))
    return {key: decode(body)[0] for key, body in found}


def replace_vectors(connection: apsw.Connection, vector_file: VectorFile, vectors: Mapping[str, Vector]) -> None:
    """Rewrite all slots with ``vectors`` by key, and drop unused damaged vectors; part of a write transaction."""
    damaged = damaged_slots(connection, vector_file)
    connection.execute(_UNUSED, (as_json(damaged.tolist()),))
    query = f"SELECT key, slot FROM vector WHERE key IN {LISTED}"
    slots = dict(fetch(connection, query, (as_json(list(vectors)),)))
    vector_file.mend(connection, {slots[key]: vector for key, vector in vectors.items() if key in slots})
