from dataclasses import replace

import pytest

from codequarry.cli.terminal import hits
from codequarry.cli.terminal.hits import Excerpt, excerpt
from codequarry.search_api.answers.freshness import Freshness
from codequarry.search_api.answers.hits import Explanation, Hit, HitVersion, SearchAnswer


@pytest.fixture
def hit(make_hit) -> Hit:
    return make_hit(
        repo="one",
        path="src/retry.py",
        start_line=7,
        end_line=9,
        symbol_name="delay",
        qualified_name="Retry.delay",
        score=0.876,
        text="def delay():\n\x1b[31m    return 1\n\n",
    )


def entry(repo: str = "one", commits_behind: int = 0) -> Freshness:
    return Freshness(repo, "main", "branch", "c" * 40, None, commits_behind, None, 0, "ready", None)


@pytest.fixture
def answer(hit: Hit) -> SearchAnswer:
    return SearchAnswer((hit,), (entry(),))


def test_a_hit_is_its_place_symbol_type_and_score_and_then_its_code(answer, capsys: pytest.CaptureFixture[str]) -> None:
    hits.show(answer, "delay", 6)
    assert capsys.readouterr().out == (
        "src/retry.py:7-9  Retry.delay  function  0.88\n    7  def delay():\n    8  \\x1b[31m    return 1\n"
    )


def test_the_repository_is_named_where_there_are_several(answer, capsys: pytest.CaptureFixture[str]) -> None:
    hits.show(replace(answer, freshness=(entry("one"), entry("two"))), "delay", 0)
    assert capsys.readouterr().out == "src/retry.py:7-9  Retry.delay  function  0.88  one\n"


def test_the_versions_that_hold_a_hit_are_named_where_several_are_searched(
    hit, capsys: pytest.CaptureFixture[str]
) -> None:
    held = replace(hit, versions=(HitVersion("main", "c"), HitVersion("dev", "d")))
    hits.show(SearchAnswer((held,)), "delay", 0)
    assert capsys.readouterr().out == "src/retry.py:7-9  Retry.delay  function  0.88  main, dev\n"


def test_hits_of_a_version_that_is_behind_say_so(answer) -> None:
    stale = replace(answer, freshness=(entry(commits_behind=2),))
    assert list(hits.remarks(stale, for_person=False)) == ["note: one main at cccccccccccc is 2 commits behind"]


def test_a_path_with_a_line_end_stays_on_its_line(hit) -> None:
    assert hits.headline(replace(hit, path="a\nb"))[0] == "a\\nb:7-9"


def test_a_part_of_a_split_symbol_says_so(hit) -> None:
    assert hits.headline(replace(hit, symbol_part="2/5"))[1] == "Retry.delay (part 2/5)"


def test_an_explanation_names_the_signals_that_count_and_the_channels(hit) -> None:
    explanation = Explanation({"semantic": 0.512, "path": 0.0}, 0.6, 1.0, {"vector": 3})
    assert hits.score_line(replace(hit, explain=explanation)) == (
        "semantic 0.51, kind of file × 0.60; recalled by vector #3"
    )


def test_an_empty_answer_says_why_and_what_to_try() -> None:
    empty = SearchAnswer((), reason="no match", suggestion="did you mean delay?")
    assert list(hits.remarks(empty, for_person=False)) == ["no results: no match", "try: did you mean delay?"]


def test_a_degraded_answer_says_so_and_only_a_person_is_told_the_cursor(answer) -> None:
    answer = replace(answer, degraded=("embedding",), next_cursor="abc")
    assert list(hits.remarks(answer, for_person=False)) == [
        "note: answered without embedding; codequarry doctor says why"
    ]
    assert list(hits.remarks(answer, for_person=True))[1:] == ["more: --cursor abc"]


CODE = "\n\ndef first():\n    pass\n\n\ndef retry_delay(attempt):\n    return 2 ** attempt\n\n\ndef last():\n    pass\n"


@pytest.fixture
def hit_of(make_hit):
    return lambda text: make_hit(text=text, start_line=10)


def test_the_lines_with_the_words_of_the_query_are_shown_with_their_true_numbers(hit_of) -> None:
    shown = excerpt(hit_of(CODE), "how is the retry delay computed for an attempt", 2)
    assert shown == Excerpt(16, ("def retry_delay(attempt):", "    return 2 ** attempt"))


def test_without_a_word_of_the_query_the_first_filled_lines_are_shown(hit_of) -> None:
    assert excerpt(hit_of(CODE), "nothing here", 2) == Excerpt(12, ("def first():", "    pass"))


def test_the_earliest_of_equal_places_wins(hit_of) -> None:
    assert excerpt(hit_of("a = one\nb = one\nc = one"), "one", 1).start == 10


@pytest.mark.parametrize(("text", "lines"), [("", ()), ("\n\n", ()), ("x", ("x",))])
def test_short_texts_are_shown_whole(hit_of, text: str, lines: tuple[str, ...]) -> None:
    assert excerpt(hit_of(text), "x", 5).lines == lines


def test_no_lines_are_shown_where_none_are_wanted(hit_of) -> None:
    assert excerpt(hit_of(CODE), "retry", 0).lines == ()


def test_windows_line_ends_are_not_shown(hit_of) -> None:
    assert excerpt(hit_of("a = 1\r\nb = 2\r\n"), "x", 5).lines == ("a = 1", "b = 2")
