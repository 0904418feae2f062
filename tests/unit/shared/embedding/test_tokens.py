import pytest

from codequarry.shared.embedding.factory import open_built_in
from codequarry.shared.embedding.tokens import count_tokens, estimate_tokens, pieces
from codequarry.shared.settings.config import EmbeddingSettings

SOURCE = '''"""Strides: a text longer than the model's window is embedded in overlapping windows."""

from collections.abc import Sequence
from dataclasses import dataclass

# The eighth of the window that strides leave free, and the eighth that neighbours share.
_EIGHTH = 8


@dataclass(frozen=True, slots=True)
class StrideShape:
    """``limit`` tokens fit at once; a text that is longer is read ``window`` at a time."""

    limit: int
    window: int
    overlap: int


def spans(tokens: int, shape: StrideShape, reserved: int = 0) -> list[tuple[int, int]]:
    """Return the token spans in which ``tokens`` are read."""
    if tokens <= shape.limit - reserved:
        return [(0, tokens)]
    window = max(1, min(shape.window, shape.limit - reserved))
    step = max(1, window - shape.overlap)
    found = []
    for start in range(0, tokens, step):
        found.append((start, min(start + window, tokens)))
        if start + window >= tokens:
            break
    return found
'''
# Token counts by the tokenizers of Llama 2 and BERT (uncased), from the library `tokenizers` 0.23.
COUNTS = {"Llama 2": 295, "BERT": 270}


@pytest.mark.parametrize("model", COUNTS)
def test_the_estimate_of_source_code_is_within_a_third_of_a_real_count(model: str) -> None:
    assert count_tokens(SOURCE) == pytest.approx(COUNTS[model], rel=0.33)


def test_characters_outside_ascii_count_about_a_token_each() -> None:
    assert count_tokens("") == 0
    assert count_tokens("检索增强生成") == 6
    assert count_tokens("x" * 29 + "é") == 11


def test_an_estimate_never_exceeds_the_window() -> None:
    assert estimate_tokens(open_built_in(EmbeddingSettings(context_window=16)), "word " * 100) == 16
    assert estimate_tokens(open_built_in(EmbeddingSettings()), "word " * 100) == count_tokens("word " * 100)


@pytest.mark.parametrize("text", ["", "def read_file(path):\n    return 12345", "中文 ok", "a" * 100])
def test_pieces_are_in_order_and_cover_every_character(text: str) -> None:
    spans = pieces(text)
    assert "".join(text[start:end] for start, end in spans) == text


@pytest.mark.parametrize("model", COUNTS)
def test_there_are_at_least_as_many_pieces_as_tokens(model: str) -> None:
    assert len(pieces(SOURCE)) >= COUNTS[model]
