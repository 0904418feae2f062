"""Matches paths against .gitignore patterns, in linear time because the patterns may come from an untrusted repository.

Patterns become RE2 expressions that are matched together: a hundred patterns cost about as much as one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import re2

from codequarry.shared.errors import LimitExceeded, UsageError
from codequarry.shared.glob_patterns import GlobPattern, NotAPattern, parse_pattern, shown_line
from codequarry.shared.paths import raw
from codequarry.shared.stop_request import check_stop

# Longer than any path that a file system accepts.
MAX_PATTERN_CHARACTERS = 4_096
# Real ignore files have a few dozen patterns. With 10,000, matching a path takes 0.1 ms.
MAX_PATTERNS = 10_000
# Limits on a group of patterns that is matched at once: patterns, characters, and bytes of automaton states.
GROUP_PATTERNS = 500
GROUP_CHARACTERS = 50_000
GROUP_BYTES = 32_000_000
# Folders whose decisions are remembered, because the files of a folder come one after another.
MOST_FOLDERS = 10_000
# Precede a path where it is matched, because some patterns match only folders.
FILE, FOLDER = b"f", b"d"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The deciding pattern for a path, and whether it excludes the path."""

    line: str
    excludes: bool


class Globs:
    """Patterns in the order of their lines, compiled when the first path is matched.

    They exclude paths as git does: nothing below an excluded folder can be included again. If they ``select`` paths
    instead, the nearest decided folder counts, as in git's sparse checkouts, so that `!` takes folders out of others.
    """

    def __init__(self, patterns: Sequence[GlobPattern], warnings: Sequence[str] = (), *, select: bool = False) -> None:
        self._patterns, self._select = tuple(patterns), select
        self._folders: dict[bytes, int] = {}
        self.warnings = tuple(warnings)

    def __getstate__(self) -> tuple[tuple[GlobPattern, ...], bool]:
        return self._patterns, self._select

    def __setstate__(self, state: tuple[tuple[GlobPattern, ...], bool]) -> None:
        self._patterns, self._select = state
        self._folders, self.warnings = {}, ()

    def __len__(self) -> int:
        return len(self._patterns)

    def matches(self, path: str) -> bool:
        """Return whether the patterns exclude (or select) the path."""
        verdict = self.verdict(path)
        return verdict is not None and verdict.excludes

    def verdict(self, path: str) -> Verdict | None:
        """Return the verdict of the pattern that decides about a path or the folders above it, or None if none does.

        In each folder the last matching pattern decides.
        """
        if not self._patterns:
            return None
        data = raw(path)
        decides = self._decided(data, FILE, self._folder(data.rpartition(b"/")[0]))
        return Verdict(self._patterns[decides].line, self._patterns[decides].excludes) if decides >= 0 else None

    def _folder(self, folder: bytes) -> int:
        """Return the number of the pattern that decides about a folder, or -1."""
        unknown = []
        while folder and folder not in self._folders:
            unknown.append(folder)
            folder = folder.rpartition(b"/")[0]
        decides = self._folders[folder] if folder else -1
        if len(self._folders) > MOST_FOLDERS:
            self._folders.clear()
        for below in reversed(unknown):
            decides = self._folders[below] = self._decided(below, FOLDER, decides)
        return decides

    def _decided(self, path: bytes, kind: bytes, above: int) -> int:
        if above >= 0 and self._patterns[above].excludes and not self._select:
            return above
        return max((at for group in self._groups for at in group.fits(kind + path)), default=above)

    @cached_property
    def _groups(self) -> list["_Group"]:
        return [group for part in _parts(self._patterns) for group in _compiled(part)]


class PatternSet:
    """Patterns that are compared with files alone, whatever matches the folders above: git's rule for attributes."""

    def __init__(self, patterns: Sequence[GlobPattern]) -> None:
        self._groups = [group for part in _parts(patterns) for group in _compiled(part)]

    def matching(self, path: bytes) -> Iterator[int]:
        """Yield the number of each pattern that matches a file."""
        return (at for group in self._groups for at in group.fits(FILE + path))


