"""The integrity check reports each kind of deviation."""

from dataclasses import replace
from hashlib import sha256

import pytest

from bench.acceptance.integrity import compare_text
from codequarry.shared.model import Chunk

DATA = b"one\ntwo\r\nthree"


def chunk(text: str, start_line: int, end_line: int, start_char: int) -> Chunk:
    return Chunk(
        id=f"{start_line}", repo="r", path="p", blob="b", language="text", symbol_type="block",
        start_line=start_line, end_line=end_line, start_char=start_char, end_char=start_char + len(text),
        text=text, content_hash=sha256(text.encode()).hexdigest(),
    )  # fmt: skip


@pytest.fixture
def chunks() -> list[Chunk]:
    return [chunk("one\ntwo\r\n", 1, 2, 0), chunk("three", 3, 3, 9)]


def test_correct_chunks_have_no_deviation(chunks: list[Chunk]) -> None:
    assert list(compare_text(chunks, DATA)) == []


def test_a_line_in_no_chunk_is_reported(chunks: list[Chunk]) -> None:
    assert list(compare_text(chunks[:1], DATA)) == ["1 of 3 lines are in no chunk, the first is 3"]


def test_a_changed_line_ending_is_reported(chunks: list[Chunk]) -> None:
    changed = chunk("one\ntwo\n", 1, 2, 0)
    found = " ".join(compare_text([changed, chunks[1]], DATA))
    assert "differs from git at its lines" in found
    assert "at its characters 0 to 8" in found


def test_a_wrong_hash_is_reported(chunks: list[Chunk]) -> None:
    changed = replace(chunks[0], content_hash="0")
    assert "content hash" in " ".join(compare_text([changed, chunks[1]], DATA))


def test_a_masked_chunk_of_another_length_is_reported(chunks: list[Chunk]) -> None:
    masked = replace(chunk("***", 1, 2, 0), masked=True)
    assert "its length differs" in " ".join(compare_text([masked, chunks[1]], DATA))


def test_a_file_with_text_but_no_chunks_is_reported() -> None:
    assert list(compare_text([], DATA)) == ["is indexed and not empty, but has no chunks"]
    assert list(compare_text([], b"\n")) == []
