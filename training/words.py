"""Chooses the model's tokens by word frequency: whole words first, then pieces for all other words."""

from collections import Counter
from collections.abc import Iterable

from codequarry.shared.embedding.vocabulary import LONGEST_PIECE, PIECE
from codequarry.shared.identifiers import names_of, split_identifier
from training.pairs import Pair

ENTRIES = 31_000
# The share of entries that are pieces of words.
PIECES_SHARE = 0.1
# Words of fewer packages are their own names.
FEWEST_PACKAGES = 3
_LONGEST_WORD = 32


def count_words(pairs: Iterable[Pair]) -> Counter[str]:
    """Return how often each word occurs in the pairs of one package."""
    names = Counter(
        name for pair in pairs for text in (pair.text, pair.path, pair.head, pair.code) for name in names_of(text)
    )
    own = Counter[str]()
    for name, count in names.items():
        for word in split_identifier(name):
            own[word] += count
    return own


def sum_words(packages: Iterable[Counter[str]]) -> tuple[Counter[str], Counter[str]]:
    """Return how often each word occurs in all packages, and in how many of them."""
    often, spread = Counter[str](), Counter[str]()
    for own in packages:
        often.update(own)
        spread.update(own.keys())
    return often, spread


def choose_tokens(often: Counter[str], spread: Counter[str], entries: int = ENTRIES) -> list[str]:
    """Return the vocabulary: the most frequent words that several packages use, then pieces of the words left out."""
    singles = [PIECE + sign for sign in "abcdefghijklmnopqrstuvwxyz0123456789"]
    pieces = round(entries * PIECES_SHARE) - len(singles)
    known = [word for word, _ in often.most_common() if spread[word] >= FEWEST_PACKAGES and len(word) <= _LONGEST_WORD]
    words = known[: entries - pieces - len(singles)]
    chosen = set(words)
    left = {word: count for word, count in often.items() if word not in chosen and word.isascii()}
    return words + singles + [PIECE + piece for piece in choose_pieces(left, pieces)]


def choose_pieces(words: dict[str, int], number: int) -> list[str]:
    """Return the runs of letters that save the most tokens when rare words are cut."""
    saved = Counter[str]()
    for word, count in words.items():
        # The square root, so that no single name decides.
        weight = count**0.5
        for length in range(2, LONGEST_PIECE + 1):
            for at in range(len(word) - length + 1):
                saved[word[at : at + length]] += weight * (length - 1)
    return [piece for piece, _ in saved.most_common(number)]
