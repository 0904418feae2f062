"""The tokens of the built-in model: words of identifiers and prose, and pieces for words that it does not know."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from codequarry.shared.identifiers import names_of, split_identifier, words_in

# The prefix of a piece; the token of a whole word never has it.
PIECE = "##"
# Maximum length of a piece, in characters.
LONGEST_PIECE = 6
# Longer runs of letters are hashes or base64, whose first pieces say as much as all of them.
_MOST_CHARACTERS = 32
# Maximum number of names whose tokens are cached, and their maximum length; each takes a few hundred bytes.
_MOST_REMEMBERED = 200_000
_LONGEST_REMEMBERED = 64


class _Remembered(dict[str, bytes]):
    def __init__(self, find: Callable[[str], bytes]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, name: str) -> bytes:
        found = self._find(name)
        if len(name) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[name] = found
        return found


class Vocabulary:
    """Turns texts into token ids, in training and in use. Safe to use from several threads."""

    def __init__(self, tokens: Sequence[str]) -> None:
        """Set the tokens, in the order of their ids; tokens that begin with PIECE are pieces."""
        self.tokens = tuple(tokens)
        self._numbers: Mapping[str, int] = dict(zip(self.tokens, range(len(self.tokens)), strict=True))
        self._names = _Remembered(self._of_name)

    @classmethod
    def read(cls, path: Path) -> "Vocabulary":
        """Read a vocabulary: one token per line."""
        return cls(path.read_text(encoding="utf-8").split("\n")[:-1])

    def write(self, path: Path) -> None:
        """Write a vocabulary: one token per line."""
        path.write_text("".join(f"{token}\n" for token in self.tokens), encoding="utf-8", newline="\n")

    def packed(self, text: str) -> bytes:
        """Return the ids of a text's tokens in order, as int32 bytes, which are much faster to join than numbers."""
        return b"".join(map(self._names.__getitem__, names_of(text)))

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's tokens, in order."""
        return memoryview(self.packed(text)).cast("i").tolist()

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the start and end of each token of ``ids`` in the text."""
        return [span for word, start, end in words_in(text) for _, span in self._placed(word, start, end)]

    def _of_name(self, name: str) -> bytes:
        found = [number for word in split_identifier(name) for number, _ in self._placed(word, 0, len(word))]
        return np.array(found, dtype=np.int32).tobytes()

    def _placed(self, word: str, start: int, end: int) -> Iterable[tuple[int, tuple[int, int]]]:
        """Return the tokens of the word from ``start`` to ``end``, each with its span."""
        whole = self._numbers.get(word)
        if whole is not None:
            return ((whole, (start, end)),)
        cut = self._cut(word[:_MOST_CHARACTERS])
        if len(word) != end - start:  # lower-casing changed the length, so the spans of the pieces are unknown
            return ((number, (start, end)) for number, _, _ in cut)
        return ((number, (start + first, start + last)) for number, first, last in cut)

    def _cut(self, word: str) -> Iterator[tuple[int, int, int]]:
        """Cut a word into the longest pieces, from its start; skip characters without a piece."""
        at = 0
        while at < len(word):
            for length in range(min(LONGEST_PIECE, len(word) - at), 0, -1):
                number = self._numbers.get(PIECE + word[at : at + length])
                if number is not None:
                    yield number, at, at + length
                    at += length
                    break
            else:
                at += 1
