"""A search of the embedded store: masks, channels, and the chunks that they find."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import apsw
import numpy as np
from numpy.typing import NDArray

from codequarry.shared.arrays import Matrix
from codequarry.shared.errors import StoreDamaged
from codequarry.shared.model import Candidate, Chunk, Tokens
from codequarry.shared.store.embedded.batch import SYMBOL, TAIL, TERM
from codequarry.shared.store.embedded.channels import Copies, Rows, best_terms, best_weights, nearest, strides_of
from codequarry.shared.store.embedded.columns import Bools
from codequarry.shared.store.embedded.live_rows import LiveRows
from codequarry.shared.store.embedded.payload import decode
from codequarry.shared.store.embedded.postings import PostingReader
from codequarry.shared.store.embedded.schema import DATABASE, REPAIR_DATABASE
from codequarry.shared.store.embedded.sql import fetch
from codequarry.shared.store.records import Recall, RecallQuery

_NONE: Rows = np.empty(0, np.intp)


@dataclass(frozen=True, slots=True)
class RecallSession:
    """A query, what is live, the live rows that match the filters, and the slots (None if the query has no vector)."""

    query: RecallQuery
    view: LiveRows
    allowed: Bools
    matrix: Matrix | None

    def cosines(self, rows: Rows) -> NDArray[np.float32] | None:
        """Return the cosine of each row with the query, or None if the query has no vector."""
        if self.matrix is None or self.query.vector is None:
            return None
        cosines: NDArray[np.float32] = self.matrix[self.view.columns.slot[rows]] @ self.query.vector
        return cosines.clip(-1, 1)


@dataclass(frozen=True, slots=True)
class RecalledRows:
    """The rows of each channel, best first, one per chunk, and the number of live chunks that have each term."""

    vector: Rows
    terms: Rows
    symbols: Rows
    paths: Rows
    frequencies: Mapping[str, int]

    def rows(self) -> Rows:
        """Return the rows of all channels, with duplicates."""
        return np.concatenate([self.vector, self.terms, self.symbols, self.paths])


def recall(connection: apsw.Connection, postings: PostingReader, search: RecallSession) -> Recall:
    """Answer a search: find the rows of every channel, then read their chunks."""
    found = _found(connection, postings, search)
    candidates = _candidates(connection, search, found.rows())

    def ids(rows: Rows) -> tuple[str, ...]:
        chunks = search.view.columns.chunk[rows].tolist()
        return tuple(dict.fromkeys(candidates[key].chunk.id for key in chunks))

    return Recall(
        candidates={candidate.chunk.id: candidate for candidate in candidates.values()},
        by_vector=ids(found.vector),
        by_terms=ids(found.terms),
        by_symbol=ids(found.symbols),
        by_path=ids(found.paths),
        document_frequencies=found.frequencies,
        live_chunks=search.view.live_chunks,
        average_lengths=search.view.average_lengths,
    )


def _found(connection: apsw.Connection, postings: PostingReader, search: RecallSession) -> RecalledRows:
    query, view, allowed = search.query, search.view, search.allowed
    terms = postings.read(connection, TERM, query.terms)
    frequencies = {term: int(np.count_nonzero(view.live[posting.rows])) for term, posting in terms.items()}
    symbols = postings.read(connection, SYMBOL, query.symbols)
    tails = postings.read(connection, TAIL, query.paths)
    copies = Copies.of(view.columns, query.snapshot)
    vector = _NONE
    if search.matrix is not None and query.vector is not None:
        vector = nearest(copies, allowed, search.matrix, query.vector, query.vector_limit)
    return RecalledRows(
        vector,
        best_terms(view, allowed, list(terms.values()), list(frequencies.values()), copies, query.term_limit),
        best_weights(allowed, list(symbols.values()), copies, query.symbol_limit),
        best_weights(allowed, list(tails.values()), copies, query.path_limit),
        frequencies,
    )


def _candidates(connection: apsw.Connection, search: RecallSession, found: Rows) -> dict[int, Candidate]:
    """Return the candidates by the hash of their id: the best stride of each chunk, with its first stride's tokens."""
    columns = search.view.columns
    rows = strides_of(columns, search.allowed, found)
    cosines = search.cosines(rows)
    if cosines is not None and not np.isfinite(cosines).all():
        # NaN is neither greater nor less than a number, so a damaged vector is always among the nearest.
        raise StoreDamaged("a vector in the index is damaged: it holds NaN; run codequarry fsck --repair")
    # Without a query vector, the first stride stands for its chunk.
    order = np.argsort(~columns.first[rows] if cosines is None else -cosines, kind="stable")
    best: dict[int, int] = {}
    for place in order.tolist():
        best.setdefault(int(columns.chunk[rows[place]]), place)
    firsts = {int(columns.chunk[row]): row for row in rows[columns.first[rows]].tolist()}
    shown = {key: int(rows[place]) for key, place in best.items()}
    decoded = _decoded(connection, {*shown.values(), *firsts.values()})
    candidates = {}
    for key, row in shown.items():
        chunk = decoded[row][0]
        tokens = decoded[firsts.get(key, row)][1]
        similarity = None if cosines is None else float(cosines[best[key]])
        candidates[key] = Candidate(chunk, tokens, similarity, chunk.stride_info is not None)
    return candidates


def _decoded(connection: apsw.Connection, rows: Collection[int]) -> dict[int, tuple[Chunk, Tokens]]:
    places = ", ".join(map(str, sorted(rows)))
    query = f"SELECT row, body FROM payload WHERE row IN ({places})"
    found = {row: decode(body) for row, body in fetch(connection, query)}
    if len(found) < len(rows):
        raise StoreDamaged(f"{DATABASE} is damaged: texts of chunk rows are missing; {REPAIR_DATABASE}")
    return found
