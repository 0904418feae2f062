"""Jupyter notebooks."""

import json
from pathlib import Path

import pytest

from codequarry.ingest.chunking.pieces import Sizes

SAMPLES = Path(__file__).parents[1] / "samples"


def notebook(*cells, language="python", indent=1):
    """Return a notebook's text; each cell is a type and its source."""
    listed = [{"cell_type": kind, "metadata": {}, "outputs": [], "source": source} for kind, source in cells]
    metadata = {"kernelspec": {"name": "k", "language": language}}
    return json.dumps({"cells": listed, "metadata": metadata, "nbformat": 4}, indent=indent)


def test_cells_are_chunks_in_their_language(sample):
    chunks = sample("billing.ipynb")
    assert [(chunk.language, chunk.qualified_name) for chunk in chunks] == [
        ("markdown", "Billing"), ("python", "pay"), ("shell", "refund"), ("markdown", "Refunds"),
    ]  # fmt: skip
    assert all(chunk.derived for chunk in chunks)


@pytest.mark.parametrize("text", ['{"cells"[{"","source"""', notebook(("code", ["\n", " \n"]))])
def test_a_file_without_text_in_its_cells_is_cut_as_json(chunked, text):
    """A chunk of blank lines would hide the whole file. The first text was found by the fuzzer."""
    chunks = chunked("a.ipynb", text)
    assert "".join(chunk.text for chunk in chunks) == text


def test_a_large_cell_whose_lines_share_rows_is_cut_as_json(chunked):
    """Its lines are in two rows, but not one in each. The fuzzer found this."""
    words = "a few words " * 20
    text = f'{{"cells": [{{"cell_type": "code", "source": ["{words}\\n",\n"{words}\\n", "{words}"]}}]}}\n'
    chunks = chunked("a.ipynb", text, Sizes(30, 60, 10))
    assert not any(chunk.derived for chunk in chunks)


def test_outputs_are_dropped_and_escapes_are_read(sample):
    text = "".join(chunk.text for chunk in sample("billing.ipynb"))
    assert "an output that nobody searches for" not in text
    assert '"""Pay an invoice – once."""' in text
    assert 'There are \\"none\\".' in text


def test_a_cell_knows_the_headings_above_it(sample):
    assert sample("billing.ipynb").named("pay").context == "Billing"


def test_commands_of_ipython_do_not_hide_the_code(sample):
    pay = sample("billing.ipynb").named("pay")
    assert pay.text.startswith("%matplotlib inline\ndef pay(invoice):")
    assert pay.signature == "def pay(invoice)"


def test_lines_of_the_text_are_lines_of_the_file(sample):
    chunks = sample("billing.ipynb")
    path = next(iter(chunks)).path.rpartition("/")[2]
    written = (SAMPLES / path).read_text().split("\n")
    for chunk in chunks:
        for number, line in enumerate(chunk.text.splitlines(), chunk.start_line):
            assert json.dumps(line, ensure_ascii=False)[1:-1] in written[number - 1]


def test_all_lines_of_the_file_are_in_a_chunk(sample):
    chunks = sample("billing.ipynb")
    starts = [chunk.start_line for chunk in chunks]
    assert starts[0] == 1
    assert [chunk.end_line + 1 for chunk in chunks[:-1]] == starts[1:]


@pytest.mark.parametrize(
    ("kernel", "language"),
    [("R", "r"), ("julia", "julia"), ("C++17", "c++"), ("bash", "shell"), ("unheard of", "python")],
)
def test_the_kernel_determines_the_language(chunked, kernel, language):
    (chunk,) = chunked("a.ipynb", notebook(("code", ["x\n", "y"]), language=kernel))
    assert chunk.language == language


def test_a_cell_in_one_line_of_the_file_is_one_chunk(chunked):
    (cell, other) = chunked(
        "a.ipynb", notebook(("code", "def a():\n    return 1\n\ndef b():\n    return a()"), ("raw", "c"))
    )
    assert cell.text.endswith("def a():\n    return 1\n\ndef b():\n    return a()")
    assert cell.defines == ("a", "b")
    assert (other.language, other.text.strip()) == ("text", "c")


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"cells": []}',
        '{"cells": [[[[',
        '{"cells": [{"source": ["\\x"]}]}',
        notebook(("code", ["a\n", "b"]), ("code", ["c"]), indent=None),
        notebook(("code", "x = 1\n" * 500)),
    ],
)
def test_what_is_no_notebook_is_cut_as_json(chunked, text):
    chunks = chunked("a.ipynb", text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert not any(chunk.derived for chunk in chunks)


def test_half_a_character_is_replaced(chunked):
    (chunk,) = chunked("a.ipynb", notebook(("raw", ["\ud83d\n", "\U0001f600\0"])))
    assert chunk.text.strip().split("\n") == ["\ufffd", "\U0001f600\ufffd"]
