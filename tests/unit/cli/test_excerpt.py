import pytest

from codequarry.cli.excerpt import Excerpt, excerpt

CODE = "\n\ndef first():\n    pass\n\n\ndef retry_delay(attempt):\n    return 2 ** attempt\n\n\ndef last():\n    pass\n"


def hit(text: str, start_line: int = 10) -> dict[str, object]:
    return {"text": text, "start_line": start_line}


def test_the_lines_with_the_words_of_the_query_are_shown_with_their_true_numbers() -> None:
    shown = excerpt(hit(CODE), "how is the retry delay computed for an attempt", 2)
    assert shown == Excerpt(16, ("def retry_delay(attempt):", "    return 2 ** attempt"))


def test_without_a_word_of_the_query_the_first_filled_lines_are_shown() -> None:
    assert excerpt(hit(CODE), "nothing here", 2) == Excerpt(12, ("def first():", "    pass"))


def test_the_earliest_of_equal_places_wins() -> None:
    assert excerpt(hit("a = one\nb = one\nc = one"), "one", 1).start == 10


@pytest.mark.parametrize(("text", "lines"), [("", ()), ("\n\n", ()), ("x", ("x",))])
def test_short_texts_are_shown_whole(text: str, lines: tuple[str, ...]) -> None:
    assert excerpt(hit(text), "x", 5).lines == lines


def test_no_lines_are_shown_where_none_are_wanted() -> None:
    assert excerpt(hit(CODE), "retry", 0).lines == ()


def test_windows_line_ends_are_not_shown():
    assert excerpt(hit("a = 1\r\nb = 2\r\n"), "x", 5).lines == ("a = 1", "b = 2")
