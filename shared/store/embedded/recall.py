"""One search of the embedded store: masks, channels, and the chunks that they found."""

from collections.abc import Sequence
from dataclasses import dataclass

import apsw
import numpy as np

from codequarry.shared.model import Candidate, Chunk, Tokens
from codequarry.shared.store.embedded.batch import SYMBOL, TAIL, TERM
from codequarry.shared.store.embedded.channels import Rows, best_terms, best_weights, nearest, strides_of
from codequarry.shared.store.embedded.columns import Bools
from codequarry.shared.store.embedded.live import View
from codequarry.shared.store.embedded.payload import decode
from codequarry.shared.store.embedded.postings import PostingReader
from codequarry.shared.store.embedded.sql import fetch
from codequarry.shared.store.embedded.vectors import Matrix
from codequarry.shared.store.port import Recall, RecallQuery


@dataclass(frozen=True, slots=True)
class Found:
    """The rows of each channel, best first, one a chunk."""

    vector: Rows
    terms: Rows
    symbols: Rows
    paths: Rows

    def rows(self) -> Rows:
        """Return the rows of all channels."""
        return np.concatenate([self.vector, self.terms, self.symbols, self.paths])


def recall(
    connection: apsw.Connection,
    view: View,
    allowed: Bools,
    matrix: Matrix | None,
    postings: PostingReader,
    query: RecallQuery,
) -> Recall:
    """Answer ``query``; ``allowed`` are the live rows that fit its filters, ``matrix`` the slots if it has a vector."""
    columns = view.columns
    terms = postings.read(connection, TERM, query.terms)
    frequencies = {term: int(np.count_nonzero(view.live[posting.rows])) for term, posting in terms.items()}
    symbols = postings.read(connection, SYMBOL, query.symbols)
    tails = postings.read(connection, TAIL, query.paths)
    no_rows = np.empty(0, np.intp)
    found = Found(
        no_rows
        if matrix is None or query.vector is None
        else nearest(columns, allowed, matrix, query.vector, query.vector_limit),
        best_terms(view, allowed, list(terms.values()), list(frequencies.values()), query.term_limit),
        best_weights(allowed, list(symbols.values()), query.symbol_limit),
        best_weights(allowed, list(tails.values()), query.path_limit),
    )
    candidates = _candidates(connection, view, allowed, matrix, query, found.rows())

    def ids(rows: Rows) -> tuple[str, ...]:
        return tuple(dict.fromkeys(candidates[key].chunk.id for key in columns.chunk[rows].tolist()))

    return Recall(
        candidates={candidate.chunk.id: candidate for candidate in candidates.values()},
        by_vector=ids(found.vector),
        by_terms=ids(found.terms),
        by_symbol=ids(found.symbols),
        by_path=ids(found.paths),
        document_frequencies=frequencies,
        live_chunks=view.live_chunks,
        average_lengths=view.average_lengths,
    )


def _candidates(
    connection: apsw.Connection,
    view: View,
    allowed: Bools,
    matrix: Matrix | None,
    query: RecallQuery,
    found: Rows,
) -> dict[int, Candidate]:
    """Return the candidates by the hash of their ids: the best stride of each, with the tokens of the first."""
    columns = view.columns
    rows = strides_of(columns, allowed, found)
    similarities: list[float | None] = [None] * len(rows)
    # Without a query vector the first stride, which has the lowest place here, stands for its chunk.
    order = np.argsort(~columns.first[rows], kind="stable")
    if matrix is not None and query.vector is not None:
        cosines = np.clip(matrix[columns.slot[rows]] @ query.vector, -1, 1)
        similarities = cosines.tolist()
        order = np.argsort(-cosines, kind="stable")
    best: dict[int, int] = {}
    for place in order.tolist():
        best.setdefault(int(columns.chunk[rows[place]]), place)
    firsts = {int(columns.chunk[row]): int(row) for row in rows[columns.first[rows]].tolist()}
    shown = {key: int(rows[place]) for key, place in best.items()}
    decoded = _decoded(connection, {*shown.values(), *(firsts[key] for key in shown if key in firsts)})
    candidates = {}
    for key, row in shown.items():
        chunk = decoded[row][0]
        tokens = decoded[firsts.get(key, row)][1]
        candidates[key] = Candidate(chunk, tokens, similarities[best[key]], chunk.stride_info is not None)
    return candidates


def _decoded(connection: apsw.Connection, rows: Sequence[int] | set[int]) -> dict[int, tuple[Chunk, Tokens]]:
    """Read and decode the payloads of ``rows``."""
    places = ", ".join(map(str, sorted(rows)))
    query = f"SELECT row, body FROM payload WHERE row IN ({places})"
    return {row: decode(body) for row, body in fetch(connection, query)}
