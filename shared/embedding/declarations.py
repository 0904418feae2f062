"""What a text declares, and what it says of that first: a few words that say more of code than all the others."""

import re
from collections.abc import Iterator

# What a name is, most languages say right before it. C, and methods in Java, do not; an index puts such a name before
# the code by itself.
_FUNCTIONS = r"(?:def|fn|fun|func)[ \t]+(?:\([^)\n]*\)[ \t]*)?"
# These are words of prose and of other statements too: "type of the key", `for module in modules`, `enum class Colour`.
_WORDS = "function|class|struct|interface|trait|enum|type|module|object"
_NO_NAME = rf"(?:{_WORDS}|in|is|of|as|and|or|to|for|from|that|extends|implements|where)\b"
_OTHERS = rf"(?:(?:{_WORDS})[ \t]+|function[ \t]*\*[ \t]*)(?!{_NO_NAME})"
# What they begin with, looked for first, saves a fifth of the time.
_FIRST_LETTERS = "(?=[cdefimost])"
# Up to five words may stand before, as `public static`; a prose line seldom has one of these words among its first six.
_DECLARED = rf"[ \t]*(?:[a-z@][\w()]*[ \t]+){{0,5}}?{_FIRST_LETTERS}(?:{_FUNCTIONS}|{_OTHERS})(?:\w+\.)*([^\W\d]\w*)"
_DECLARATION = re.compile(f"^{_DECLARED}", re.MULTILINE)

# A first sentence is rarely longer; what is longer is cut.
_MOST_CHARACTERS = 300
_QUOTES = ('"""', "'''")
# What stands before the quotes of a doc string: the colon of a `def` or `class`, perhaps with a comment; before the
# first ones of a text, a new line is enough, since a module has nothing there but what an index puts before it.
_AFTER_COLON = r":[ \t]*(?:#[^\n]*)?\n\s*(?:#[^\n]*\n\s*)?"
_OPENS = re.compile(rf"{_AFTER_COLON}[rRuU]?\Z")
_OPENS_FIRST = re.compile(rf"(?:^|{_AFTER_COLON})[rRuU]?\Z", re.MULTILINE)
_LONGEST_OPENING = 300
# What stands before the quotes of any other string that goes on until the next ones.
_OPENS_STRING = re.compile(
    r"(?:[=(,\[{+%]|\b(?:return|in|yield|and|or|not|else|if|assert|raise))[ \t\n\\]*[rRuUbBfF]{0,2}\Z"
)
# Not the end of a path's pattern, as in src/**/*.py, and no empty comment.
_DOC_COMMENT = re.compile(r"(?<![^\s;{}(,])/\*\*(?=\s)(.*?)(?:\*/|\Z)", re.DOTALL)
# `#` alone: #include, #[inline] and #!/bin/sh are no comments.
_MARK = r"[ \t]*(?://[/!]?|#(?=[ \t\n]|\Z))"
# Found whole and judged by what follows: to look on from each of its lines would take the square of their number.
_LINES = re.compile(rf"^{_MARK}[ \t]*(?P<said>[^\s/].*(?:\n{_MARK}.*)*+)(?:\n|\Z)", re.MULTILINE)
_BEFORE_DECLARATION = re.compile(rf"(?:[ \t]*(?:@|#\[).*\n){{,8}}{_DECLARED}")
# What a comment may begin with beside its words.
_SIGNS = " \t\n*\"'"
# A sentence's end, an empty line, or a parameter.
_END = re.compile(r"[.!?]\s|\n[ \t*/#!]*[\n:@\\]")


def declared_names(text: str) -> list[str]:
    """Return each name that a line of the text declares, once, in the order of the text."""
    return list(dict.fromkeys(_DECLARATION.findall(text)))


def summaries(text: str) -> list[str]:
    """Return the first sentence of each doc string and doc comment that the text has, once, each kind in its order.

    Lines of comment are one where a declaration follows.
    """
    plain = text.replace("\r\n", "\n") if "\r" in text else text
    return list(dict.fromkeys(filter(None, map(_first_sentence, _comments(plain)))))


def _comments(text: str) -> Iterator[str]:
    # To cut at the quotes and look back takes half as long as to look for what opens them.
    for quotes in _QUOTES:
        if quotes in text:
            yield from _doc_strings(text.split(quotes))
    if "/**" in text:
        yield from _DOC_COMMENT.findall(text)
    if "//" in text or "#" in text:
        yield from (one["said"] for one in _LINES.finditer(text) if _BEFORE_DECLARATION.match(text, one.end()))


def _doc_strings(parts: list[str]) -> Iterator[str]:
    """Yield the doc strings of a text that was cut at its quotes."""
    at, opens = 0, _OPENS_FIRST
    while at + 1 < len(parts):
        before, since = parts[at], max(0, len(parts[at]) - _LONGEST_OPENING)
        is_doc = opens.search(before, since)
        if is_doc:
            yield parts[at + 1]
        # Other quotes may close a string that begins before the text, or stand in a comment: to take them for the
        # first of two would turn all that follow inside out.
        at, opens = at + (2 if is_doc or _OPENS_STRING.search(before, since) else 1), _OPENS


def _first_sentence(comment: str) -> str:
    said = comment.lstrip(_SIGNS)[:_MOST_CHARACTERS]
    end = _END.search(said)
    return said[: end.start()] if end else said
