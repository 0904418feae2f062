"""The names that a text declares: a few words that say more of a piece of code than all that stands in it."""

import re

# One keyword for each of them: what a name is, most languages say right before it. C, and methods in Java, do not; an
# index puts such a name before the code by itself. A prose line seldom has one of these as its first or sixth word.
_KEYWORDS = "def|class|func|fn|function|fun|struct|interface|trait|enum|type|module|object"
_DECLARATION = re.compile(
    rf"^[ \t]*(?:[a-z@][\w()]*[ \t]+){{0,5}}?(?:{_KEYWORDS})[ \t]+(?:\([^)\n]*\)[ \t]*)?([A-Za-z_]\w*)", re.MULTILINE
)


def declared_names(text: str) -> list[str]:
    """Return each name that a line of the text declares, once, in the order of the text."""
    return list(dict.fromkeys(_DECLARATION.findall(text)))
