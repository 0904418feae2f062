"""What a text declares, and what it says of that first: a few words that say more of code than all the others."""

import re
from collections.abc import Iterator

# One keyword for each of them: what a name is, most languages say right before it. C, and methods in Java, do not; an
# index puts such a name before the code by itself. A prose line seldom has one of these as its first or sixth word.
_KEYWORDS = "def|class|func|fn|function|fun|struct|interface|trait|enum|type|module|object"
# What stands after such a word where no name does: `for module in modules`, `enum class Colour`, "type of the key".
_NO_NAME = rf"(?:{_KEYWORDS}|in|is|of|as|and|or|to|for|from|that|extends|implements|where)\b"
_DECLARED = (
    rf"[ \t]*(?:[a-z@][\w()]*[ \t]+){{0,5}}?(?:{_KEYWORDS})(?:[ \t]+\*?|\*[ \t]*)(?:\([^)\n]*\)[ \t]*)?"
    rf"(?!{_NO_NAME})([^\W\d]\w*)"
)
_DECLARATION = re.compile(f"^{_DECLARED}", re.MULTILINE)

# A first sentence is rarely longer; what is longer is cut.
_MOST_CHARACTERS = 300
_QUOTES = ('"""', "'''")
# What stands before the quotes of a doc string: nothing, or the colon of a `def` or `class` and perhaps a comment.
_OPENS = re.compile(r"(?:\A|:[ \t]*(?:#[^\n]*)?\n)\s*(?:#[^\n]*\n\s*)?[rRuU]?\Z")
_LONGEST_OPENING = 300
_DOC_COMMENT = re.compile(r"/\*\*(.*?)(?:\*/|\Z)", re.DOTALL)
# What a comment may begin with beside its words.
_SIGNS = " \t\n*\"'"
# A sentence's end, an empty line, or a parameter.
_END = re.compile(r"[.!?]\s|\n[ \t*]*[\n:@\\]")
_LINE = r"[ \t]*(?://[/!]?|#(?!\[))[ \t]?"
# Found first and judged by what follows: to look on from each of its lines would take the square of their number.
_LINES = re.compile(rf"^{_LINE}(?P<said>[^\s/#!].*(?:\n{_LINE}\S.*)*+)\n", re.MULTILINE)
_BEFORE_DECLARATION = re.compile(rf"(?:[ \t]*(?:@|#\[).*\n){{,8}}{_DECLARED}")


def declared_names(text: str) -> list[str]:
    """Return each name that a line of the text declares, once, in the order of the text."""
    return list(dict.fromkeys(_DECLARATION.findall(text)))


def summaries(text: str) -> list[str]:
    """Return the first sentence of each doc string and doc comment that the text has, once, each kind in its order.

    Lines of comment are one where a declaration follows.
    """
    return list(dict.fromkeys(filter(None, map(_first_sentence, _comments(text)))))


def _comments(text: str) -> Iterator[str]:
    # To cut at the quotes and look back is half as long as to look for what opens them.
    for quotes in _QUOTES:
        if quotes in text:
            parts = text.split(quotes)
            for before, said in zip(parts[::2], parts[1::2], strict=False):
                if _OPENS.search(before, max(0, len(before) - _LONGEST_OPENING)):
                    yield said
    if "/**" in text:
        yield from _DOC_COMMENT.findall(text)
    if "//" in text or "#" in text:
        yield from (one["said"] for one in _LINES.finditer(text) if _BEFORE_DECLARATION.match(text, one.end()))


def _first_sentence(comment: str) -> str:
    said = comment.lstrip(_SIGNS)[:_MOST_CHARACTERS]
    end = _END.search(said)
    return said[: end.start()] if end else said
