"""A decoded file with offsets in rows, characters, bytes and tokens."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate


def decode(data: bytes) -> str:
    """Decode a slice of an encoded file; a truncated character becomes a replacement character."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file's text and the offsets of its rows.

    Rows are numbered from 0 and end only with a line feed, as in git and editors. The offset lists have an entry per
    row and one for the end of the file; ``token_sums[i]`` counts the tokens of all rows before row ``i``.
    """

    text: str
    data: bytes
    lines: tuple[str, ...]
    char_starts: tuple[int, ...]
    byte_starts: tuple[int, ...]
    token_sums: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> "SourceText":
        """Index ``text``; lone surrogates are kept."""
        data = text.encode("utf-8", "surrogatepass")
        pieces = text.split("\n")
        lines = tuple([line + "\n" for line in pieces[:-1]] + [pieces[-1]] * bool(pieces[-1]))
        char_starts = tuple(accumulate(map(len, lines), initial=0))
        byte_starts = char_starts
        if len(data) != len(text):
            byte_starts = tuple(accumulate((len(line.encode("utf-8", "surrogatepass")) for line in lines), initial=0))
        token_sums = tuple(accumulate(map(count_tokens, lines), initial=0))
        return cls(text, data, lines, char_starts, byte_starts, token_sums)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.lines)

    def between(self, start: int, end: int) -> str:
        """Return rows ``start`` to ``end`` (exclusive), line ends included."""
        return self.text[self.char_starts[start] : self.char_starts[end]]

    def tokens(self, start: int, end: int) -> int:
        """Count the tokens of rows ``start`` to ``end`` (exclusive)."""
        return self.token_sums[end] - self.token_sums[start]

    def slice(self, start_byte: int, end_byte: int) -> str:
        """Return the text between two byte offsets."""
        return decode(self.data[start_byte:end_byte])

    def char_at(self, byte: int) -> int:
        """Return the character offset for a byte offset at which a character begins."""
        if len(self.data) == len(self.text):
            return byte
        row = min(bisect_right(self.byte_starts, byte), self.rows) - 1
        return self.char_starts[row] + len(decode(self.data[self.byte_starts[row] : byte]))

    def is_blank(self, row: int) -> bool:
        """Return whether a row has only white space."""
        return not self.lines[row].strip()


# Ideographs, kana and Hangul have about one token per character, other letters about one per six.
_PIECE = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]"
    r"|[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]{1,6}"
    r"|\d{1,3}"
    r"|[^\w\s]"
    r"|_"
)

# The same for ASCII, several times faster.
_ASCII_PIECE = re.compile(r"[A-Za-z]{1,6}|[0-9]{1,3}|[^\sA-Za-z0-9]")


def count_tokens(text: str) -> int:
    """Count the tokens of ``text``."""
    return len((_ASCII_PIECE if text.isascii() else _PIECE).findall(text))
