"""Escapes control characters: text from a repository must not control the terminal that shows it."""

import re

# The C0 (except tab and line feed) and C1 control characters, and the characters that change the direction of text.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# JSON itself escapes the others.
_OBEYED_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""Return text with control characters escaped, as in ``\x1b`` or ``\u202e``; tabs and line feeds are kept."""
    return _OBEYED.sub(_escaped, text)


def visible_line(text: str) -> str:
    """Return a path or name on one line, with tabs and line feeds escaped too."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def visible_json(document: str) -> str:
    """Return an equivalent JSON document without control characters."""
    return _OBEYED_IN_JSON.sub(lambda found: f"\\u{ord(found.group()):04x}", document)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
