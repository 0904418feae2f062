import pytest

from codequarry.search_api.cursor import Cursor, decode_cursor, digest, encode_cursor
from codequarry.shared.errors import UsageError


def test_a_cursor_survives_its_journey():
    cursor = Cursor(3, 71, (70, 71), "abc", "def")
    assert decode_cursor(encode_cursor(cursor)) == cursor


@pytest.mark.parametrize(
    "text", ["", "x", "ümlaut", "e30", "W10", "WzEsMiwzXQ", "a" * 30_000, encode_cursor(Cursor(-1, 0, (), "", ""))]
)
def test_anything_else_is_refused(text):
    with pytest.raises(UsageError, match="cursor"):
        decode_cursor(text)


def test_digests_tell_values_apart():
    assert digest("a", ["b"]) == digest("a", ["b"])
    assert digest("a", ["b"]) != digest("ab", [])
