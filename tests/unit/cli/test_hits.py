from typing import Any

import pytest

from codequarry.cli import hits

HIT: dict[str, Any] = {
    "repo": "one",
    "path": "src/retry.py",
    "start_line": 7,
    "end_line": 9,
    "symbol_type": "function",
    "symbol_name": "delay",
    "qualified_name": "Retry.delay",
    "symbol_part": None,
    "language": "python",
    "score": 0.876,
    "text": "def delay():\n\x1b[31m    return 1\n\n",
}
ANSWER: dict[str, Any] = {
    "results": [HIT],
    "freshness": [{"repo": "one", "ref": "main", "indexed_commit": "c" * 40, "commits_behind": 0}],
    "degraded": [],
    "reason": None,
    "suggestion": None,
    "next_cursor": None,
}


def test_a_hit_is_its_place_symbol_type_and_score_and_then_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    hits.show(ANSWER, "delay", 6)
    assert capsys.readouterr().out == (
        "src/retry.py:7-9  Retry.delay  function  0.88\n    7  def delay():\n    8  \\x1b[31m    return 1\n"
    )


def test_the_repository_is_named_where_there_are_several(capsys: pytest.CaptureFixture[str]) -> None:
    hits.show(ANSWER | {"freshness": [{"repo": "one"}, {"repo": "two"}]}, "delay", 0)
    assert capsys.readouterr().out == "src/retry.py:7-9  Retry.delay  function  0.88  one\n"


def test_the_versions_that_hold_a_hit_are_named_where_several_are_searched(capsys: pytest.CaptureFixture[str]) -> None:
    hit = HIT | {"versions": [{"ref": "main"}, {"ref": "dev"}]}
    hits.show(ANSWER | {"results": [hit]}, "delay", 0)
    assert capsys.readouterr().out == "src/retry.py:7-9  Retry.delay  function  0.88  main, dev\n"


def test_hits_of_a_version_that_is_behind_say_so() -> None:
    stale = ANSWER["freshness"][0] | {"commits_behind": 2}
    assert list(hits.remarks(ANSWER | {"freshness": [stale]}, for_person=False)) == [
        "note: one main at cccccccccccc is 2 commits behind"
    ]


def test_a_path_with_a_line_end_stays_on_its_line() -> None:
    assert hits.headline(HIT | {"path": "a\nb"})[0] == "a\\nb:7-9"


def test_a_part_of_a_split_symbol_says_so() -> None:
    assert hits.headline(HIT | {"symbol_part": "2/5"})[1] == "Retry.delay (part 2/5)"


def test_an_explanation_names_the_signals_that_count_and_the_channels() -> None:
    explanation = {
        "signals": {"semantic": 0.512, "path": 0.0},
        "kind_weight": 0.6,
        "repeat_weight": 1.0,
        "channels": {"vector": 3},
    }
    assert hits.explained(HIT | {"explain": explanation}) == (
        "semantic 0.51, kind of file × 0.60; recalled by vector #3"
    )


def test_an_empty_answer_says_why_and_what_to_try() -> None:
    empty = ANSWER | {"results": [], "reason": "no match", "suggestion": "did you mean delay?"}
    assert list(hits.remarks(empty, for_person=False)) == ["no results: no match", "try: did you mean delay?"]


def test_a_degraded_answer_says_so_and_only_a_person_is_told_the_cursor() -> None:
    answer = ANSWER | {"degraded": ["embedding"], "next_cursor": "abc"}
    assert list(hits.remarks(answer, for_person=False)) == [
        "note: answered without embedding; codequarry doctor says why"
    ]
    assert list(hits.remarks(answer, for_person=True))[1:] == ["more: --cursor abc"]
