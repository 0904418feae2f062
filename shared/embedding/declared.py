"""What a text declares, and what it says of that first: a few words that say more of code than all the others."""

import re

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
_END = r"[.!?]\s"


def _commented(opening: str, ends: str) -> re.Pattern[str]:
    """Return what finds the first sentence after an opening, up to what ends it."""
    most = _MOST_CHARACTERS - 1
    return re.compile(rf"(?:{opening})(?P<said>[^\s*\"'](?:.{{,{most}}}?(?={ends}|{_END}|\Z)|.{{{most}}}))", re.DOTALL)


_COMMENTED = (
    # A string right after the colon of a `def` or `class`, or at the start.
    _commented(r"(?:\A|:[ \t]*(?:#[^\n]*)?\n)\s*[rRuU]?(?:\"{3}|'{3})\s*", r"\n[ \t]*[\n:@]|\"{3}|'{3}"),
    _commented(r"/\*\*[\s*]*", r"\n[ \t*]*[\n@\\]|\*/"),
)
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
    found = [match["said"] for pattern in _COMMENTED for match in pattern.finditer(text)]
    for lines in _LINES.finditer(text):
        if _BEFORE_DECLARATION.match(text, lines.end()):
            found.append(re.split(_END, lines["said"], maxsplit=1)[0][:_MOST_CHARACTERS])
    return list(dict.fromkeys(found))
