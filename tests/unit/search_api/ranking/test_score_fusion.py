from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codequarry.search_api.ranking.score_fusion import SecondScores, blended, key_of, mixed, chunks_to_rescore
from codequarry.search_api.ranking.scoring import Ranked
from codequarry.search_api.ranking.signals import Signals

SHARE = st.floats(0, 1)


@pytest.fixture
def ranked(make_candidate):
    """Give a function that makes a ranked list of these scores, each of a file of its own."""

    def make(*scores, **named):
        items = [
            Ranked(make_candidate(path=f"src/{chr(97 + at)}.py"), one, Signals(), 1.0) for at, one in enumerate(scores)
        ]
        return [replace(item, signals=named.get(name_of(item), item.signals)) for item in items]

    return make


def name_of(item):
    return item.candidate.chunk.path.removeprefix("src/").removesuffix(".py")


def scores_of(items, *scores):
    return {key_of(item.candidate.chunk): score for item, score in zip(items, scores, strict=False)}


def test_the_models_scores_are_brought_to_the_scale_of_the_ranker(ranked):
    """The lowest of one is the lowest of the other, and so with the highest."""
    items = ranked(0.8, 0.6, 0.4)
    again = blended(items, SecondScores(0.5, scores_of(items, -3.0, 0.0, 5.0)))
    # -3, 0, 5 become 0.4, 0.55, 0.8.
    assert [(name_of(item), item.score) for item in again] == [("a", 0.6), ("c", 0.6), ("b", 0.575)]
    assert (again[0].blend.first_score, again[0].blend.rerank_score, again[0].blend.weight) == (0.8, -3.0, 0.5)


def test_without_weight_the_order_stays_and_with_all_of_it_the_model_decides(ranked):
    items = ranked(0.8, 0.6, 0.4)
    scores = scores_of(items, 0.1, 0.2, 0.3)
    assert [name_of(item) for item in blended(items, SecondScores(0.0, scores))] == ["a", "b", "c"]
    assert [name_of(item) for item in blended(items, SecondScores(1.0, scores))] == ["c", "b", "a"]


def test_what_was_not_scored_keeps_its_score_and_its_order(ranked):
    items = ranked(0.8, 0.6, 0.4, 0.3, 0.2)
    again = blended(items, SecondScores(1.0, scores_of(items, 0.1, 0.9)))
    assert [name_of(item) for item in again] == ["b", "a", "c", "d", "e"]
    assert again[2:] == items[2:]


def test_a_late_candidate_stays_among_those_that_were_scored(ranked):
    items = ranked(0.8, 0.6, 0.4)
    scores = scores_of(items, 0.1, 0.0, 0.9)
    del scores[key_of(items[1].candidate.chunk)]
    again = blended(items, SecondScores(1.0, scores))
    assert [(name_of(item), item.blend is None) for item in again] == [("c", False), ("b", True), ("a", False)]


@pytest.mark.parametrize("scores", [(), (0.4,), (0.4, 0.4, 0.4)])
def test_a_model_that_tells_nothing_apart_changes_nothing(ranked, scores):
    items = ranked(0.8, 0.6, 0.4)
    again = blended(items, SecondScores(0.7, scores_of(items, *scores)))
    assert [(item.id, item.score) for item in again] == [(item.id, item.score) for item in items]


@pytest.mark.parametrize("signal", ["definition", "phrase", "path"])
def test_what_was_asked_for_by_name_is_no_matter_of_meaning(ranked, signal):
    items = ranked(0.9, 0.6, 0.4, a=Signals(**{signal: 0.9}))
    assert chunks_to_rescore(items, 2) == [items[1].candidate.chunk]
    again = blended(items, SecondScores(1.0, scores_of(items[1:], 0.5, 1.0)))
    assert [(name_of(item), item.score) for item in again] == [("a", 0.9), ("c", 0.6), ("b", 0.4)]


def test_the_models_score_of_prose_weighs_no_more_than_the_rankers(ranked):
    items = ranked(0.5, 0.5, 0.4)
    items[0] = replace(items[0], type_weight=0.7, kind_weight=0.75)
    again = blended(items, SecondScores(0.5, scores_of(items, 0.9, 0.8, 0.1)))
    assert [name_of(item) for item in again] == ["b", "a", "c"]


@given(st.lists(st.tuples(SHARE, st.floats(-50, 50)), min_size=1), SHARE)
def test_mixed_scores_stay_within_those_of_the_ranker(pairs, weight):
    firsts, seconds = zip(*pairs, strict=True)
    scores = mixed(firsts, seconds, weight)
    assert all(min(firsts) - 1e-9 <= score <= max(firsts) + 1e-9 for score in scores)


@given(st.lists(st.tuples(SHARE, st.floats(-50, 50)), min_size=2), SHARE)
def test_who_is_better_in_both_is_better_in_the_mix(pairs, weight):
    firsts, seconds = zip(*pairs, strict=True)
    scores = mixed(firsts, seconds, weight)
    better = (firsts[0] > firsts[1], seconds[0] > seconds[1])
    if all(better):
        assert scores[0] >= scores[1] - 1e-9


def test_no_candidates_mix_to_none():
    assert mixed([], [], 0.5) == []
    assert blended([], SecondScores(0.5)) == []
