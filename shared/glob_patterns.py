"""Translates a .gitignore pattern into RE2 regular expressions."""

import re
from dataclasses import dataclass

import re2

# Names in `[[:name:]]`; RE2 knows the same names.
_CLASSES = frozenset(
    {"alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"}
)
_CLASS_NAME = re.compile(r"\[:([a-z]*):\]")
_ANY_FOLDERS = "(?:.*/)?"


class NotAPattern(Exception):
    """A line that git ignores because it matches no path, such as ``[a``."""


@dataclass(frozen=True, slots=True)
class GlobPattern:
    """A line of an ignore file: ``file`` matches the paths themselves, ``below`` everything below matching folders."""

    line: str
    excludes: bool
    file: str | None
    below: str


def parse_pattern(line: str) -> GlobPattern | None:
    """Parse a line; return None for a comment or blank line, and raise NotAPattern if it can match no path."""
    text = _without_trailing_spaces(line)
    if not text or text.startswith("#"):
        return None
    body = text.removeprefix("!")
    only_folders = body.endswith("/")
    body = body.removesuffix("/")
    if not body:
        return None
    # Without a slash, a pattern matches names at any depth.
    regex = _translate(body.removeprefix("/")) if "/" in body else _ANY_FOLDERS + _translate(body)
    return GlobPattern(text, not text.startswith("!"), None if only_folders else regex, f"{regex}/.*")


def _without_trailing_spaces(line: str) -> str:
    """Return a line without trailing spaces, except a space escaped by a backslash."""
    text = line.rstrip(" ")
    backslashes = len(text) - len(text.rstrip("\\"))
    return text + " " if backslashes % 2 and text != line else text


def _translate(body: str) -> str:
    """Translate a pattern, given without `!` and outer slashes, as git's wildmatch reads it."""
    regex, position = "", 0
    while position < len(body):
        char = body[position]
        if char == "*":
            piece, position = _stars(body, position)
        elif char == "?":
            piece, position = "[^/]", position + 1
        elif char == "[":
            piece, position = _character_class(body, position + 1)
        elif char == "\\":
            if position + 1 == len(body):
                raise NotAPattern
            piece, position = re2.escape(body[position + 1]), position + 2
        else:
            piece, position = re2.escape(char), position + 1
        regex += piece
    return regex


def _stars(body: str, position: int) -> tuple[str, int]:
    """Translate a run of stars; two or more as a whole segment match any number of folders."""
    end = position
    while end < len(body) and body[end] == "*":
        end += 1
    is_segment = (position == 0 or body[position - 1] == "/") and body[end : end + 1] in ("", "/")
    if end - position == 1 or not is_segment:
        return "[^/]*", end
    return (_ANY_FOLDERS, end + 1) if body[end : end + 1] else (".*", end)


def _character_class(body: str, position: int) -> tuple[str, int]:
    """Translate ``[…]``, starting after the bracket; it never matches a slash."""
    negated = body[position : position + 1] in ("!", "^")
    start = position = position + negated
    members: list[str] = []
    while position < len(body) and (body[position] != "]" or position == start):
        member, position = _member(body, position)
        members.append(member)
    if position >= len(body):
        raise NotAPattern
    inside = "".join(members)
    position += 1
    if negated:
        return f"[^/{inside}]", position
    # RE2 has no empty class and cannot subtract classes, so each member excludes the slash.
    return (f"[{inside}]" if inside else r"[^\x00-\x{10FFFF}]"), position


def _member(body: str, position: int) -> tuple[str, int]:
    """Translate one character, range or named class of ``[…]``."""
    if named := _CLASS_NAME.match(body, position):
        if named[1] not in _CLASSES:
            raise NotAPattern
        return _named(named[1]), named.end()
    low, position = _character(body, position)
    is_range = body[position : position + 1] == "-" and body[position + 1 : position + 2] not in ("", "]")
    if not is_range:
        return _span(low, low), position
    high, position = _character(body, position + 1)
    return _span(low, high), position


def _named(name: str) -> str:
    """Return a named class without the slash."""
    if name in ("graph", "print", "punct"):
        first = {"graph": "!", "print": " ", "punct": "!"}[name]
        rest = r"0-~" if name != "punct" else r":-@\[-`{-~"
        return f"{first}-." + rest
    return f"[:{name}:]"


def _character(body: str, position: int) -> tuple[str, int]:
    if body[position] == "\\":
        position += 1
    if position >= len(body):
        raise NotAPattern
    return body[position], position + 1


def _span(low: str, high: str) -> str:
    """Return a range without the slash; git reads a reversed range as its first character."""
    high = max(low, high)
    spans = [(low, high)] if not low <= "/" <= high else [(low, "."), ("0", high)]
    return "".join(f"{re2.escape(first)}-{re2.escape(last)}" for first, last in spans if first <= last)
