from pathlib import Path

import pytest

from codequarry.shared.embedding import strides
from codequarry.shared.embedding.tokens import count_tokens, estimate_tokens, pieces
from codequarry.shared.embedding.wordllama import WordLlamaEmbedder
from codequarry.shared.settings.config import EmbeddingSettings


def exact(text: str) -> int:
    """Count with a real tokenizer."""
    model = WordLlamaEmbedder(EmbeddingSettings(context_window=16))
    return model.windows(text)[-1].end_token


def test_the_estimate_of_source_code_is_within_a_third_of_a_real_count() -> None:
    text = Path(strides.__file__).read_text()
    assert count_tokens(text) == pytest.approx(exact(text), rel=0.33)


def test_characters_outside_ascii_count_about_a_token_each() -> None:
    assert count_tokens("") == 0
    assert count_tokens("检索增强生成") == 6
    assert count_tokens("x" * 29 + "é") == 11


def test_an_estimate_is_never_above_the_window() -> None:
    assert estimate_tokens(WordLlamaEmbedder(EmbeddingSettings(context_window=16)), "word " * 100) == 16
    assert estimate_tokens(WordLlamaEmbedder(EmbeddingSettings()), "word " * 100) == count_tokens("word " * 100)


@pytest.mark.parametrize("text", ["", "def read_file(path):\n    return 12345", "中文 ok", "a" * 100])
def test_pieces_are_in_order_and_hold_every_character(text: str) -> None:
    spans = pieces(text)
    assert "".join(text[start:end] for start, end in spans) == text


def test_pieces_are_cautious() -> None:
    text = Path(strides.__file__).read_text()
    assert len(pieces(text)) >= exact(text)
