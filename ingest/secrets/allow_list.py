"""Findings that the settings, or a repository's own file, allow to stay unmasked."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from codequarry.shared.glob_patterns import NotAPattern, parse_pattern, shown_line
from codequarry.shared.globs import Globs, globs_of_file

KINDS = ("path", "rule", "hash")
_HASH = re.compile("[0-9a-f]{64}")


def hash_of(secret: str) -> str:
    """Return the SHA-256 that stands for a secret in allow-lists; only a guessable secret can be recovered from it."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Allowed:
    """Paths (patterns as in .gitignore), rules and hashes of secrets that stay unmasked."""

    paths: tuple[str, ...] = ()
    rules: frozenset[str] = frozenset()
    hashes: frozenset[str] = frozenset()

    def allows_path(self, path: str) -> bool:
        """Return whether no secret of a file is masked."""
        return bool(self.paths) and bool(path) and _globs(self.paths).matches(path)

    def allows(self, rule: str, secret: str) -> bool:
        """Return whether a finding stays unmasked."""
        return rule in self.rules or (bool(self.hashes) and hash_of(secret) in self.hashes)

    def joined(self, other: "Allowed") -> "Allowed":
        """Return the union of both lists."""
        return Allowed(self.paths + other.paths, self.rules | other.rules, self.hashes | other.hashes)


@lru_cache(maxsize=8)
def _globs(paths: tuple[str, ...]) -> Globs:
    # Compiled once, because every file of a repository is matched.
    return globs_of_file("the list of allowed paths", paths, select=True)


def parse_allow_file(lines: Sequence[str]) -> Allowed:
    """Parse a repository's list: ``path:PATTERN``, ``rule:NAME`` or ``hash:SHA-256`` per line, # for comments."""
    entries = [entry for _, entry in _entries(lines)]
    found = {kind: [value for name, value in entries if name == kind] for kind in KINDS}
    hashes = (value.lower() for value in found["hash"])
    return Allowed(tuple(found["path"]), frozenset(found["rule"]), frozenset(hashes))


def warnings_of_allow_file(name: str, lines: Sequence[str]) -> list[str]:
    """Return warnings about the lines of a repository's list that have no effect."""
    return [
        f"{name}, line {number}: {why}" for number, (kind, value) in _entries(lines) if (why := _fault(kind, value))
    ]


def _fault(kind: str, value: str) -> str:
    if kind == "path":
        try:
            pattern = parse_pattern(value)
        except NotAPattern as error:
            return f"'{shown_line(value)}' matches no path: {error}"
        return f"'{pattern.line}' may not mean what it seems to: {pattern.doubt}" if pattern and pattern.doubt else ""
    if kind == "hash":
        return "" if _HASH.fullmatch(value.lower()) else "a hash must have 64 hexadecimal digits"
    return "" if kind in KINDS else f"'{shown_line(kind)}' is not understood; write path:, rule: or hash: and a value"


def _entries(lines: Sequence[str]) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the number, kind and value of each line that is neither blank nor a comment."""
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            kind, _, value = line.partition(":")
            # The patterns of .gitignore may end with an escaped space.
            yield number, (kind.strip(), value.lstrip() if kind.strip() == "path" else value.strip())
