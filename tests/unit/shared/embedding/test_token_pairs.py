"""A similarity taken apart: by pairs of tokens, by the tokens of the query, by those of the document."""

from dataclasses import replace

import numpy as np
import pytest

from codequarry.shared.embedding import token_pairs
from codequarry.shared.embedding.token_pairs import explain_by_tokens
from codequarry.shared.embedding.token_table import TokenTable
from codequarry.shared.embedding.vocabulary import Vocabulary

TOKENS = ["retry", "delay", "wait", "sleep", "file", "open", *(f"##{one}" for one in "abcdefghijklmnopqrstuvwxyz")]
QUERY = "retryDelay wait wait"
DOCUMENT = "def sleep(file): open(file); retry retry xyz"


@pytest.fixture
def table():
    chance = np.random.default_rng(3)
    weights = chance.standard_normal((len(TOKENS), 8)).astype(np.float32)
    return TokenTable.of(Vocabulary(TOKENS), weights, np.exp(chance.standard_normal(len(TOKENS))))


@pytest.fixture
def plain_table():
    """Four tokens whose products are known: retry and again alike, undo against both, file for itself."""
    weights = np.array([[1, 0], [1, 0], [-1, 0], [0, 1]], dtype=np.float32)
    return TokenTable.of(Vocabulary(["retry", "again", "undo", "file"]), weights)


def cosine(table, query, document):
    (one,), (other,) = table.asking.embed([query]), table.embed([document])
    return float(one @ other)


def kinds(found):
    return (found.shared, found.related, found.opposed)


def listed(parts):
    return {(one.query, one.document): one.contribution for one in parts.top}


@pytest.mark.parametrize("most", [0, 1, 3, 1000])
@pytest.mark.parametrize("texts", [(QUERY, DOCUMENT), (QUERY, QUERY), ("file", "retry"), (DOCUMENT, "delay")])
def test_each_of_the_three_ways_adds_up_to_the_cosine(table, texts, most):
    found = explain_by_tokens(table, *texts, most)
    expected = pytest.approx(cosine(table, *texts), abs=1e-5)
    assert found.similarity == expected
    for ways in (kinds(found), (found.query,), (found.document,)):
        assert sum(parts.total for parts in ways) == expected
        shown = sum(one.contribution for parts in ways for one in parts.top)
        assert shown + sum(parts.rest for parts in ways) == expected


def test_the_kinds_are_what_they_say(table):
    found = explain_by_tokens(table, QUERY, DOCUMENT, 1000)
    assert [(one.query, one.document) for one in found.shared.top] == [("retry", "retry")]
    for parts, sign in ((found.related, 1), (found.opposed, -1)):
        assert parts.count == len(parts.top) > 0
        assert parts.others == 0
        assert all(one.query != one.document and sign * one.contribution > 0 for one in parts.top)
    sizes = [abs(one.contribution) for one in found.opposed.top]
    assert sizes == sorted(sizes, reverse=True)


def test_contributions_of_tokens_that_are_known(plain_table):
    """Of "retry file" each token has the share 1/√2; "again again undo" is √2 - 1 long, along retry."""
    found = explain_by_tokens(plain_table, "retry file", "again again undo", 10)
    length = np.sqrt(2) - 1
    assert found.similarity == pytest.approx(np.sqrt(0.5), abs=1e-6)
    assert listed(found.related) == {("retry", "again"): pytest.approx(np.sqrt(0.5) * np.sqrt(2) / length, rel=1e-5)}
    assert listed(found.opposed) == {("retry", "undo"): pytest.approx(-np.sqrt(0.5) / length, rel=1e-5)}
    assert (found.shared.count, found.shared.total) == (0, 0)
    (pair,) = found.related.top
    assert (pair.query_count, pair.document_count) == (1, 2)
    assert [(one.token, one.count) for one in found.document.top] == [("again", 2), ("undo", 1)]
    assert {one.token: round(one.contribution, 6) for one in found.query.top} == {"retry": 0.707107, "file": 0.0}


def test_the_two_texts_may_change_places_where_tokens_count_alike_in_both(table):
    table = replace(table, query_scales=table.scales, declared=0, summarised=0)
    found, turned = explain_by_tokens(table, QUERY, DOCUMENT, 1000), explain_by_tokens(table, DOCUMENT, QUERY, 1000)
    assert turned.similarity == pytest.approx(found.similarity, abs=1e-12)
    for one, other in zip(kinds(found), kinds(turned), strict=True):
        assert listed(other) == {(b, a): pytest.approx(value, abs=1e-12) for (a, b), value in listed(one).items()}
    assert [one.token for one in turned.query.top] == [one.token for one in found.document.top]


@pytest.mark.parametrize("texts", [("", DOCUMENT), (QUERY, "{ } ;"), ("", "")])
def test_a_text_without_a_token_is_near_to_nothing(table, texts):
    found = explain_by_tokens(table, *texts, 5)
    assert found.similarity == 0
    assert [parts.total for parts in kinds(found)] == [0, 0, 0]
    assert all(parts.count == 0 for parts in kinds(found))
    assert (found.query.total, found.document.total) == (0, 0)


def test_tokens_that_cancel_each_other_out_leave_no_direction(plain_table):
    found = explain_by_tokens(plain_table, "retry undo", "retry", 5)
    assert found.similarity == 0
    assert [parts.total for parts in kinds(found)] == [0, 0, 0]


def test_only_the_largest_are_listed_and_the_others_counted(table):
    every, few = explain_by_tokens(table, QUERY, DOCUMENT, 1000), explain_by_tokens(table, QUERY, DOCUMENT, 2)
    assert list(few.related.top) == list(every.related.top[:2])
    assert few.related.others == every.related.count - 2
    assert few.related.rest == pytest.approx(sum(one.contribution for one in every.related.top[2:]))
    sizes = sorted((abs(one.contribution) for one in every.document.top), reverse=True)
    assert sorted((abs(one.contribution) for one in few.document.top), reverse=True) == sizes[:2]
    shares = [one.contribution for one in every.document.top]
    assert shares == sorted(shares, reverse=True)


def test_long_texts_are_taken_apart_piece_by_piece_with_the_same_result(table, monkeypatch):
    whole = explain_by_tokens(table, QUERY, DOCUMENT, 4)
    monkeypatch.setattr(token_pairs, "_PAIRS_AT_ONCE", 7)
    pieces = explain_by_tokens(table, QUERY, DOCUMENT, 4)
    for one, other in zip(kinds(whole), kinds(pieces), strict=True):
        assert other.count == one.count
        assert other.total == pytest.approx(one.total, abs=1e-12)
        assert listed(other) == pytest.approx(listed(one), abs=1e-12)
