"""Identifier splitting, which is the same for indexing and for queries, on every store.

``getUserById`` gives ``get user by id getuserbyid``, so that "user id" and the exact name both find it.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

# Unicode letters and digits, and underscores between them; everything else separates names.
_NAME = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
# The same, but with underscores at the ends, which belong to no word.
_RUN = re.compile(r"\w+")
# Translates ASCII separators into blanks: splitting at blanks takes a quarter of the pattern's time.
_SEPARATED = "".join(char if char.isalnum() or char == "_" else " " for char in map(chr, range(128)))
_ASCII_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Matches only the boundary, so that a run of capitals as long as a file does not take quadratic time.
_CAPS_THEN_WORD = re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])")

# Longer runs are hashes, base64 and minified names: nobody searches for them, and they would fill the term index.
MAX_TOKEN_CHARACTERS = 64
# Of the names in the code of two repositories, 94 % had been met before; with their tokens remembered, tokens take less
# than half of the time. This many take about 10 MB.
REMEMBERED_NAMES = 1 << 16


def names_of(text: str) -> list[str]:
    """Return the runs of letters, digits and underscores in a text, in order; a run may consist only of underscores."""
    return text.translate(_SEPARATED).split() if text.isascii() else _RUN.findall(text)


def split_identifier(name: str) -> list[str]:
    """Split one identifier into its lower-case words: camelCase, snake_case, digits."""
    return [word.lower() for word in _words(name)]


def words_in(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the lower-case words of all names in a text, each with its start and end in the text."""
    for match in _RUN.finditer(text):
        at, name = match.start(), match.group()
        for word in _words(name):
            # Only underscores can separate two words of a name.
            at = text.index(word, at)
            yield word.lower(), at, at + len(word)
            at += len(word)


def _words(name: str) -> Iterable[str]:
    return _ASCII_WORD.findall(_CAPS_THEN_WORD.sub("_", name)) if name.isascii() else _unicode_words(name)


def _unicode_words(name: str) -> Iterator[str]:
    """Split at a change of kind (letter, digit, underscore) and before a capital that begins a word."""
    word = ""
    for index, char in enumerate(name):
        if not char.isalnum():
            yield from (word,) if word else ()
            word = ""
            continue
        before = word[-1:]
        following = name[index + 1 : index + 2]
        starts_word = char.isupper() and (not before.isupper() or following.islower())
        if word and (starts_word or char.isdigit() != before.isdigit()):
            yield word
            word = ""
        word += char
    if word:
        yield word


def iter_tokens(text: str) -> Iterator[str]:
    """Yield the tokens of ``text`` in order: each name's words, then the whole name if it has several words."""
    return iter(tokenize(text).split())


def tokenize(text: str) -> str:
    """Return the tokens of ``text`` joined by single spaces, the form that both stores index."""
    found = (_known_tokens(name) if len(name) <= MAX_TOKEN_CHARACTERS else _tokens(name) for name in _names(text))
    return " ".join(filter(None, found))


def _names(text: str) -> Iterable[str]:
    if not text.isascii():
        return _NAME.findall(text)
    return [name.strip("_") for name in text.translate(_SEPARATED).split()]


def _tokens(name: str) -> str:
    """Return the tokens of one name, joined by blanks."""
    if name.islower() and name.isalpha():
        return name if len(name) <= MAX_TOKEN_CHARACTERS else ""
    words = split_identifier(name)
    if len(words) > 1 and len(name) <= MAX_TOKEN_CHARACTERS:
        return " ".join((*words, name.replace("_", "").lower()))
    return words[0] if words and len(words[0]) <= MAX_TOKEN_CHARACTERS else ""


_known_tokens = lru_cache(maxsize=REMEMBERED_NAMES)(_tokens)
