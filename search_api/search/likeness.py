"""How alike two pieces of code are: the pairs of neighbouring tokens that they share. Pure, and linear in their length.

Lines would not do: in a function of three lines, one edited line and a new name leave one line alike.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from codequarry.shared.model import Chunk

_WORD = re.compile(r"\w*[^\W_]")
_TOKEN = re.compile(r"\w+|[^\w\s]")
# Words that say nothing about where code comes from, because code everywhere has them.
_COMMON = frozenset(
    re.findall(
        r"\w+",
        """
        abstract any as async await bool boolean break case catch class const continue def default do double elif else
        enum except export extends false final finally float fn for from fun func function if impl implements import in
        init int interface internal is it lambda let long mut new nil none not null object of open operator or and
        override package pass private protected pub public raise readonly return self static str string struct super
        switch this throw throws true try type typeof undefined use val var virtual void while with yield __init__
        """,
    )
)


@dataclass(frozen=True)  # no slots: the pairs are cached
class Fingerprint:
    """The tokens of a piece of code, with the names that it declares replaced, so that a new name changes nothing."""

    tokens: tuple[str, ...]

    @cached_property
    def pairs(self) -> Counter[tuple[str, str]]:
        """How often each pair of neighbouring tokens occurs."""
        return Counter(zip(("", *self.tokens), (*self.tokens, ""), strict=True))

    @cached_property
    def words(self) -> frozenset[str]:
        """The words and numbers that could tell where the code comes from."""
        return frozenset(token for token in self.tokens if _WORD.match(token) and token.lower() not in _COMMON)


NAME = "\0"
"""Stands for every declared name in a fingerprint."""


def fingerprint(text: str, names: Iterable[str] = ()) -> Fingerprint:
    """Return the fingerprint of a text that declares ``names``."""
    declared = frozenset(names)
    return Fingerprint(tuple(NAME if token in declared else token for token in _TOKEN.findall(text)))


def fingerprint_of(chunk: Chunk) -> Fingerprint:
    """Return the fingerprint of a chunk, without its own name."""
    return fingerprint(chunk.text, (chunk.symbol_name,) if chunk.symbol_name else ())


def likeness(one: Fingerprint, other: Fingerprint) -> float:
    """Return the share of token pairs that two pieces of code have in common, 0 to 1 (their Dice coefficient)."""
    return 2 * _shared(one, other) / max(1, one.pairs.total() + other.pairs.total())


def containment(one: Fingerprint, other: Fingerprint) -> float:
    """Return the share of the token pairs of the smaller piece that the larger one has, 0 to 1."""
    return _shared(one, other) / max(1, min(one.pairs.total(), other.pairs.total()))


def shared_lines(one: Counter[str], other: Counter[str]) -> float:
    """Return the share of text that two files have in common, line by line and as git compares files, 0 to 1."""
    small, large = sorted((one, other), key=len)
    shared = sum(len(line) * min(number, large[line]) for line, number in small.items() if line in large)
    return 2 * shared / max(1, _characters(one) + _characters(other))


def _characters(lines: Counter[str]) -> int:
    return sum(len(line) * number for line, number in lines.items())


def _shared(one: Fingerprint, other: Fingerprint) -> int:
    small, large = sorted((one.pairs, other.pairs), key=len)
    return sum(min(number, large[pair]) for pair, number in small.items() if pair in large)
