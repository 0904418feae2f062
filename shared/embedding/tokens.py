"""Token estimates without a model: right on average for plans and prices, never far too low for cutting texts."""

import re

from codequarry.shared.embedding.port import Embedder

# Measured with the tokenizers of Llama 2 and BERT: 2.7 and 2.8 over 540 files of 18 kinds, 3.3 and 3.5 over Python and
# prose, down to 2.1 over markup and settings.
CHARACTERS_PER_TOKEN = 2.9
# Outside ASCII, most tokenizers use about one token per character.
TOKENS_PER_OTHER_CHARACTER = 1.0

# Words in runs of four letters, numbers in pairs of digits, every other visible character, runs of white space. On
# the same files this gives 1.1 to 1.6 times the true number, and exactly that number in tables of numbers.
_PIECE = re.compile(r"[A-Za-z]{1,4}|[0-9]{1,2}|[^\sA-Za-z0-9]|\s+")


def count_tokens(text: str) -> int:
    """Estimate the tokens of ``text`` for any model: cheap, and about right over a whole repository."""
    if text.isascii():
        return round(len(text) / CHARACTERS_PER_TOKEN)
    ascii_characters = len(text.encode("ascii", "ignore"))
    others = len(text) - ascii_characters
    return round(ascii_characters / CHARACTERS_PER_TOKEN + others * TOKENS_PER_OTHER_CHARACTER)


def estimate_tokens(embedder: Embedder, text: str) -> int:
    """Estimate the tokens of ``text`` that ``embedder`` will read, at most its window."""
    estimate = count_tokens(text)
    return estimate if embedder.max_tokens is None else min(estimate, embedder.max_tokens)


def pieces(text: str) -> list[tuple[int, int]]:
    """Return character spans, each of at most about one token of any common model."""
    return [match.span() for match in _PIECE.finditer(text)]
