"""The fuzzer notices chunks that break an invariant, and makes the file that breaks it smaller."""

import random
from dataclasses import replace

import pytest

from bench import chunker_fuzz
from bench.chunker_fuzz import MUTATIONS, SAMPLES, Case, Worker, problem, shrunk
from codequarry.shared.settings.config import ChunkingSettings

SIZES = ChunkingSettings(target_tokens=30, max_tokens=60, overlap_tokens=10)
CODE = b"".join(b"def f%d(a):\n    return a + %d\n\n\n" % (number, number) for number in range(40))


NOTEBOOK = (SAMPLES / "billing.ipynb").read_bytes()


@pytest.mark.parametrize(
    ("path", "data"), [("a.py", CODE), ("a.md", b"# a\n\nb\n"), ("a.png", b"\0"), ("a.c", b""), ("a.ipynb", NOTEBOOK)]
)
def test_sound_files_have_no_problem(path, data):
    assert problem(Case(path, data, SIZES)) == ""


def spoiled(change):
    """Return a ``judge`` that spoils the second chunk of every file."""
    whole = chunker_fuzz.judge

    def judge(*given):
        file = whole(*given)
        pieces = [
            replace(piece, chunk=change(piece.chunk)) if at == 1 else piece for at, piece in enumerate(file.pieces)
        ]
        return replace(file, pieces=tuple(piece for piece in pieces if piece.chunk))

    return judge


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda chunk: replace(chunk, text=chunk.text + "x"), "text: differs"),
        (lambda chunk: replace(chunk, start_line=chunk.start_line + 1), "order: lines"),
        (lambda chunk: replace(chunk, ordinal=7), "order: ordinals"),
        (lambda chunk: replace(chunk, end_char=chunk.end_char + 1), "lines: characters"),
        (lambda chunk: None, "order: ordinals"),
    ],
)
def test_a_spoiled_chunk_is_noticed(monkeypatch, change, found):
    monkeypatch.setattr(chunker_fuzz, "judge", spoiled(change))
    assert problem(Case("a.py", CODE, SIZES)) == found


def test_mutations_leave_bytes_whatever_they_are_given():
    chance = random.Random(1)
    for mutation in MUTATIONS:
        for data in (b"", b"x", CODE):
            assert isinstance(mutation(data, [b"", CODE], chance), bytes)


def test_a_failing_file_is_made_smaller():
    class Finder(Worker):
        def __init__(self) -> None:
            pass

        def problem(self, case: Case) -> str:
            return "found" if b"!" in case.data else ""

    assert shrunk(Case("a.py", CODE + b"!" + CODE, SIZES), "found", Finder()).data == b"!"
