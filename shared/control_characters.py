"""Characters that a terminal obeys instead of showing, made visible: whatever is shown may come from a repository."""

import re

# Control characters other than tab and line end, those of C1, and what turns the direction of text around.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# JSON escapes the others by itself.
_OBEYED_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""Return text with an escape such as ``\x1b`` or ``\u202e`` for each character that a terminal would obey.

    Tabs and line ends stay.
    """
    return _OBEYED.sub(_escaped, text)


def visible_line(text: str) -> str:
    """Return text on one line: a path or a name, in which a line end has no place either."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def visible_json(document: str) -> str:
    """Return a JSON document that means the same and holds no character that a terminal would obey."""
    return _OBEYED_IN_JSON.sub(lambda found: f"\\u{ord(found.group()):04x}", document)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
