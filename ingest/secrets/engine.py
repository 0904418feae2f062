"""RE2, whose time grows with the text alone: patterns that a stranger's text can't make slow."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Protocol

import re2

# Counted repetitions of hundreds of characters need room; the default is meant for thousands of patterns a process.
_BYTES_OF_A_PATTERN = 64 << 20


class Match(Protocol):
    """What a pattern found."""

    def start(self, group: int = 0) -> int:
        """Return where a group begins."""
        ...

    def end(self, group: int = 0) -> int:
        """Return where a group ends."""
        ...

    def span(self, group: int = 0) -> tuple[int, int]:
        """Return where a group begins and ends."""
        ...

    def group(self, group: int = 0) -> bytes | None:
        """Return what a group matched."""
        ...

    def groups(self) -> tuple[bytes | None, ...]:
        """Return what each group matched."""
        ...


class SecretPattern(Protocol):
    """A compiled pattern over bytes in UTF-8."""

    def finditer(self, text: bytes) -> Iterator[Match]:
        """Yield what is found, one after the other."""
        ...

    def search(self, text: bytes) -> Match | None:
        """Return what is found first."""
        ...

    def match(self, text: bytes) -> Match | None:
        """Return what is found at the beginning."""
        ...


class KeywordSet:
    """Many words that are looked for in one pass."""

    def __init__(self, words: list[str]) -> None:
        self._set = re2.Set.SearchSet()
        for word in words:
            self._set.Add(re2.escape(word.encode()))
        self._set.Compile()

    def found_in(self, text: bytes) -> list[int]:
        """Return the places in the list of the words that a text has."""
        return self._set.Match(text) or []


@lru_cache(maxsize=512)
def compiled(pattern: bytes) -> SecretPattern:
    """Return a pattern, compiled when it is first used."""
    options = re2.Options()
    options.max_mem = _BYTES_OF_A_PATTERN
    options.log_errors = False
    made: SecretPattern = re2.compile(pattern, options)
    return made
