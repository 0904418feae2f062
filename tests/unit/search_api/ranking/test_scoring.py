from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codequarry.search_api.ranking.scoring import (
    ASKED_SUMMARY_WEIGHT,
    KIND_WEIGHTS,
    REPEAT_WEIGHT,
    SUMMARY_WEIGHT,
    Ranked,
    cut_page,
    has_match,
    is_redundant,
    rank,
    score,
)
from codequarry.search_api.ranking.signals import Signals
from codequarry.shared.model import KINDS_OF_FILE, SUMMARY_KIND

SHARE = st.floats(0, 1)
SIGNALS = st.builds(Signals, SHARE, SHARE, SHARE, SHARE, SHARE)


@given(SIGNALS)
def test_scores_lie_between_zero_and_one(signals):
    assert 0 <= score(signals) <= 1


@given(SIGNALS, st.sampled_from(Signals.__slots__), SHARE)
def test_scores_grow_with_every_signal(signals, name, value):
    more = replace(signals, **{name: max(value, getattr(signals, name))})
    assert score(more) >= score(signals) - 1e-12


def test_every_kind_of_file_has_a_weight():
    assert set(KIND_WEIGHTS) == set(KINDS_OF_FILE)


def test_a_definition_ranks_above_uses_and_tests(plan, make_candidate, make_recall):
    definition = make_candidate("def flush(self): pass\n", "src/io.py", symbol_name="flush", similarity=0.3)
    use = make_candidate("flush() flush() flush()\n", "src/app.py", similarity=0.9)
    test = make_candidate(
        "def flush(): pass\n", "tests/io.py", symbol_name="flush", kind_of_file="test", similarity=0.9
    )
    ranked = rank(plan("flush"), make_recall(use, test, definition))
    assert ranked[0].candidate == definition


def test_tests_weigh_less_unless_the_query_asks_for_tests(plan, make_candidate, make_recall):
    source = make_candidate("retry the job\n", "src/a.py")
    test = make_candidate("retry the job\n", "tests/a.py", kind_of_file="test")
    recall = make_recall(source, test)
    first, second = rank(plan("retry job"), recall)
    assert (first.candidate, second.kind_weight) == (source, KIND_WEIGHTS["test"])
    assert {item.kind_weight for item in rank(plan("test retry job"), recall)} == {1.0}
    assert {item.kind_weight for item in rank(plan("retry job kind:test"), recall)} == {1.0}


def test_a_second_chunk_of_a_file_ranks_below_other_files(plan, make_candidate, make_recall):
    best = make_candidate("retry the job again job\n", "src/a.py", start_line=1)
    again = make_candidate("retry the job at once\n", "src/a.py", start_line=20)
    other = make_candidate("retry a job some other time of day\n", "src/b.py")
    ranked = rank(plan("retry job"), make_recall(best, again, other))
    assert [item.candidate.chunk.path for item in ranked] == ["src/a.py", "src/b.py", "src/a.py"]
    assert [item.repeat_weight for item in ranked] == [1.0, 1.0, REPEAT_WEIGHT]


def test_definitions_of_a_named_symbol_in_one_file_are_not_lowered(plan, make_candidate, make_recall):
    overloads = [
        make_candidate(f"void flush(int a{line});\n", "src/a.java", start_line=line, symbol_name="flush")
        for line in (1, 20, 40)
    ]
    ranked = rank(plan("flush"), make_recall(*overloads))
    assert {item.repeat_weight for item in ranked} == {1.0}


def test_prose_weighs_less_than_code_with_the_same_words(plan, make_candidate, make_recall):
    prose = make_candidate("retry the job\n", "src/a.md", symbol_type="documentation")
    code = make_candidate("retry the job\n", "src/b.py")
    assert rank(plan("retry job"), make_recall(prose, code))[0].candidate == code


def test_a_phrase_ranks_above_its_words(plan, make_candidate, make_recall):
    phrase = make_candidate("x = 'no such key'\n", "src/a.py")
    words = make_candidate("key key such such no no key\n", "src/b.py")
    ranked = rank(plan('"no such key"'), make_recall(words, phrase))
    assert ranked[0].candidate == phrase


def test_equal_scores_are_ordered_by_place(plan, make_candidate, make_recall):
    places = [("b.py", 1), ("a.py", 9), ("a.py", 1)]
    candidates = [make_candidate("retry\n", path, start_line=line) for path, line in places]
    candidates.append(replace(candidates[0], chunk=replace(candidates[0].chunk, repo="other", id="z")))
    order = [
        (item.candidate.chunk.repo, item.candidate.chunk.path, item.candidate.chunk.start_line)
        for item in rank(plan("retry"), make_recall(*candidates))
    ]
    # The second chunk of a.py has the same words as the first and weighs less as a repeat.
    assert order == [("other", "b.py", 1), ("quarry", "a.py", 1), ("quarry", "b.py", 1), ("quarry", "a.py", 9)]


