from codequarry.shared.long_lines import MOST_CHARACTERS, shorten_line, shorten_lines


def test_lines_that_people_write_stay_as_they_are():
    assert shorten_line("x" * MOST_CHARACTERS) == "x" * MOST_CHARACTERS
    assert shorten_lines("a = 1\n" * 5000) == "a = 1\n" * 5000


def test_a_long_line_is_shown_where_a_word_of_the_query_stands():
    line = "a=1;" * 50_000 + "function Retry(){}" + "b=2;" * 50_000
    shown = shorten_line(line, ["retry"])
    assert "function Retry(){}" in shown
    assert shown.startswith("… 199,809 characters, then ")
    assert shown.endswith(" … 199,209 more characters")
    assert len(shown) < 1_100


def test_without_such_a_word_the_beginning_is_shown():
    assert shorten_line("ab" * 5_000, ["zz"]) == "ab" * 500 + " … 9,000 more characters"
    assert shorten_lines("x\n" + "ab" * 5_000 + "\ny\n") == "x\n" + "ab" * 500 + " … 9,000 more characters\ny\n"
