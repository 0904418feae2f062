"""The questionnaires are complete, and the two splits stay comparable."""

from collections import Counter

from bench.acceptance.questions import load


def test_there_are_at_least_110_questions_in_equal_splits() -> None:
    questionnaires = load()
    assert sum(len(questionnaire.questions) for questionnaire in questionnaires) >= 110
    assert Counter(questionnaire.split for questionnaire in questionnaires) == {"development": 7, "heldout": 7}


def test_questions_are_unique_and_every_answer_has_evidence() -> None:
    questions = [question for questionnaire in load() for question in questionnaire.questions]
    assert len({question.text for question in questions}) == len(questions)
    assert all(question.paths and len(question.paths) == len(question.evidence) for question in questions)
    assert all(question.text.endswith("?") for question in questions)


def test_commits_are_full_ids() -> None:
    assert all(len(questionnaire.commit) == 40 for questionnaire in load())


def test_a_repository_is_selected_by_its_short_name_in_any_case() -> None:
    assert [questionnaire.repo for questionnaire in load(only=["JQ"])] == ["jqlang/jq"]
