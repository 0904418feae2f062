"""RE2 patterns, which run in linear time: no text in a repository can make them slow."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Protocol

import re2

# Counted repetitions of hundreds of characters need memory; the default allows for thousands of patterns per process.
_BYTES_OF_A_PATTERN = 64 << 20


class Match(Protocol):
    """A match of a pattern."""

    def start(self, group: int = 0) -> int:
        """Return the start of a group."""
        ...

    def end(self, group: int = 0) -> int:
        """Return the end of a group."""
        ...

    def span(self, group: int = 0) -> tuple[int, int]:
        """Return the start and end of a group."""
        ...

    def group(self, group: int = 0) -> bytes | None:
        """Return the text of a group."""
        ...

    def groups(self) -> tuple[bytes | None, ...]:
        """Return the text of each group."""
        ...


class SecretPattern(Protocol):
    """A compiled pattern over UTF-8 bytes."""

    def finditer(self, text: bytes) -> Iterator[Match]:
        """Yield all matches in order."""
        ...

    def search(self, text: bytes) -> Match | None:
        """Return the first match."""
        ...

    def match(self, text: bytes) -> Match | None:
        """Return the match at the start."""
        ...


class KeywordSet:
    """Searches a text for many words in one pass."""

    def __init__(self, words: list[str]) -> None:
        self._set = re2.Set.SearchSet()
        for word in words:
            self._set.Add(re2.escape(word.encode()))
        self._set.Compile()

    def found_in(self, text: bytes) -> list[int]:
        """Return the indices of the words that a text contains."""
        return self._set.Match(text) or []


@lru_cache(maxsize=512)
def compiled(pattern: bytes) -> SecretPattern:
    """Return a compiled pattern, cached."""
    options = re2.Options()
    options.max_mem = _BYTES_OF_A_PATTERN
    options.log_errors = False
    made: SecretPattern = re2.compile(pattern, options)
    return made
