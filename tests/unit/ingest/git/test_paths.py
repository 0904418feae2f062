from hypothesis import given
from hypothesis import strategies as st

from codequarry.ingest.git.paths import printable, raw

# Bytes that matter to the form: backslashes, escapes, UTF-8 whole and broken, line ends and quotes.
PIECES = st.sampled_from([b"a", b"\\", b"\\x", b"ff", b"\xff", b"\xc3", b"\xa9", b"\n", b'"', b"/", b"\\xff", b"x"])


@given(st.lists(PIECES).map(b"".join))
def test_every_path_is_valid_text_and_comes_back(path):
    text = printable(path)
    text.encode()
    assert raw(text) == path


@given(st.lists(PIECES).map(b"".join), st.lists(PIECES).map(b"".join))
def test_two_paths_never_share_a_form(one, other):
    assert (printable(one) == printable(other)) == (one == other)


def test_a_path_in_utf8_stays_as_it_is():
    for text in ["src/a.py", "größe.c", 'line\nfeed and "quotes"', "back\\slash", "日本.md"]:
        assert printable(text.encode()) == text


def test_bytes_that_are_not_utf8_are_written_as_escapes():
    assert printable(b"caf\xe9.txt") == "caf\\xe9.txt"
    assert printable(b"a\\b\xe9") == "a\\\\b\\xe9"
    assert printable(b"a\\xe9") == "a\\\\xe9"
