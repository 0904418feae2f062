"""Findings that the settings, or a repository's own file, allow to stay unmasked."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from codequarry.shared.globs import Globs, globs_of_file

HASH_HEX = 64


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
    return globs_of_file("the list of allowed paths", paths)


def parse_allow_file(lines: Sequence[str]) -> Allowed:
    """Parse a repository's list: ``path:PATTERN``, ``rule:NAME`` or ``hash:SHA-256`` per line, # for comments."""
    entries = [line.strip().partition(":") for line in lines if line.strip() and not line.lstrip().startswith("#")]
    found = {kind: [value.strip() for name, _, value in entries if name == kind] for kind in ("path", "rule", "hash")}
    hashes = (value.lower() for value in found["hash"])
    return Allowed(tuple(found["path"]), frozenset(found["rule"]), frozenset(hashes))
