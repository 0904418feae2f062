"""Translates a .gitignore pattern into an RE2 regular expression over the bytes of paths, as git reads it."""

from dataclasses import dataclass

from codequarry.shared.control_characters import visible_line

# Part of the hashes of rules that hold patterns. Increase it when the same pattern comes to match other paths.
GLOBS_VERSION = 3

_ANY_FOLDERS = "(?:.*/)?"
_SPECIAL = frozenset("*?[\\")
# The classes in `[[:name:]]` without the slash, as ranges of ASCII characters; git's spaces are only these.
_CLASSES = {
    "alnum": ("09", "AZ", "az"),
    "alpha": ("AZ", "az"),
    "blank": ("\t\t", "  "),
    "cntrl": ("\0\x1f", "\x7f\x7f"),
    "digit": ("09",),
    "graph": ("!.", "0~"),
    "lower": ("az",),
    "print": (" .", "0~"),
    "punct": ("!.", ":@", "[`", "{~"),
    "space": ("\t\n", "\r\r", "  "),
    "upper": ("AZ",),
    "xdigit": ("09", "AF", "af"),
}


class NotAPattern(Exception):
    """A line that git ignores because it can match no path, such as ``[a``; the message says why."""


@dataclass(frozen=True, slots=True)
class GlobPattern:
    """A line of an ignore file: ``regex`` matches the bytes of paths as Latin-1 text, of folders if ``only_folders``.

    ``doubt`` says why the pattern probably doesn't mean what its author intended; it is empty for most patterns.
    """

    line: str
    excludes: bool
    regex: str
    only_folders: bool
    doubt: str = ""


