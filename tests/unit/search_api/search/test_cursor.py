import json
from base64 import urlsafe_b64decode

import pytest

from codequarry.search_api.ranking.score_fusion import SecondScores
from codequarry.search_api.search.cursor import MAX_CHARACTERS, Cursor, Seal, decode_cursor, digest, encode_cursor
from codequarry.search_api.versions.views import AsOf
from codequarry.shared.errors import UsageError
from codequarry.shared.settings.reranking import MOST_CANDIDATES

SEAL = Seal(b"k" * 32, "team")


def test_a_cursor_survives_a_round_trip():
    cursor = Cursor(3, AsOf(71, (70, 71)), "abc", "def")
    assert decode_cursor(encode_cursor(cursor, SEAL), SEAL) == cursor


def test_a_cursor_keeps_the_scores_of_the_second_stage():
    second = SecondScores(0.3, {"0a1b2c3d": 0.5123, "ffffffff": -0.25}, "reranking: 2 were late")
    cursor = Cursor(1, AsOf(71, ()), "abc", "def", second)
    assert decode_cursor(encode_cursor(cursor, SEAL), SEAL) == cursor


def test_a_cursor_has_room_for_the_scores_of_all_candidates():
    scores = {f"{number:08x}": -0.1234 for number in range(MOST_CANDIDATES)}
    many = Cursor(
        49, AsOf(10**9, tuple(range(10**9, 10**9 + 500))), "a" * 16, "b" * 16, SecondScores(0.3, scores, "x" * 200)
    )
    text = encode_cursor(many, SEAL)
    assert len(text) < MAX_CHARACTERS
    assert decode_cursor(text, SEAL) == many


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "ümlaut", "e30", "W10", "WzEsMiwzXQ", "a" * 30_000),
        encode_cursor(Cursor(-1, AsOf(0, ()), "", ""), SEAL),
        encode_cursor(Cursor(1, AsOf(0, ()), "", ""), Seal(b"k" * 32, "other")),
        encode_cursor(Cursor(1, AsOf(0, ()), "", ""), Seal(b"l" * 32, "team")),
    ],
)
def test_invalid_cursors_and_those_of_other_callers_are_refused(text):
    with pytest.raises(UsageError, match="cursor"):
        decode_cursor(text, SEAL)


def test_a_changed_cursor_is_refused():
    text = encode_cursor(Cursor(1, AsOf(5, ()), "abc", "def"), SEAL)
    for place in range(0, len(text) - 1, 7):
        changed = text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]
        with pytest.raises(UsageError, match="cursor"):
            decode_cursor(changed, SEAL)


def test_a_cursor_reveals_nothing_of_the_index_even_by_its_length():
    """The counter grows with every transaction of every repository, including hidden repositories."""
    few = encode_cursor(Cursor(1, AsOf(5, ()), "abc", "def"), SEAL)
    many = encode_cursor(Cursor(1, AsOf(5_000_000, (4_999_998, 4_999_999)), "abc", "def"), SEAL)
    assert len(few) == len(many)
    body = urlsafe_b64decode(many + "=" * (-len(many) % 4))
    assert b"5000000" not in body
    with pytest.raises(ValueError):
        json.loads(body.decode("latin-1"))


def test_different_values_have_different_digests():
    assert digest("a", ["b"]) == digest("a", ["b"])
    assert digest("a", ["b"]) != digest("ab", [])
