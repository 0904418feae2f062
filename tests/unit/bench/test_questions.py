"""The questionnaires are complete and stay comparable."""

from collections import Counter

from bench.acceptance.questions import load


def test_there_are_over_a_hundred_questions_in_as_many_development_as_heldout_repositories() -> None:
    questionnaires = load()
    assert sum(len(one.questions) for one in questionnaires) >= 110
    assert Counter(one.split for one in questionnaires) == {"development": 7, "heldout": 7}


def test_every_question_is_asked_once_and_each_answer_has_its_evidence() -> None:
    questions = [question for one in load() for question in one.questions]
    assert len({question.text for question in questions}) == len(questions)
    assert all(question.paths and len(question.paths) == len(question.evidence) for question in questions)
    assert all(question.text.endswith("?") for question in questions)


def test_commits_are_full_ids() -> None:
    assert all(len(one.commit) == 40 for one in load())


def test_a_repository_can_be_chosen_by_its_short_name_in_any_case() -> None:
    assert [one.repo for one in load(only=["JQ"])] == ["jqlang/jq"]
