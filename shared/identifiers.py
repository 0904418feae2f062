"""Identifier splitting: the same tokens for writing and for reading, on every store.

``getUserById`` gives ``get user by id getuserbyid``: the words, and the whole name once more when it has several, so
that both "user id" and the exact name find it.
"""

import re
from collections.abc import Iterable, Iterator

# Unicode letters and digits with underscores between them; everything else separates.
_NAME = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
# The same with underscores at its ends too, which belong to no word.
_RUN = re.compile(r"\w+")
# What separates in ASCII, each a blank: cutting there takes a quarter of the time of the pattern.
_SEPARATED = "".join(one if one.isalnum() or one == "_" else " " for one in map(chr, range(128)))
_ASCII_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Only the place between them is matched: a run of capitals as long as a file must not take its square.
_CAPS_THEN_WORD = re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])")

# Longer runs are hashes, base64 and minified names: no one searches for them, and they would fill the term index.
MAX_TOKEN_CHARACTERS = 64


def names_of(text: str) -> list[str]:
    """Return the names in a text, in order: letters, digits and underscores; perhaps underscores alone."""
    return text.translate(_SEPARATED).split() if text.isascii() else _RUN.findall(text)


def split_identifier(name: str) -> list[str]:
    """Split one identifier into its lower-case words: camelCase, snake_case, digits."""
    return [word.lower() for word in _words(name)]


def words_in(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the lower-case words of all names of a text, each with where it begins and ends there."""
    for match in _RUN.finditer(text):
        at, name = match.start(), match.group()
        for word in _words(name):
            # Nothing but underscores is between two words of a name.
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
    """Yield the tokens of ``text`` in order: each name's words, then the whole name where it has several words."""
    for match in _NAME.finditer(text):
        name = match.group()
        if name.islower() and name.isalpha():
            if len(name) <= MAX_TOKEN_CHARACTERS:
                yield name
            continue
        words = split_identifier(name)
        if len(words) > 1 and len(name) <= MAX_TOKEN_CHARACTERS:
            yield from words
            yield name.replace("_", "").lower()
        elif words and len(words[0]) <= MAX_TOKEN_CHARACTERS:
            yield words[0]


def tokenize(text: str) -> str:
    """Return the tokens of ``text`` joined by single spaces: what both stores index."""
    return " ".join(iter_tokens(text))