@dataclass(frozen=True, slots=True)
class _Group:
    """Patterns as one automaton; ``numbers`` has the number of each pattern."""

    automaton: re2.Set
    numbers: tuple[int, ...]

    def fits(self, path: bytes) -> Iterator[int]:
        """Yield the number of each matching pattern; ``FILE`` or ``FOLDER`` precedes the path."""
        return (self.numbers[at] for at in self.automaton.Match(path) or ())


_Numbered = Sequence[tuple[int, GlobPattern]]


def _parts(patterns: Sequence[GlobPattern]) -> Iterator[_Numbered]:
    part: list[tuple[int, GlobPattern]] = []
    size = 0
    for at, pattern in enumerate(patterns):
        part.append((at, pattern))
        size += len(pattern.regex)
        if len(part) >= GROUP_PATTERNS or size >= GROUP_CHARACTERS:
            yield part
            part, size = [], 0
    if part:
        yield part


def _compiled(part: _Numbered) -> list[_Group]:
    """Compile patterns, split into smaller groups if needed; raise LimitExceeded if a single pattern is too complex."""
    options = re2.Options()
    options.max_mem, options.dot_nl, options.never_capture, options.log_errors = GROUP_BYTES, True, True, False
    options.encoding = re2.Options.Encoding.LATIN1
    automaton = re2.Set.FullMatchSet(options)
    try:
        for _, pattern in part:
            automaton.Add(f"{'d' if pattern.only_folders else '[df]'}{pattern.regex}")
        automaton.Compile()
    except re2.error:
        if len(part) == 1:
            line = part[0][1].line
            raise LimitExceeded(f"the pattern '{line[:60]}…' is too complex; split it into simpler patterns") from None
        middle = len(part) // 2
        return _compiled(part[:middle]) + _compiled(part[middle:])
    return [_Group(automaton, tuple(at for at, _ in part))]


def globs_of_setting(setting: str, lines: Iterable[str], *, select: bool = False) -> Globs:
    """Return a setting's patterns; raise UsageError for a pattern that is mistaken, LimitExceeded for one too long."""
    found = []
    for line in lines:
        _check_length(setting, line)
        try:
            pattern = parse_pattern(line)
        except NotAPattern as error:
            raise _mistaken(setting, line, str(error)) from None
        if pattern and pattern.doubt:
            raise _mistaken(setting, line, pattern.doubt)
        if pattern:
            found.append(pattern)
    return Globs(found, select=select)


def _mistaken(setting: str, line: str, why: str) -> UsageError:
    return UsageError(f"{setting}: '{shown_line(line)}' is not a valid .gitignore pattern: {why}")


def globs_of_file(name: str, lines: Sequence[str], *, select: bool = False) -> Globs:
    """Return an ignore file's patterns, with warnings about mistaken lines; raise LimitExceeded if it is too large."""
    if len(lines) > MAX_PATTERNS:
        raise LimitExceeded(f"{name} has {len(lines)} lines; the limit is {MAX_PATTERNS}, so use fewer patterns")
    found: list[GlobPattern] = []
    warnings: list[str] = []
    for number, line in enumerate(lines, start=1):
        check_stop()  # parsing a megabyte of brackets takes two seconds
        _check_length(name, line)
        try:
            pattern = parse_pattern(line)
        except NotAPattern as error:
            warnings.append(f"{name}, line {number}: '{shown_line(line)}' matches no path: {error}")
            continue
        if pattern and pattern.doubt:
            warnings.append(f"{name}, line {number}: '{pattern.line}' may not mean what it seems to: {pattern.doubt}")
        if pattern:
            found.append(pattern)
    return Globs(found, warnings, select=select)


def _check_length(where: str, line: str) -> None:
    if len(line) > MAX_PATTERN_CHARACTERS:
        raise LimitExceeded(
            f"{where} has a pattern of {len(line)} characters; the limit is {MAX_PATTERN_CHARACTERS}, so shorten it"
        )
