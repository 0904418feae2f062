"""The order of lexical candidates: BM25 over weighted fields, with counts of live chunks."""

import pytest

from codequarry.shared.model import Candidate, Chunk, Tokens
from codequarry.shared.store.opensearch.recall import LiveCounts, best_first


def candidate(name: str, **tokens: str) -> Candidate:
    chunk = Chunk(name, "r", name, "b", "python", "function", 1, 1, 0, 1, "x", "h")
    return Candidate(chunk, Tokens(**tokens), None)


def order(candidates: list[Candidate], frequencies: dict[str, int], chunks: int = 100) -> str:
    averages = {"symbol": 1.0, "signature": 1.0, "path": 1.0, "doc": 1.0, "body": 5.0}
    return "".join(found.chunk.id for found in best_first(candidates, LiveCounts(frequencies, chunks, averages)))


def test_a_rare_term_counts_more_than_a_frequent_term() -> None:
    candidates = [candidate("a", body="common x y"), candidate("b", body="rare x y")]
    assert order(candidates, {"common": 90, "rare": 1}) == "ba"
    assert order(candidates, {"common": 1, "rare": 90}) == "ab"


@pytest.mark.parametrize("field", ["symbol", "signature", "path", "doc"])
def test_a_word_in_a_name_counts_more_than_in_the_body(field: str) -> None:
    candidates = [candidate("a", body="word x y z"), candidate("b", body="x y z", **{field: "word"})]
    assert order(candidates, {"word": 5}) == "ba"


def test_more_occurrences_and_a_shorter_text_rank_higher() -> None:
    assert order([candidate("a", body="word x"), candidate("b", body="word word")], {"word": 5}) == "ba"
    assert order([candidate("a", body="word " + "x " * 50), candidate("b", body="word x")], {"word": 5}) == "ba"


def test_equal_candidates_keep_the_order_of_the_engine() -> None:
    same = [candidate(name, body="word x") for name in "cab"]
    assert order(same, {"word": 5, "absent": 0}) == "cab"
    assert order(same, {}) == "cab"
    assert order([], {"word": 1}) == ""
