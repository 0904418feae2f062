"""What the `.gitattributes` files of a version say about its files, in the attributes that linguist defined.

git's rules apply: the file in the nearest folder decides, in a file the last matching line, in a line the last mention.
The files are untrusted, so patterns are matched by automata, and what is unusual has no effect instead of failing.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from codequarry.shared.errors import LimitExceeded
from codequarry.shared.glob_patterns import GlobPattern, NotAPattern, lines_of_file, parse_pattern
from codequarry.shared.globs import PatternSet
from codequarry.shared.paths import raw

GENERATED, VENDORED, DOCUMENTATION, LANGUAGE = (
    "linguist-generated", "linguist-vendored", "linguist-documentation", "linguist-language",
)  # fmt: skip
# git ignores longer lines too.
MOST_LINE = 2_048
MOST_PATH = 4_096
# All patterns of a version; matching a path against 10,000 takes 0.1 ms.
MOST_PATTERNS = 5_000
_MACRO = "[attr]"
_BLANKS = re.compile(r"[ \t\r]+")
_ESCAPED = re.compile(r"\\(?:([0-3][0-7]{2})|(.))")
_TRUE, _FALSE = frozenset({"true", ""}), frozenset({"false"})

# An attribute's value: None if a line says `!name`, so that files above do not count.
Setting = tuple[str, str | bool | None]


@dataclass(frozen=True, slots=True)
class PathAttributes:
    """What the attributes say about a path; None or an empty string if they don't say it."""

    generated: bool | None = None
    vendored: bool | None = None
    documentation: bool | None = None
    language: str = ""


UNSAID = PathAttributes()


@dataclass(frozen=True, slots=True)
class _Rules:
    """The lines of one attribute file that may decide: their patterns, and what each sets."""

    folder: bytes
    patterns: PatternSet
    settings: tuple[tuple[Setting, ...], ...]


class AttributeFiles:
    """The attribute files of a version, given by folder with their bytes."""

    def __init__(self, files: Mapping[bytes, bytes]) -> None:
        """Parse the files; lines that set nothing of interest cost nothing later."""
        top = [_parsed(line) for line in _lines(files.get(b"", b""))]
        self._macros = {name[len(_MACRO) :]: settings for name, settings in top if name.startswith(_MACRO)}
        self._names = {GENERATED, VENDORED, DOCUMENTATION, LANGUAGE, *self._macros}
        self._rules: dict[bytes, _Rules] = {}
        left = MOST_PATTERNS
        for folder in sorted(files, key=lambda folder: (folder.count(b"/"), folder)):
            found = [pair for line in _lines(files[folder]) if (pair := self._line(line))][: max(0, left)]
            left -= len(found)
            if found:
                with suppress(LimitExceeded):  # a pattern too complex for an automaton
                    self._rules[folder] = _Rules(
                        folder, PatternSet([pattern for pattern, _ in found]), tuple(settings for _, settings in found)
                    )
        self._last: tuple[bytes, tuple[_Rules, ...]] = b"", self._applying(b"")

    def of(self, shown_path: str) -> PathAttributes:
        """Return what is said about a path; nothing about one that no file system accepts."""
        if not self._rules or len(shown_path) > MOST_PATH:
            return UNSAID
        path = raw(shown_path)
        folder = path.rpartition(b"/")[0]
        if folder != self._last[0]:
            self._last = folder, self._applying(folder)
        found: dict[str, str | bool | None] = {}
        for rules in self._last[1]:
            below = path[len(rules.folder) + 1 :] if rules.folder else path
            for at in sorted(rules.patterns.matching(below), reverse=True):
                self._fill(rules.settings[at], found)
        if not found:
            return UNSAID
        language = found.get(LANGUAGE)
        return PathAttributes(
            generated=_flag(found.get(GENERATED)),
            vendored=_flag(found.get(VENDORED)),
            documentation=_flag(found.get(DOCUMENTATION)),
            language=language if isinstance(language, str) else "",
        )

    def _applying(self, folder: bytes) -> tuple[_Rules, ...]:
        """Return the rules for the files of a folder, those of the nearest folder first."""
        found = []
        while folder:
            found += [self._rules[folder]] if folder in self._rules else []
            folder = folder.rpartition(b"/")[0]
        return (*found, *([self._rules[b""]] if b"" in self._rules else []))

    def _fill(self, settings: tuple[Setting, ...], found: dict[str, str | bool | None]) -> None:
        """Add what a line sets and nothing before it has set; a macro that becomes true sets its own attributes."""
        waiting = list(settings)
        while waiting:
            name, value = waiting.pop()
            if name in found or name not in self._names:
                continue
            found[name] = value
            if value is True:
                waiting += self._macros.get(name, ())

    def _line(self, line: str) -> tuple[GlobPattern, tuple[Setting, ...]] | None:
        name, settings = _parsed(line)
        if name.startswith((_MACRO, "!")) or not any(setting in self._names for setting, _ in settings):
            return None
        try:
            pattern = parse_pattern("\\" + name if name.startswith("#") else name)
        except NotAPattern:
            return None
        # A pattern with a slash at its end names a folder, which has no attributes.
        return (pattern, settings) if pattern and not pattern.only_folders else None


def _lines(data: bytes) -> Iterator[str]:
    for line in lines_of_file(data):
        stripped = line.strip(" \t\r")
        if stripped and not stripped.startswith("#") and len(line) <= MOST_LINE:
            yield stripped


def _parsed(line: str) -> tuple[str, tuple[Setting, ...]]:
    """Return the pattern, or the name of a macro, and what the line sets."""
    if line.startswith('"') and (end := re.search(r'(?<!\\)(?:\\\\)*"', line[1:])):
        name, rest = _ESCAPED.sub(_unescaped, line[1 : end.end()]), line[1 + end.end() :]
    else:
        name, _, rest = line.replace("\t", " ").partition(" ")
    if name == _MACRO:
        return _MACRO, ()
    return name, tuple(map(_setting, filter(None, _BLANKS.split(rest))))


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        return bytes([int(match[1], 8)]).decode(errors="surrogateescape")
    return {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}.get(match[2], match[2])


def _setting(word: str) -> Setting:
    if word[0] in "-!":
        return word[1:], False if word[0] == "-" else None
    name, is_given, value = word.partition("=")
    return name, value if is_given else True


def _flag(value: str | bool | None) -> bool | None:
    if not isinstance(value, str):
        return value
    return True if value in _TRUE else False if value in _FALSE else None
