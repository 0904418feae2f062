import pytest

from codequarry.search_api.diversify import cut_page, is_redundant
from codequarry.search_api.rank import Ranked
from codequarry.search_api.signals import Signals


@pytest.fixture
def make_ranked(make_candidate):
    """Give a function that makes a ranked list of (path, first line) with falling scores."""

    def make(*places):
        return [
            Ranked(
                make_candidate("x\n" * 3, path, start_line=line, content_hash=f"{path}:{line}"),
                1 - rank / 100,
                Signals(),
                1.0,
            )
            for rank, (path, line) in enumerate(places)
        ]

    return make


def paths(page):
    return [item.candidate.chunk.path for item in page.hits]


def test_at_most_so_many_of_a_file(make_ranked):
    ranked = make_ranked(("a", 1), ("a", 11), ("a", 21), ("b", 1), ("c", 1))
    assert paths(cut_page(ranked, 4, 2, 0)) == ["a", "a", "b", "c"]


def test_the_limit_is_lifted_as_far_as_the_page_needs(make_ranked):
    ranked = make_ranked(("a", 1), ("a", 11), ("a", 21), ("a", 31), ("b", 1))
    page = cut_page(ranked, 4, 2, 0)
    assert paths(page) == ["a", "a", "a", "b"]
    assert page.has_more


def test_every_candidate_is_on_exactly_one_page(make_ranked):
    ranked = make_ranked(*[("a", 10 * line + 1) for line in range(7)], ("b", 1), ("c", 1))
    pages = [cut_page(ranked, 2, 1, number) for number in range(5)]
    shown = [item.id for page in pages for item in page.hits]
    assert sorted(shown) == sorted(item.id for item in ranked)
    assert len(set(shown)) == len(shown)
    assert [page.has_more for page in pages] == [True, True, True, True, False]


def test_pages_are_sorted_by_score(make_ranked):
    ranked = make_ranked(*[("a", 10 * line + 1) for line in range(5)], ("b", 1), ("c", 1))
    for number in range(3):
        scores = [item.score for item in cut_page(ranked, 3, 1, number).hits]
        assert scores == sorted(scores, reverse=True)


def test_what_repeats_a_better_hit_comes_last(make_ranked):
    ranked = make_ranked(("a", 1), ("a", 2), ("b", 1), ("a", 11))
    lines = [(item.candidate.chunk.path, item.candidate.chunk.start_line) for item in cut_page(ranked, 3, 2, 0).hits]
    assert lines == [("a", 1), ("b", 1), ("a", 11)]
    assert len(cut_page(ranked, 4, 2, 0).hits) == 4


def test_a_copy_of_a_better_hit_in_the_same_repository_comes_last(make_candidate):
    places = [("core", "v1/a", "same"), ("core", "v2/a", "same"), ("fork", "v1/a", "same"), ("core", "b", "other")]
    ranked = [
        Ranked(make_candidate("x\n", path, repo=repo, id=f"{repo}/{path}", content_hash=text), 1.0, Signals(), 1.0)
        for repo, path, text in places
    ]
    assert [item.id for item in cut_page(ranked, 3, 2, 0).hits] == ["core/v1/a", "fork/v1/a", "core/b"]
    named = [Ranked(item.candidate, 1.0, Signals(definition=1.0), 1.0) for item in ranked]
    assert [item.id for item in cut_page(named, 2, 2, 0).hits] == ["core/v1/a", "core/v2/a"]


def test_nothing_ranked_is_an_empty_page():
    assert cut_page([], 5, 2, 0).hits == ()


def test_overlapping_parts_of_one_symbol_repeat_each_other(make_chunk):
    first = make_chunk("x\n" * 20, start_line=1, symbol_part="1/3", qualified_name="f")
    second = make_chunk("x\n" * 20, start_line=19, symbol_part="2/3", qualified_name="f")
    third = make_chunk("x\n" * 20, start_line=37, symbol_part="3/3", qualified_name="f")
    assert is_redundant(second, first)
    assert not is_redundant(third, first)


def test_neighbours_that_share_a_line_do_not(make_chunk):
    assert not is_redundant(make_chunk("x\n" * 9, start_line=10), make_chunk("x\n" * 10, start_line=1))
    assert is_redundant(make_chunk("x\n" * 4, start_line=3), make_chunk("x\n" * 30, start_line=1))
