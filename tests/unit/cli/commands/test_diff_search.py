import pytest

from codequarry.cli.commands.diff_search import changed_lines


@pytest.fixture
def sql(make_hit):
    return make_hit(text="-- how long to wait\nSELECT 1;\n+++ kept\n")


def test_lines_that_look_like_a_diff_header_are_content(sql, make_hit) -> None:
    other = make_hit(text="-- until when\nSELECT 1;\n++ kept\n")
    assert list(changed_lines(sql, other, 10)) == [
        "--- how long to wait",
        "+-- until when",
        " SELECT 1;",
        "-+++ kept",
        "+++ kept",
    ]


def test_added_and_removed_hits_are_shown_whole(sql) -> None:
    assert list(changed_lines(None, sql, 10)) == ["+-- how long to wait", "+SELECT 1;", "++++ kept"]
    assert list(changed_lines(sql, None, 10)) == ["--- how long to wait", "-SELECT 1;", "-+++ kept"]


def test_equal_texts_show_no_lines(sql) -> None:
    assert list(changed_lines(sql, sql, 10)) == []


def test_at_most_the_requested_lines_are_shown(sql) -> None:
    assert list(changed_lines(None, sql, 1)) == ["+-- how long to wait", "… 2 more lines"]
    assert list(changed_lines(None, sql, 0)) == []
