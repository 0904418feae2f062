from codequarry.search_api.search.recall import near_query, near_spellings, recall_query
from codequarry.shared.model import Snapshot

SNAPSHOT = Snapshot(())


def test_the_recall_query_uses_every_channel(plan):
    query = recall_query(plan("how does parse_header of http/reader.py work lang:python"), SNAPSHOT, None)
    assert "parseheader" in query.terms
    assert query.symbols == ("parse_header",)
    assert query.paths == ("http/reader.py",)
    assert query.filters.terms == (("language", ("python",)),)


def test_limits_grow_with_top_k_and_are_the_same_on_every_page(plan):
    few, many = (recall_query(plan("retry", top_k=top_k), SNAPSHOT, None) for top_k in (5, 200))
    assert few.vector_limit == few.term_limit == 100
    assert many.vector_limit == 600
    assert many.symbol_limit == 200
    assert recall_query(plan("retry", top_k=5, cursor="x"), SNAPSHOT, None) == few


def test_misspellings_are_searched_without_filters(plan):
    query = near_query(plan("symbol:retry_latter lang:go"), SNAPSHOT)
    assert "later" in query.terms
    assert query.filters.terms == ()
    assert query.vector is None


def test_a_single_typo_is_corrected():
    slips = {"recieve": "receive", "retryy": "retry", "comit": "commit"}
    assert all(right in set(near_spellings(wrong)) for wrong, right in slips.items())
