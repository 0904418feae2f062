"""The tokens of the built-in model: the words of identifiers and prose, and pieces for words that it never saw."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from codequarry.shared.identifiers import names_of, split_identifier

# What stands before a piece, which is never the token of a whole word.
PIECE = "##"
# No piece is longer.
LONGEST_PIECE = 6
# A longer run of letters is a hash or base64: its first pieces say as much as all of them.
_MOST_CHARACTERS = 32
# Names whose tokens are remembered: some hundred bytes each.
_MOST_REMEMBERED = 200_000


class Vocabulary:
    """From texts to token ids, the same for training and use."""

    def __init__(self, tokens: Sequence[str]) -> None:
        """Take the tokens in the order of their ids; those that begin with PIECE are pieces."""
        self.tokens = tuple(tokens)
        self._words: Mapping[str, int] = {one: number for number, one in enumerate(tokens) if one[:2] != PIECE}
        self._pieces: Mapping[str, int] = {one[2:]: number for number, one in enumerate(tokens) if one[:2] == PIECE}
        self._names: dict[str, tuple[int, ...]] = {}

    @classmethod
    def read(cls, path: Path) -> "Vocabulary":
        """Read a vocabulary: one token a line."""
        return cls(path.read_text(encoding="utf-8").split("\n")[:-1])

    def write(self, path: Path) -> None:
        """Write a vocabulary: one token a line."""
        path.write_text("".join(f"{token}\n" for token in self.tokens), encoding="utf-8")

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's tokens, in order; signs and characters that no token has are left out."""
        names, found = self._names, list[int]()
        for name in names_of(text):
            known = names.get(name)
            found += self._remember(name) if known is None else known
        return found

    def _remember(self, name: str) -> tuple[int, ...]:
        found = tuple(number for word in split_identifier(name) for number in self._of_word(word))
        if len(self._names) >= _MOST_REMEMBERED:
            self._names.clear()
        self._names[name] = found
        return found

    def _of_word(self, word: str) -> Iterable[int]:
        whole = self._words.get(word)
        return (whole,) if whole is not None else self._cut(word[:_MOST_CHARACTERS])

    def _cut(self, word: str) -> Iterable[int]:
        """Cut a word into the longest pieces, from its beginning."""
        at = 0
        while at < len(word):
            for length in range(min(LONGEST_PIECE, len(word) - at), 0, -1):
                number = self._pieces.get(word[at : at + length])
                if number is not None:
                    yield number
                    at += length
                    break
            else:
                at += 1


def words_of(text: str) -> Iterable[str]:
    """Yield the words of a text as the vocabulary cuts them."""
    for name in names_of(text):
        yield from split_identifier(name)
