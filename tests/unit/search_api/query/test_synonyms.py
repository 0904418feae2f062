import pytest

from codequarry.search_api.query.synonyms import SHORT_FORMS, inflections


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("requests", "request"),
        ("retried", "retry"),
        ("retries", "retry"),
        ("running", "run"),
        ("parsing", "parse"),
        ("parsing", "parser"),
        ("parse", "parsed"),
        ("matches", "match"),
        ("cached", "cache"),
        ("validation", "validate"),
        ("compression", "compress"),
        ("connection", "connect"),
        ("deletes", "deleting"),
        ("iterating", "iterator"),
        ("flush", "flushes"),
        ("classes", "class"),
        ("directories", "directory"),
    ],
)
def test_inflections_include_the_other_form(word, form):
    assert form in inflections(word)


@pytest.mark.parametrize("word", ["id", "is", "red", "числа", "v2"])
def test_short_and_foreign_words_have_no_forms(word):
    assert inflections(word) == ()


@pytest.mark.parametrize("word", ["class", "status", "process"])
def test_a_final_s_is_not_always_a_plural(word):
    assert word[:-1] not in inflections(word)


def test_a_word_is_not_among_its_inflections():
    assert all(word not in inflections(word) for word in ("retry", "retried", "requests", "parsing"))


def test_short_forms_go_both_ways():
    assert "config" in SHORT_FORMS["configuration"]
    assert "configuration" in SHORT_FORMS["config"]