def test_the_order_of_the_engine_does_not_matter(plan, make_candidate, make_recall):
    candidates = [make_candidate(f"retry job {'x ' * size}\n", f"{size}.py", 0.01 * size) for size in range(9)]
    there, back = make_recall(*candidates), make_recall(*reversed(candidates))
    assert [item.id for item in rank(plan("retry job"), there)] == [item.id for item in rank(plan("retry job"), back)]


def test_a_candidate_with_nothing_in_common_is_not_a_match(plan, make_candidate, make_recall):
    far, near = make_candidate("alpha\n", similarity=0.05), make_candidate("beta\n", "b.py", similarity=0.6)
    word = make_candidate("retry\n", "c.py", similarity=None)

    def is_found(query, candidate):
        planned = plan(query)
        return has_match(planned, rank(planned, make_recall(candidate)))

    assert not is_found("retry later", far)
    assert is_found("retry later", near)
    assert is_found("retry", word)
    assert is_found("gamma lang:python", far)


@pytest.fixture
def make_ranked(make_candidate):
    """Return a function that makes a ranked list of (path, first line) with falling scores."""

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


def test_a_page_has_at_most_max_per_file_hits_of_a_file(make_ranked):
    ranked = make_ranked(("a", 1), ("a", 11), ("a", 21), ("b", 1), ("c", 1))
    assert paths(cut_page(ranked, 4, 2, 0)) == ["a", "a", "b", "c"]


def test_the_limit_per_file_is_raised_to_fill_the_page(make_ranked):
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


def test_a_hit_that_overlaps_a_better_hit_comes_last(make_ranked):
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


def test_an_empty_ranking_gives_an_empty_page():
    assert cut_page([], 5, 2, 0).hits == ()


def test_overlapping_parts_of_one_symbol_are_redundant(make_chunk):
    first = make_chunk("x\n" * 20, start_line=1, symbol_part="1/3", qualified_name="f")
    second = make_chunk("x\n" * 20, start_line=19, symbol_part="2/3", qualified_name="f")
    third = make_chunk("x\n" * 20, start_line=37, symbol_part="3/3", qualified_name="f")
    assert is_redundant(second, first)
    assert not is_redundant(third, first)


def test_neighbours_that_share_a_line_are_not_redundant(make_chunk):
    assert not is_redundant(make_chunk("x\n" * 9, start_line=10), make_chunk("x\n" * 10, start_line=1))
    assert is_redundant(make_chunk("x\n" * 4, start_line=3), make_chunk("x\n" * 30, start_line=1))


SUMMARY = {
    "id": "summary",
    "content_hash": "s",
    "symbol_type": "file",
    "symbol_kind": SUMMARY_KIND,
    "derived": True,
    "end_line": 100,
}


def test_a_summary_neither_crowds_out_the_chunks_of_its_file_nor_is_dropped_for_sharing_their_lines(
    plan, make_candidate, make_recall
):
    chunks = [
        make_candidate(
            "close the socket\n",
            "src/a.py",
            similarity=0.8 - number / 10,
            start_line=1 + 10 * number,
            content_hash=str(number),
        )
        for number in range(3)
    ]
    summary = make_candidate("close the socket\n", "src/a.py", similarity=0.95, **SUMMARY)
    other = make_candidate("close\n", "src/b.py", similarity=0.1, content_hash="b")
    without = rank(plan("close the socket"), make_recall(*chunks, other))
    ranked = rank(plan("close the socket"), make_recall(*chunks, other, summary))
    hits = cut_page(ranked, 4, 2, 0).hits
    assert {item.id for item in hits} == {"summary", chunks[0].chunk.id, chunks[1].chunk.id, other.chunk.id}
    weights = {item.id: item.repeat_weight for item in ranked}
    assert all(weights[item.id] == item.repeat_weight for item in without)


def test_a_summary_weighs_less_than_a_declaration_unless_the_query_asks_for_files(plan, make_candidate, make_recall):
    summary = make_candidate("close the socket\n", "src/a.py", similarity=0.8, **SUMMARY)
    chunk = make_candidate("close the socket\n", "src/b.py", similarity=0.8)
    [first, second] = rank(plan("close the socket"), make_recall(summary, chunk))
    assert (first.candidate, second.type_weight) == (chunk, SUMMARY_WEIGHT)
    [first, _] = rank(plan("which file has to close the socket"), make_recall(summary, chunk))
    assert (first.candidate, first.type_weight) == (summary, ASKED_SUMMARY_WEIGHT)
    assert first.score <= 1


def test_a_name_finds_its_definition_before_the_summary_of_its_file(plan, make_candidate, make_recall):
    definition = make_candidate("def parse_cookie(): pass\n", symbol_name="parse_cookie", similarity=0.2)
    summary = make_candidate("function parse_cookie: Parse a cookie.\n", similarity=0.9, **SUMMARY)
    assert rank(plan("parse_cookie"), make_recall(summary, definition))[0].candidate == definition
    assert rank(plan("which file has parse_cookie"), make_recall(summary, definition))[0].candidate == definition
