"""Whether a command-line argument is read as a text, a file, or stdin."""

import io
import os
import sys

import pytest

from codequarry.cli.terminal.text_arguments import TextArgument, read_text
from codequarry.shared.errors import UsageError

LIMIT = 1000


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "retry.py").write_text("def retry(): ...\n")
    (tmp_path / "tests").mkdir()
    return tmp_path


def read(argument, reading="either"):
    return read_text(argument, "query", reading, LIMIT)


def test_an_argument_that_names_no_file_is_a_text():
    for text in ("retry delay", "retri.py", "x" * 5000, "a\0b", "tests", "@Override public void run()"):
        assert read(text) == TextArgument(text)


def test_an_argument_that_names_a_file_is_read_from_it():
    for argument in ("retry.py", "./retry.py", "@retry.py"):
        found = read(argument)
        assert (found.text, found.source) == ("def retry(): ...\n", "file")


def test_a_tilde_is_resolved_to_the_home_folder(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    for argument in ("@~/retry.py", "~/retry.py"):
        assert read(argument) == TextArgument("def retry(): ...\n", str(folder / "retry.py"))
    assert read("~nobody-of-that-name says") == TextArgument("~nobody-of-that-name says")
    with pytest.raises(UsageError, match="there is no file '~nobody-of-that-name"):
        read("@~nobody-of-that-name/retry.py")


def test_a_flag_forces_text_or_file(folder):
    assert read("retry.py", "text") == TextArgument("retry.py")
    assert read("@retry", "text") == TextArgument("@retry")
    assert read("-", "text") == TextArgument("-")
    assert read("retry.py", "file").source == "file"
    assert read("@retry.py", "file").source == "file"


def test_a_hyphen_reads_stdin(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("wärt".encode("cp1252") + b" ab")))
    found = read("-")
    assert (found.text, found.source, found.path) == ("wärt ab", "stdin", "")


def test_a_pipe_of_a_process_substitution_is_read():
    """As in `embed-check "retry delay" <(git show HEAD:retry.py)`."""
    reading, writing = os.pipe()
    os.write(writing, b"def wait(): ...")
    os.close(writing)
    try:
        assert read(f"/dev/fd/{reading}").text == "def wait(): ..."
    finally:
        os.close(reading)


@pytest.mark.parametrize(
    ("argument", "reading", "message"),
    [
        ("@retri.py", "either", "there is no file 'retri.py'; use --text"),
        ("retri.py", "file", "there is no file 'retri.py'; use --text"),
        ("@tests", "either", "'tests' is a folder; name a file"),
        (" \n", "either", "the query is empty"),
        ("", "text", "the query is empty"),
        ("empty.py", "either", "empty.py is empty"),
        ("image.png", "either", "'image.png' is not text that can be embedded: binary"),
        ("large.py", "either", "'large.py' has more than 1,000 bytes (scan.max_file_bytes)"),
    ],
)
def test_an_unusable_argument_is_a_usage_error(folder, argument, reading, message):
    (folder / "empty.py").write_text("\n")
    (folder / "image.png").write_bytes(bytes(range(256)))
    (folder / "large.py").write_text("x" * (LIMIT + 1))
    with pytest.raises(UsageError) as raised:
        read(argument, reading)
    assert str(raised.value).startswith(message)


def test_an_empty_stdin_is_a_usage_error(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(UsageError, match="the query from stdin is empty"):
        read("-")
