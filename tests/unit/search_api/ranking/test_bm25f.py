import pytest

from codequarry.search_api.query.terms import TermGroup, term_groups
from codequarry.search_api.ranking.bm25f import Statistics, lexical_scorer
from codequarry.shared.model import Tokens

STATISTICS = Statistics(1000, {"retry": 10, "job": 200, "retries": 5}, {"body": 50.0, "symbol": 2.0})


def scorer(*words, statistics=STATISTICS):
    return lexical_scorer([TermGroup(word, 1.0, ((word, 1.0),)) for word in words], statistics)


def test_an_empty_query_or_no_match_scores_zero():
    assert scorer().score(Tokens(body="retry")) == 0.0
    assert scorer("retry").score(Tokens(body="job")) == 0.0


def test_the_score_is_a_share_of_the_query_words():
    query = scorer("retry", "job")
    both, single = query.score(Tokens(body="retry job")), query.score(Tokens(body="retry"))
    assert 0 < single < both < 1


def test_a_rare_word_counts_more():
    query = scorer("retry", "job")
    assert query.score(Tokens(body="retry")) > query.score(Tokens(body="job"))


def test_more_occurrences_count_more_with_falling_gain():
    query = scorer("retry")
    once, twice, often = (
        query.score(Tokens(body=" ".join(["retry"] * count + ["x"] * (20 - count)))) for count in (1, 2, 3)
    )
    assert once < twice < often
    assert often - twice < twice - once


def test_neighbouring_equal_tokens_are_all_counted():
    query = scorer("retry")
    assert query.score(Tokens(body="retry retry retry x")) == query.score(Tokens(body="retry x retry retry"))
    assert query.score(Tokens(body="retry retry x retry")) == query.score(Tokens(body="retry x retry retry"))


def test_tokens_are_matched_whole():
    assert scorer("retry").score(Tokens(body="retrying noretry retry2")) == 0.0


def test_a_name_counts_more_than_a_body():
    query = scorer("retry")
    assert query.score(Tokens(symbol="retry")) > query.score(Tokens(body="retry"))


def test_a_long_body_is_discounted():
    query = scorer("retry")
    assert query.score(Tokens(body="retry " + "x " * 10)) > query.score(Tokens(body="retry " + "x " * 500))


def test_other_forms_count_less_than_the_word():
    group = TermGroup("retry", 1.0, (("retry", 1.0), ("retries", 0.5)))
    query = lexical_scorer([group], STATISTICS)
    assert 0 < query.score(Tokens(body="retries")) < query.score(Tokens(body="retry"))


def test_a_word_in_no_live_chunk_lowers_every_score():
    assert scorer("retry", "unheard").score(Tokens(body="retry")) < scorer("retry").score(Tokens(body="retry"))


@pytest.mark.parametrize("count", [0, 1, 500, 1000, 2000])
def test_idf_is_never_negative(count):
    assert Statistics(1000, {"x": count}, {}).idf("x") >= 0


def test_an_empty_index_scores_nothing():
    query = lexical_scorer(term_groups("where are jobs retried"), Statistics(0, {}, {}))
    assert query.score(Tokens(body="jobs")) == 0.0
