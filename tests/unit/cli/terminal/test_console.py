import json

import pytest

from codequarry.cli.terminal import console


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("src/app.py", "src/app.py"),
        ("größe.py", "größe.py"),
        ("a\nb\x1b[31m", "a\\nb\\x1b[31m"),
        ("\udcff.txt", "\\udcff.txt"),
    ],
)
def test_a_path_stays_on_one_line_without_control_characters(text: str, shown: str) -> None:
    assert console.safe_line(text) == shown


def test_control_characters_are_escaped_in_all_output(capsys: pytest.CaptureFixture[str]) -> None:
    console.write("\tx\x1b[2J\x9b\u202e\r")
    console.note("\x1b]0;title\x07")
    captured = capsys.readouterr()
    assert captured.out == "\tx\\x1b[2J\\x9b\\u202e\\x0d\n"
    assert captured.err == "\\x1b]0;title\\x07\n"


def test_json_escapes_control_characters_without_loss(capsys: pytest.CaptureFixture[str]) -> None:
    body = {"text": "größe \x1b[31m \x9b \u202e \u2069 \\"}
    console.write_json(body)
    output = capsys.readouterr().out
    assert json.loads(output) == body
    assert output.strip().isprintable()
    assert "größe" in output


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (42_000_000, "42 MB"), (3e12, "3.0 TB")]
)
def test_sizes_are_readable(number: float, shown: str) -> None:
    assert console.size(number) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (61, "1 min 01 s"), (3725, "1 h 02 min")]
)
def test_durations_are_readable(seconds: float, shown: str) -> None:
    assert console.duration(seconds) == shown


def test_counts_agree_with_their_noun() -> None:
    assert [console.count(number, "file") for number in (0, 1, 2000)] == ["0 files", "1 file", "2,000 files"]
    assert console.count(2, "repository", "repositories") == "2 repositories"


def test_columns_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    console.write_table([("a", 1, "x"), ("long", 22, "")], right=(1,))
    assert capsys.readouterr().out == "a      1  x\nlong  22\n"
