"""A similarity explained by pairs of tokens, by tokens of the query, and by tokens of the document."""

from dataclasses import replace

import numpy as np
import pytest

from codequarry.shared.embedding import token_pairs
from codequarry.shared.embedding.token_pairs import explain_by_tokens
from codequarry.shared.embedding.token_table import TokenTable
from codequarry.shared.embedding.vocabulary import Vocabulary

TOKENS = [
    "retry",
    "delay",
    "wait",
    "sleep",
    "file",
    "open",
    *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"),
]
QUERY = "retryDelay wait wait"
DOCUMENT = "def sleep(file): open(file); retry retry xyz"


@pytest.fixture
def table():
    chance = np.random.default_rng(3)
    weights = chance.standard_normal((len(TOKENS), 8)).astype(np.float32)
    return TokenTable.of(Vocabulary(TOKENS), weights, np.exp(chance.standard_normal(len(TOKENS))))


@pytest.fixture
def plain_table():
    """Return a table where retry and again are equal, undo is opposed to both, and file is orthogonal."""
    weights = np.array([[1, 0], [1, 0], [-1, 0], [0, 1]], dtype=np.float32)
    return TokenTable.of(Vocabulary(["retry", "again", "undo", "file"]), weights)


def cosine(table, query, document):
    (first,), (second,) = table.asking.embed([query]), table.embed([document])
    return float(first @ second)


def kinds(found):
    return (found.shared, found.related, found.opposed)


def listed(parts):
    return {(pair.query, pair.document): pair.contribution for pair in parts.top}


@pytest.mark.parametrize("most", [0, 1, 3, 1000])
@pytest.mark.parametrize("texts", [(QUERY, DOCUMENT), (QUERY, QUERY), ("file", "retry"), (DOCUMENT, "delay")])
def test_each_of_the_three_ways_adds_up_to_the_cosine(table, texts, most):
    found = explain_by_tokens(table, *texts, most)
    expected = pytest.approx(cosine(table, *texts), abs=1e-5)
    assert found.similarity == expected
    for ways in (kinds(found), (found.query,), (found.document,)):
        assert sum(parts.total for parts in ways) == expected
        shown = sum(part.contribution for parts in ways for part in parts.top)
        assert shown + sum(parts.rest for parts in ways) == expected


def test_pairs_are_sorted_into_shared_related_and_opposed(table):
    found = explain_by_tokens(table, QUERY, DOCUMENT, 1000)
    assert [(pair.query, pair.document) for pair in found.shared.top] == [("retry", "retry")]
    for parts, sign in ((found.related, 1), (found.opposed, -1)):
        assert parts.count == len(parts.top) > 0
        assert parts.others == 0
        assert all(pair.query != pair.document and sign * pair.contribution > 0 for pair in parts.top)
    sizes = [abs(pair.contribution) for pair in found.opposed.top]
    assert sizes == sorted(sizes, reverse=True)


def test_contributions_match_values_computed_by_hand(plain_table):
    """Each token of "retry file" has the share 1/√2; "again again undo" is √2 - 1 long, along retry."""
    found = explain_by_tokens(plain_table, "retry file", "again again undo", 10)
    length = np.sqrt(2) - 1
    assert found.similarity == pytest.approx(np.sqrt(0.5), abs=1e-6)
    assert listed(found.related) == {("retry", "again"): pytest.approx(np.sqrt(0.5) * np.sqrt(2) / length, rel=1e-5)}
    assert listed(found.opposed) == {("retry", "undo"): pytest.approx(-np.sqrt(0.5) / length, rel=1e-5)}
    assert (found.shared.count, found.shared.total) == (0, 0)
    (pair,) = found.related.top
    assert (pair.query_count, pair.document_count) == (1, 2)
    assert [(part.token, part.count) for part in found.document.top] == [("again", 2), ("undo", 1)]
    assert {part.token: round(part.contribution, 6) for part in found.query.top} == {"retry": 0.707107, "file": 0.0}


def test_swapping_the_texts_swaps_the_pairs_if_weights_are_equal(table):
    table = replace(table, query_scales=table.scales, declared=0, summarised=0)
    found, turned = explain_by_tokens(table, QUERY, DOCUMENT, 1000), explain_by_tokens(table, DOCUMENT, QUERY, 1000)
    assert turned.similarity == pytest.approx(found.similarity, abs=1e-12)
    for parts, swapped in zip(kinds(found), kinds(turned), strict=True):
        assert listed(swapped) == {(b, a): pytest.approx(value, abs=1e-12) for (a, b), value in listed(parts).items()}
    assert [part.token for part in turned.query.top] == [part.token for part in found.document.top]


@pytest.mark.parametrize("texts", [("", DOCUMENT), (QUERY, "{ } ;"), ("", "")])
def test_a_text_without_tokens_has_no_similarity(table, texts):
    found = explain_by_tokens(table, *texts, 5)
    assert found.similarity == 0
    assert [parts.total for parts in kinds(found)] == [0, 0, 0]
    assert all(parts.count == 0 for parts in kinds(found))
    assert (found.query.total, found.document.total) == (0, 0)


def test_tokens_that_cancel_out_have_no_similarity(plain_table):
    found = explain_by_tokens(plain_table, "retry undo", "retry", 5)
    assert found.similarity == 0
    assert [parts.total for parts in kinds(found)] == [0, 0, 0]


def test_only_the_largest_parts_are_listed_and_the_others_counted(table):
    every, few = explain_by_tokens(table, QUERY, DOCUMENT, 1000), explain_by_tokens(table, QUERY, DOCUMENT, 2)
    assert list(few.related.top) == list(every.related.top[:2])
    assert few.related.others == every.related.count - 2
    assert few.related.rest == pytest.approx(sum(pair.contribution for pair in every.related.top[2:]))
    sizes = sorted((abs(part.contribution) for part in every.document.top), reverse=True)
    assert sorted((abs(part.contribution) for part in few.document.top), reverse=True) == sizes[:2]
    shares = [part.contribution for part in every.document.top]
    assert shares == sorted(shares, reverse=True)


def test_long_texts_are_explained_in_pieces_with_the_same_result(table, monkeypatch):
    whole = explain_by_tokens(table, QUERY, DOCUMENT, 4)
    monkeypatch.setattr(token_pairs, "_PAIRS_AT_ONCE", 7)
    pieces = explain_by_tokens(table, QUERY, DOCUMENT, 4)
    for expected, found in zip(kinds(whole), kinds(pieces), strict=True):
        assert found.count == expected.count
        assert found.total == pytest.approx(expected.total, abs=1e-12)
        assert listed(found) == pytest.approx(listed(expected), abs=1e-12)