def lines_of_file(data: bytes) -> list[str]:
    """Return the lines of an ignore file as git splits them; bytes that are not UTF-8 become lone surrogates."""
    lines = [line.removesuffix(b"\r") for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    return [line.decode(errors="surrogateescape") for line in (lines if lines[-1] else lines[:-1])]


def parse_pattern(line: str) -> GlobPattern | None:
    """Parse a line; return None for a comment or blank line, and raise NotAPattern if it can match no path."""
    text = _without_trailing_spaces(_latin(line).partition("\0")[0])
    if not text or text.startswith("#"):
        return None
    shown = shown_line(text.encode("latin-1").decode(errors="surrogateescape"))
    given = text.removeprefix("!")
    only_folders = given.endswith("/")
    body = given.removesuffix("/")
    if not body:
        raise NotAPattern("it names no file or folder")
    if "/" not in body:  # matches names at any depth
        regex, doubt = _translated(body, 0, in_path=False)
        return GlobPattern(shown, not text.startswith("!"), _ANY_FOLDERS + regex, only_folders, doubt)
    body = body.removeprefix("/")
    parts = set() if "[" in body else {"", ".", ".."}.intersection(body.split("/"))
    if parts:
        raise NotAPattern(f"no path has the part '{max(parts)}'" if max(parts) else "no path has an empty part")
    # git compares what comes before the first special character literally, and reads only the rest as a pattern.
    start = next((at for at, char in enumerate(body) if char in _SPECIAL), len(body))
    regex, doubt = _translated(body, start, in_path=True)
    return GlobPattern(shown, not text.startswith("!"), regex, only_folders, doubt)


def shown_line(line: str) -> str:
    """Return a line of an ignore file for people, whatever bytes it has."""
    return visible_line(line.encode(errors="surrogateescape").decode(errors="backslashreplace"))


def _latin(line: str) -> str:
    """Return a line's bytes as text with one character for each byte, because git matches bytes."""
    return line.encode(errors="surrogateescape").decode("latin-1")


def _without_trailing_spaces(text: str) -> str:
    """Return text without trailing spaces, except a space escaped by a backslash."""
    trimmed = text.rstrip(" ")
    backslashes = len(trimmed) - len(trimmed.rstrip("\\"))
    return trimmed + " " if backslashes % 2 and trimmed != text else trimmed


def _translated(body: str, start: int, *, in_path: bool) -> tuple[str, str]:
    """Translate a pattern without `!` and outer slashes, literal before ``start``; return it with a doubt about it."""
    pieces, position, doubt = [_literal(char) for char in body[:start]], start, ""
    while position < len(body):
        char = body[position]
        if char == "*":
            is_first = position == start or body[position - 1] == "/"
            piece, position = _stars(body, position, is_first=is_first, in_path=in_path)
        elif char == "?":
            piece, position = "[^/]", position + 1
        elif char == "[":
            piece, position, reversed_range = _bracket(body, position + 1)
            doubt = doubt or reversed_range
        elif char == "\\":
            if position + 1 == len(body):
                raise NotAPattern("it ends with a backslash that escapes nothing")
            piece, position = _literal(body[position + 1]), position + 2
        else:
            piece, position = _literal(char), position + 1
        pieces.append(piece)
    return "".join(pieces), doubt


def _stars(body: str, position: int, *, is_first: bool, in_path: bool) -> tuple[str, int]:
    """Translate a run of stars; two or more as a whole part of a path match any number of folders."""
    end = position
    while body[end : end + 1] == "*":
        end += 1
    rest = body[end:]
    if end - position == 1 or not in_path or not is_first or (rest and not rest.startswith(("/", "\\/"))):
        return "[^/]*", end
    return (_ANY_FOLDERS, end + 1) if rest.startswith("/") else (".*", end)


def _bracket(body: str, position: int) -> tuple[str, int, str]:
    """Translate ``[…]``, starting after the bracket; it never matches a slash. The last value is a doubt about it."""
    negated = body[position : position + 1] in ("!", "^")
    start = position = position + negated
    spans: list[str] = []
    doubt = ""
    while body[position : position + 1] != "]" or position == start:
        members, position = _member(body, position)
        doubt = doubt or next(filter(None, map(_doubt, members)), "")
        spans += members
    inside = "".join(map(_span, spans))
    if negated:
        return f"[^/{inside}]", position + 1, doubt
    # RE2 has no empty class and cannot subtract classes, so each member excludes the slash.
    return (f"[{inside}]" if inside else r"[^\x00-\xff]"), position + 1, doubt


def _member(body: str, position: int) -> tuple[tuple[str, ...], int]:
    """Read one character, range or named class of ``[…]`` as ranges."""
    if body.startswith("[:", position):
        end = body.find("]", position + 2)
        if end < 0:
            raise _unclosed()
        if end > position + 2 and body[end - 1] == ":":
            name = body[position + 2 : end - 1]
            if name not in _CLASSES:
                raise NotAPattern(f"there is no class [:{name}:]")
            return _CLASSES[name], end + 1
    low, position = _character(body, position)
    if body[position : position + 1] != "-" or body[position + 1 : position + 2] in ("", "]"):
        return (low + low,), position
    high, position = _character(body, position + 1)
    return (low + high,), position


def _doubt(span: str) -> str:
    if not span.isascii():
        return "git compares bytes, so a character in its brackets that is not ASCII is not matched as a whole"
    return "a range in its brackets is reversed, so that only the first character counts" if span[1] < span[0] else ""


def _character(body: str, position: int) -> tuple[str, int]:
    if body[position : position + 1] == "\\":
        position += 1
    if position >= len(body):
        raise _unclosed()
    return body[position], position + 1


def _unclosed() -> NotAPattern:
    return NotAPattern("its bracket is not closed")


def _span(span: str) -> str:
    """Return a range of characters without the slash; git reads a reversed range as its first character."""
    low, high = span[0], max(span)
    spans = [(low, high)] if not low <= "/" <= high else [(low, "."), ("0", high)]
    return "".join(f"{_escaped(first)}-{_escaped(last)}" for first, last in spans if first <= last)


def _literal(char: str) -> str:
    return char if char == "/" or (char.isascii() and char.isalnum()) else _escaped(char)


def _escaped(char: str) -> str:
    return f"\\x{ord(char):02x}"
