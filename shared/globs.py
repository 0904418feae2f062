"""Matches paths against .gitignore patterns, in linear time because the patterns may come from an untrusted repository.

Patterns become RE2 expressions that are matched together: a hundred patterns cost about as much as one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import re2

from codequarry.shared.errors import LimitExceeded, UsageError
from codequarry.shared.glob_patterns import GlobPattern, NotAPattern, parse_pattern
from codequarry.shared.stop_request import check_stop

# Longer than any path that a file system accepts.
MAX_PATTERN_CHARACTERS = 4_096
# Real ignore files have a few dozen patterns. With 10,000, matching a path takes 0.1 ms.
MAX_PATTERNS = 10_000
# Limits on a group of patterns that is matched at once: patterns, characters, and bytes of automaton states.
GROUP_PATTERNS = 500
GROUP_CHARACTERS = 50_000
GROUP_BYTES = 32_000_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """The deciding pattern for a path, and whether it excludes the path."""

    line: str
    excludes: bool


class Globs:
    """Patterns in the order of their lines, compiled when the first path is matched."""

    def __init__(self, patterns: Sequence[GlobPattern]) -> None:
        self._patterns = tuple(patterns)

    def __getstate__(self) -> tuple[GlobPattern, ...]:
        return self._patterns

    def __setstate__(self, patterns: tuple[GlobPattern, ...]) -> None:
        self._patterns = patterns

    def __len__(self) -> int:
        return len(self._patterns)

    def matches(self, path: str) -> bool:
        """Return whether the patterns exclude the path."""
        verdict = self.verdict(path)
        return verdict is not None and verdict.excludes

    def verdict(self, path: str) -> Verdict | None:
        """Return the verdict of the last pattern that matches, or None if no pattern does.

        A pattern for the path itself overrides patterns for its folders, unless these come later and exclude the path.
        """
        data = path.encode()
        decides, by_path = -1, False
        for at, is_path in sorted(fit for group in self._groups for fit in group.fits(data)):
            excludes = self._patterns[at].excludes
            if is_path >= by_path or excludes:
                decides, by_path = at, is_path
        return Verdict(self._patterns[decides].line, self._patterns[decides].excludes) if decides >= 0 else None

    @cached_property
    def _groups(self) -> list["_Group"]:
        return [group for part in _parts(self._patterns) for group in _compiled(part)]


@dataclass(frozen=True, slots=True)
class _Group:
    """Patterns as one automaton; for each expression, ``fitting`` has (pattern number, matches the path itself)."""

    automaton: re2.Set
    fitting: tuple[tuple[int, bool], ...]

    def fits(self, path: bytes) -> Iterator[tuple[int, bool]]:
        """Yield the number of each matching pattern, and whether it matches the path itself."""
        return (self.fitting[at] for at in self.automaton.Match(path) or ())


_Numbered = Sequence[tuple[int, GlobPattern]]


def _parts(patterns: Sequence[GlobPattern]) -> Iterator[_Numbered]:
    part: list[tuple[int, GlobPattern]] = []
    size = 0
    for at, pattern in enumerate(patterns):
        part.append((at, pattern))
        size += len(pattern.below)
        if len(part) >= GROUP_PATTERNS or size >= GROUP_CHARACTERS:
            yield part
            part, size = [], 0
    if part:
        yield part


def _compiled(part: _Numbered) -> list[_Group]:
    """Compile patterns, split into smaller groups if needed; raise LimitExceeded if a single pattern is too complex."""
    options = re2.Options()
    options.max_mem, options.dot_nl, options.never_capture, options.log_errors = GROUP_BYTES, True, True, False
    automaton = re2.Set.FullMatchSet(options)
    fitting: list[tuple[int, bool]] = []
    try:
        for at, pattern in part:
            for regex, is_path in ((pattern.file, True), (pattern.below, False)):
                if regex is not None:
                    automaton.Add(regex)
                    fitting.append((at, is_path))
        automaton.Compile()
    except re2.error:
        if len(part) == 1:
            line = part[0][1].line
            raise LimitExceeded(f"the pattern '{line[:60]}…' is too complex; split it into simpler patterns") from None
        middle = len(part) // 2
        return _compiled(part[:middle]) + _compiled(part[middle:])
    return [_Group(automaton, tuple(fitting))]


def globs_of_setting(setting: str, lines: Iterable[str]) -> Globs:
    """Return a setting's patterns; raise UsageError if any can match no path, LimitExceeded if any is too long."""
    found = []
    for line in lines:
        try:
            pattern = parse_pattern(line)
        except NotAPattern:
            raise UsageError(f"{setting}: '{line}' is not a valid .gitignore pattern") from None
        if pattern is not None:
            _check_length(setting, line)
            found.append(pattern)
    return Globs(found)


def globs_of_file(name: str, lines: Sequence[str]) -> Globs:
    """Return an ignore file's patterns, without lines that match no path; raise LimitExceeded if it is too large."""
    if len(lines) > MAX_PATTERNS:
        raise LimitExceeded(f"{name} has {len(lines)} lines; the limit is {MAX_PATTERNS}, so use fewer patterns")
    found = []
    for line in lines:
        check_stop()  # parsing a megabyte of brackets takes two seconds
        _check_length(name, line)
        try:
            pattern = parse_pattern(line)
        except NotAPattern:
            continue
        if pattern is not None:
            found.append(pattern)
    return Globs(found)


def _check_length(where: str, line: str) -> None:
    if len(line) > MAX_PATTERN_CHARACTERS:
        raise LimitExceeded(
            f"{where} has a pattern of {len(line)} characters; the limit is {MAX_PATTERN_CHARACTERS}, so shorten it"
        )
