from hypothesis import given
from hypothesis import strategies as st

from codequarry.shared.paths import printable, raw

# Bytes that matter for escaping: backslashes, escapes, valid and broken UTF-8, line ends and quotes.
PIECES = st.sampled_from([b"a", b"\\", b"\\x", b"ff", b"\xff", b"\xc3", b"\xa9", b"\n", b'"', b"/", b"\\xff", b"x"])


@given(st.lists(PIECES).map(b"".join))
def test_every_path_survives_a_round_trip_through_text(path):
    text = printable(path)
    text.encode()
    assert raw(text) == path


@given(st.lists(PIECES).map(b"".join), st.lists(PIECES).map(b"".join))
def test_different_paths_have_different_texts(first, second):
    assert (printable(first) == printable(second)) == (first == second)


def test_a_path_in_utf8_is_unchanged():
    for text in ["src/a.py", "größe.c", 'line\nfeed and "quotes"', "back\\slash", "日本.md"]:
        assert printable(text.encode()) == text


def test_bytes_that_are_not_utf8_are_written_as_escapes():
    assert printable(b"caf\xe9.txt") == "caf\\xe9.txt"
    assert printable(b"a\\b\xe9") == "a\\\\b\\xe9"
    assert printable(b"a\\xe9") == "a\\\\xe9"
