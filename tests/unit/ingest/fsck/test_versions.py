"""Inconsistencies of files and chunks between git and the index."""

from dataclasses import replace
from pathlib import Path

import pytest

from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.fsck.files import KINDS, Inconsistency, check_files
from codequarry.ingest.fsck.texts import check_text
from codequarry.shared.model import INDEXED, Chunk, FileRecord


def task(path: str, blob: str = "b" * 40, **fields) -> FileTask:
    return FileTask(path, blob, 10, "r", **fields)


def record(path: str, blob: str = "b" * 40, **fields) -> FileRecord:
    return FileRecord("project", path, blob, fields.pop("verdict", INDEXED), fields.pop("rows", 0), "r", 1, 2, **fields)


def test_the_verdict_must_match_the_path_rules():
    tasks = [task("v/a.py", skip="vendored")]
    (problem,) = check_files(tasks, [record("v/a.py")], {}, same_rules=True)
    assert problem == Inconsistency("verdict", "v/a.py", "the index says indexed, the rules say vendored")
    assert check_files(tasks, [record("v/a.py")], {}, same_rules=False) == []


def test_problems_are_sorted_by_path():
    problems = check_files([task("b"), task("a")], [record("c")], {}, same_rules=True)
    assert [(problem.path, problem.kind) for problem in problems] == [
        ("a", "missing"),
        ("b", "missing"),
        ("c", "extra"),
    ]


def test_the_documentation_explains_every_kind_of_problem():
    page = (Path(__file__).parents[4] / "docs" / "cli.md").read_text()
    assert all(f"| `{kind}` | {meaning} |" in page for kind, meaning in KINDS.items())


def chunk(text: str, start: int, end: int, **fields) -> Chunk:
    lines = "one\ntwo\nthree\r\n\nlast".splitlines(keepends=True)
    first, last = sum(map(len, lines[: start - 1])), sum(map(len, lines[:end]))
    return Chunk("i", "p", "a", "b", "text", "file", start, end, first, last, text, "h", **fields)


DATA = b"one\ntwo\nthree\r\n\nlast"


@pytest.mark.parametrize(
    ("chunks", "wrong"),
    [
        ([chunk("one\ntwo\n", 1, 2), chunk("three\r\n\nlast", 3, 5)], []),
        ([chunk("one\ntwo\nthree\r\n", 1, 3), chunk("three\r\n\nlast", 3, 5)], []),
        ([chunk("one\ntwo\n", 1, 2), chunk("\nlast", 4, 5)], ["in no chunk: lines 3"]),
        ([chunk("two\n", 2, 2)], ["in no chunk: lines 1, 3-5"]),
        ([], ["in no chunk: lines 1-5"]),
        ([chunk("One\ntwo\n", 1, 2), chunk("three\r\n\nlast", 3, 5)], ["lines 1 to 2: the text differs"]),
        ([chunk("***\ntwo\n", 1, 2, masked=True), chunk("three\r\n\nlast", 3, 5)], []),
        ([chunk("one\ntwo\nthree\r\n\nlast", 1, 5), chunk("", 6, 6)], ["lines 6 to 6: the file has 5 lines"]),
        (
            [replace(chunk("one\ntwo\nthree\r\n\nlast", 1, 5), start_char=1)],
            ["lines 1 to 5: characters 1 to 20 are not these lines"],
        ),
    ],
)
def test_chunks_are_compared_with_the_blob_line_by_line(chunks, wrong):
    found = check_text(record("a"), DATA, chunks)
    assert [problem.detail for problem in found] == wrong


def test_an_empty_file_needs_no_chunk():
    assert check_text(record("a"), b"", []) == []


def test_an_indexed_binary_blob_is_a_wrong_verdict():
    (problem,) = check_text(record("a"), b"\x00\x01", [])
    assert (problem.kind, problem.detail) == ("verdict", "the index says indexed, the blob is binary")
