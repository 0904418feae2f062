"""Builders of chunks, candidates, recalls and plans for tests of the search stages."""

from collections.abc import Callable

import pytest

from codequarry.search_api.query.plan import QueryPlan, make_plan
from codequarry.search_api.query.request import SearchRequest
from codequarry.shared.identifiers import tokenize
from codequarry.shared.model import Candidate, Chunk, Tokens
from codequarry.shared.store.records import Recall


@pytest.fixture
def make_chunk() -> Callable[..., Chunk]:
    """Return a function that makes a chunk of ``text`` in ``path``; keyword arguments override any field."""

    def make(text: str = "def answer():\n    return 42\n", path: str = "src/app.py", **fields: object) -> Chunk:
        start = int(fields.pop("start_line", 1))
        lines = text.count("\n") or 1
        defaults = {
            "id": f"{path}:{start}",
            "repo": "quarry",
            "blob": "b" * 40,
            "language": "python",
            "symbol_type": "function",
            "end_line": start + lines - 1,
            "start_char": 0,
            "end_char": len(text),
            "content_hash": "c" * 64,
        }
        return Chunk(path=path, text=text, start_line=start, **{**defaults, **fields})

    return make


@pytest.fixture
def make_candidate(make_chunk) -> Callable[..., Candidate]:
    """Return a function that makes a candidate with the tokens that a store would keep."""

    def make(text: str = "", path: str = "src/app.py", similarity: float | None = 0.0, **fields: object) -> Candidate:
        chunk = make_chunk(text or "pass\n", path, **fields)
        tokens = Tokens(
            symbol=tokenize(chunk.qualified_name or chunk.symbol_name or ""),
            signature=tokenize(chunk.signature or ""),
            path=tokenize(path),
            doc=tokenize(chunk.doc),
            body=tokenize(text),
        )
        return Candidate(chunk, tokens, similarity)

    return make


@pytest.fixture
def make_recall() -> Callable[..., Recall]:
    """Return a function that makes a recall of candidates, with document frequencies counted over them."""

    def make(*candidates: Candidate, **fields: object) -> Recall:
        frequencies: dict[str, int] = {}
        lengths = {name: 1.0 for name in Tokens.__slots__}
        for candidate in candidates:
            texts = [getattr(candidate.tokens, name) for name in Tokens.__slots__]
            for token in set(" ".join(texts).split()):
                frequencies[token] = frequencies.get(token, 0) + 1
        for name in lengths:
            total = sum(len(getattr(candidate.tokens, name).split()) for candidate in candidates)
            lengths[name] = max(total / max(len(candidates), 1), 1.0)
        defaults = {
            "candidates": {candidate.chunk.id: candidate for candidate in candidates},
            "document_frequencies": frequencies,
            "live_chunks": max(len(candidates), 1),
            "average_lengths": lengths,
        }
        return Recall(**{**defaults, **fields})

    return make


@pytest.fixture
def plan() -> Callable[..., QueryPlan]:
    """Return a function that plans a query."""

    def make(query: str, **fields: object) -> QueryPlan:
        return make_plan(SearchRequest(query, **fields))

    return make
