from codequarry.search_api.query.terms import (
    INFLECTION_WEIGHT,
    JOINED_WEIGHT,
    MAX_GROUPS,
    MAX_TERMS,
    SHORT_FORM_WEIGHT,
    index_terms,
    term_groups,
)


def by_word(text):
    return {group.word: group for group in term_groups(text)}


def test_stop_words_are_dropped():
    assert [word for word in by_word("how are the jobs retried") if word != "jobsretried"] == ["jobs", "retried"]


def test_stop_words_stay_if_there_is_nothing_else():
    assert {"what", "is", "it"} <= set(by_word("what is it"))


def test_a_word_is_grouped_with_its_other_forms():
    forms = dict(by_word("requests")["requests"].forms)
    assert forms["requests"] == 1.0
    assert forms["request"] == INFLECTION_WEIGHT
    assert forms["req"] == SHORT_FORM_WEIGHT


def test_parts_of_an_identifier_have_no_other_forms():
    groups = by_word("parseHeaders")
    assert groups["headers"].forms == (("headers", 1.0),)
    assert groups["parseheaders"].forms == (("parseheaders", 1.0),)


def test_neighbouring_words_also_form_one_joined_name():
    groups = by_word("read page from disk")
    assert groups["readpage"].weight == JOINED_WEIGHT
    assert groups["readpage"].joined
    assert "pagefrom" not in groups


def test_pasted_code_is_limited_in_groups_and_terms():
    groups = term_groups(" ".join(f"identifier{index}" for index in range(500)))
    assert len(groups) == MAX_GROUPS
    many = term_groups(" ".join(["request", "response", "configure", "validate", "connect", "delete"] * 30))
    assert len(index_terms(many)) <= MAX_TERMS


def test_a_text_without_words_has_no_groups():
    assert term_groups("!!! ???") == ()


def test_index_terms_are_unique():
    terms = index_terms(term_groups("request requests requested"))
    assert len(terms) == len(set(terms))
