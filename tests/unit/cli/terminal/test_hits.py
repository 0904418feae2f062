from dataclasses import replace

import pytest

from codequarry.cli.terminal import hits
from codequarry.cli.terminal.hits import Excerpt, excerpt, history_line
from codequarry.search_api.answers.freshness import Freshness
from codequarry.search_api.answers.hits import Explanation, Hit, HitVariant, HitVersion, SearchAnswer
from codequarry.shared.model import ChangedTogether, FileOwner


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
    return Freshness(repo, "main", "branch", "c" * 40, None, commits_behind, None, None, 0, "ready", None)


@pytest.fixture
def answer(hit: Hit) -> SearchAnswer:
    return SearchAnswer((hit,), (entry(),))


def test_a_hit_shows_its_place_symbol_type_score_and_code(answer, capsys: pytest.CaptureFixture[str]) -> None:
    hits.show(answer, "delay", 6)
    assert capsys.readouterr().out == (
        "src/retry.py:7-9  Retry.delay  function  0.88\n    7  def delay():\n    8  \\x1b[31m    return 1\n"
    )


def test_the_repository_is_named_if_several_are_searched(answer, capsys: pytest.CaptureFixture[str]) -> None:
    hits.show(replace(answer, freshness=(entry("one"), entry("two"))), "delay", 0)
    assert capsys.readouterr().out == "src/retry.py:7-9  Retry.delay  function  0.88  one\n"


def test_the_versions_of_a_hit_are_named_if_several_are_searched(hit, capsys: pytest.CaptureFixture[str]) -> None:
    held = replace(hit, versions=(HitVersion("main", "c", 7, 9), HitVersion("dev", "d", 8, 10)))
    hits.show(SearchAnswer((held,)), "delay", 0)
    assert capsys.readouterr().out == "src/retry.py:7-9  Retry.delay  function  0.88  main, dev\n"


def test_a_long_list_of_versions_is_cut_and_other_texts_have_their_own_lines(hit, capsys) -> None:
    many = tuple(HitVersion(f"b{number}", "c", 7, 9) for number in range(10))
    variants = tuple(
        HitVariant((HitVersion(f"v{number}", "d", 1, 4),), f"i{number}", "b", "h", 1, 4) for number in range(5)
    )
    hits.show(SearchAnswer((replace(hit, versions=many, variants=variants),)), "delay", 0)
    head, *others = capsys.readouterr().out.splitlines()
    assert head.endswith("0.88  b0, b1, b2, b3 and 6 more")
    assert others == [
        *(f"    ~ v{number} has another text at 1-4" for number in range(3)),
        "    ~ 2 more versions with 2 more texts",
    ]


def test_a_version_that_is_behind_is_noted(answer) -> None:
    stale = replace(answer, freshness=(entry(commits_behind=2),))
    assert list(hits.remarks(stale, for_person=False)) == ["note: one main at cccccccccccc is 2 commits behind"]
    assert list(hits.remarks(replace(stale, results=(), reason="no match"), for_person=False))[-1] == (
        "note: one main at cccccccccccc is 2 commits behind"
    )
    uncounted = replace(answer, freshness=(replace(entry(), commits_behind=None, head_commit="d" * 40),))
    assert list(hits.remarks(uncounted, for_person=False)) == [
        "note: one main at cccccccccccc is behind commit dddddddddddd"
    ]


def test_a_path_with_a_line_break_stays_on_one_line(hit) -> None:
    assert hits.headline(replace(hit, path="a\nb"))[0] == "a\\nb:7-9"


def test_a_part_of_a_split_symbol_is_numbered(hit) -> None:
    assert hits.headline(replace(hit, symbol_part="2/5"))[1] == "Retry.delay (part 2/5)"


def test_an_explanation_names_channels_and_signals_above_zero(hit) -> None:
    explanation = Explanation({"semantic": 0.512, "path": 0.0}, 0.6, 1.0, {"vector": 3})
    assert hits.score_line(replace(hit, explain=explanation)) == (
        "semantic 0.51, kind of file × 0.60; recalled by vector #3"
    )


def test_an_empty_answer_shows_its_reason_and_suggestion() -> None:
    empty = SearchAnswer((), reason="no match", suggestion="did you mean delay?")
    assert list(hits.remarks(empty, for_person=False)) == ["no results: no match", "try: did you mean delay?"]


def test_a_degraded_answer_is_noted_and_only_a_person_sees_the_cursor(answer) -> None:
    answer = replace(answer, degraded=("embedding",), next_cursor="abc")
    assert list(hits.remarks(answer, for_person=False)) == [
        "note: answered without embedding; codequarry doctor shows why"
    ]
    assert list(hits.remarks(answer, for_person=True))[1:] == ["more: --cursor abc"]


CODE = "\n\ndef first():\n    pass\n\n\ndef retry_delay(attempt):\n    return 2 ** attempt\n\n\ndef last():\n    pass\n"


@pytest.fixture
def hit_of(make_hit):
    return lambda text: make_hit(text=text, start_line=10)


def test_the_lines_that_match_the_query_are_shown_with_their_numbers(hit_of) -> None:
    shown = excerpt(hit_of(CODE), "how is the retry delay computed for an attempt", 2)
    assert shown == Excerpt(16, ("def retry_delay(attempt):", "    return 2 ** attempt"))


def test_without_a_matching_word_the_first_nonblank_lines_are_shown(hit_of) -> None:
    assert excerpt(hit_of(CODE), "nothing here", 2) == Excerpt(12, ("def first():", "    pass"))


def test_the_earliest_of_equal_places_wins(hit_of) -> None:
    assert excerpt(hit_of("a = one\nb = one\nc = one"), "one", 1).start == 10


@pytest.mark.parametrize(("text", "lines"), [("", ()), ("\n\n", ()), ("x", ("x",))])
def test_short_texts_are_shown_whole(hit_of, text: str, lines: tuple[str, ...]) -> None:
    assert excerpt(hit_of(text), "x", 5).lines == lines


def test_no_lines_are_shown_if_none_are_requested(hit_of) -> None:
    assert excerpt(hit_of(CODE), "retry", 0).lines == ()


def test_carriage_returns_are_not_shown(hit_of) -> None:
    assert excerpt(hit_of("a = 1\r\nb = 2\r\n"), "x", 5).lines == ("a = 1", "b = 2")


def test_the_history_of_the_file_is_one_line(make_hit):
    owner, other = FileOwner("Ada\x1b[31m", 0.75), ChangedTogether("src/b.py", 3)
    known = {"file_history_length": 4, "owners": (owner,), "co_change_files": (other,), "code_owners": ("@team",)}
    last = {"last_modified_commit": "c" * 40, "commit_author": "Ada", "commit_date": "2024-05-31T00:00:00Z"}
    (line,) = history_line(make_hit(**known, **last))
    assert line.startswith("4 commits; last cccccccccccc  Ada  2024-05-31; by Ada")
    assert line.endswith(" 75% (CODEOWNERS: @team); changes with src/b.py (3)") and "\x1b" not in line
    assert list(history_line(make_hit(file_history_length=1, file_history_is_partial=True))) == ["at least 1 commit"]
    assert list(history_line(make_hit())) == []
