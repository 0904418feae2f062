"""Declared names and doc summaries: the few words of a text that say the most about its code."""

import re
from collections.abc import Iterator

# Keywords before declared names. C code and Java methods have none; the index names those in the line before the code.
_FUNCTIONS = r"(?:def|fn|fun|func)[ \t]+(?:\([^)\n]*\)[ \t]*)?"
# These words also occur in prose and other statements: "type of the key", `for module in modules`, `enum class Colour`.
_WORDS = "function|class|struct|interface|trait|enum|type|module|object"
_NO_NAME = rf"(?:{_WORDS}|in|is|of|as|and|or|to|for|from|that|extends|implements|where)\b"
_OTHERS = rf"(?:(?:{_WORDS})[ \t]+|function[ \t]*\*[ \t]*)(?!{_NO_NAME})"
# Testing the first letter before the words saves a fifth of the time.
_FIRST_LETTERS = "(?=[cdefimost])"
# Up to five words may come first, such as `public static`. A line of prose seldom has a keyword in its first six words.
_DECLARED = rf"[ \t]*(?:[a-z@][\w()]*[ \t]+){{0,5}}?{_FIRST_LETTERS}(?:{_FUNCTIONS}|{_OTHERS})(?:\w+\.)*([^\W\d]\w*)"
_DECLARATION = re.compile(f"^{_DECLARED}", re.MULTILINE)

# Summaries are cut to this length; few first sentences are longer.
_MOST_CHARACTERS = 300
_QUOTES = ('"""', "'''")
# What precedes the quotes of a docstring: the colon of a `def` or `class`, perhaps with a comment. A module's docstring
# follows a newline, because the index puts its own line before the module.
_AFTER_COLON = r":[ \t]*(?:#[^\n]*)?\n\s*(?:#[^\n]*\n\s*)?"
_OPENS = re.compile(rf"{_AFTER_COLON}[rRuU]?\Z")
_OPENS_FIRST = re.compile(rf"(?:^|{_AFTER_COLON})[rRuU]?\Z", re.MULTILINE)
_LONGEST_OPENING = 300
# What precedes the quotes of any other string, which ends at the next quotes.
_OPENS_STRING = re.compile(
    r"(?:[=(,\[{+%]|\b(?:return|in|yield|and|or|not|else|if|assert|raise))[ \t\n\\]*[rRuUbBfF]{0,2}\Z"
)
# Matches neither the end of a glob such as src/**/*.py nor an empty comment.
_DOC_COMMENT = re.compile(r"(?<![^\s;{}(,])/\*\*(?=\s)(.*?)(?:\*/|\Z)", re.DOTALL)
# White space must follow `#`: #include, #[inline] and #!/bin/sh are not comments.
_MARK = r"[ \t]*(?://[/!]?|#(?=[ \t\n]|\Z))"
# A whole comment block; it is a doc comment if a declaration follows. Searching from each line would be quadratic.
_LINES = re.compile(rf"^{_MARK}[ \t]*(?P<said>[^\s/].*(?:\n{_MARK}.*)*+)(?:\n|\Z)", re.MULTILINE)
_BEFORE_DECLARATION = re.compile(rf"(?:[ \t]*(?:@|#\[).*\n){{,8}}{_DECLARED}")
# Characters that may precede the words of a comment.
_SIGNS = " \t\n*\"'"
# The end of a sentence, an empty line, or a parameter.
_END = re.compile(r"[.!?]\s|\n[ \t*/#!]*[\n:@\\]")


def declared_names(text: str) -> list[str]:
    """Return the names that the text declares, in order and without duplicates."""
    return list(dict.fromkeys(_DECLARATION.findall(text)))


def summaries(text: str) -> list[str]:
    """Return the first sentence of each docstring and doc comment, grouped by kind and without duplicates."""
    plain = text.replace("\r\n", "\n") if "\r" in text else text
    return list(dict.fromkeys(filter(None, map(_first_sentence, _comments(plain)))))


def _comments(text: str) -> Iterator[str]:
    # Splitting at the quotes and looking back is twice as fast as searching for the code before them.
    for quotes in _QUOTES:
        if quotes in text:
            yield from _doc_strings(text.split(quotes))
    if "/**" in text:
        yield from _DOC_COMMENT.findall(text)
    if "//" in text or "#" in text:
        yield from (block["said"] for block in _LINES.finditer(text) if _BEFORE_DECLARATION.match(text, block.end()))


def _doc_strings(parts: list[str]) -> Iterator[str]:
    at, opens = 0, _OPENS_FIRST
    while at + 1 < len(parts):
        before, since = parts[at], max(0, len(parts[at]) - _LONGEST_OPENING)
        is_doc = opens.search(before, since)
        if is_doc:
            yield parts[at + 1]
        # Other quotes may close an earlier string or be in a comment. Treating them as opening quotes would invert
        # everything that follows.
        at, opens = at + (2 if is_doc or _OPENS_STRING.search(before, since) else 1), _OPENS


def _first_sentence(comment: str) -> str:
    text = comment.lstrip(_SIGNS)[:_MOST_CHARACTERS]
    end = _END.search(text)
    return text[: end.start()] if end else text
