"""The judge of borders finds chunks that begin in the middle of something."""

import pytest

from bench.chunk_borders import outline_of
from bench.chunks_of_repositories import SIZES, differing
from codequarry.ingest.chunking.chunker import chunk_file
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.ingest.chunking.text import SourceText

WORDS = "    a few words of a text\n"
SOURCE = f'''\
import os


# About f.
@decorated
def f(a):
    b = call(
        a,
    )
    return b


TABLE = {{
    "one": 1,
}}
TEXT = """
{WORDS * 200}"""
'''


@pytest.mark.parametrize(
    ("row", "good"),
    [
        (0, True),
        (1, True),
        (3, True),
        (4, False),
        (5, False),
        (6, False),
        (8, False),
        (11, True),
        (13, True),
        (15, True),
    ],
)
def test_a_chunk_may_begin_at_a_statement_outside_of_functions_that_fit(row: int, good: bool) -> None:
    """A chunk may begin above a declaration or at an entry of a table, but not inside a function that fits into one."""
    outline = outline_of("python", "a.py", SourceText.of(SOURCE), SIZES)
    assert outline is not None
    assert outline.is_good(row) == good
    assert not outline.is_in_text(row)


def test_rows_of_a_long_text_are_counted_apart() -> None:
    """A literal that no chunk can hold must be cut somewhere."""
    outline = outline_of("python", "a.py", SourceText.of(SOURCE), SIZES)
    assert outline is not None
    assert outline.is_in_text(100)
    assert not outline.is_good(100)


def test_chunks_are_compared_with_bytes_of_git() -> None:
    """A chunk whose text is not that of its lines is reported."""
    chunks = chunk_file(SourceFile("r", "a.py", "", "python", SOURCE), SIZES)
    assert not list(differing(chunks, SOURCE.encode()))
    assert len(list(differing(chunks, SOURCE.replace("one", "two").encode()))) == 1
