"""Names of versions: a branch, a tag, a pull request, a commit, or the working tree of a folder."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, Self

from codequarry.shared.errors import UsageError

RefKind = Literal["branch", "tag", "pull", "commit", "workspace"]
# The key prefix of each kind: git's own prefix, if there is one. A pull request has the same key on every host.
_PREFIXES: dict[RefKind, str] = {
    "branch": "refs/heads/",
    "tag": "refs/tags/",
    "pull": "refs/pull/",
    "commit": "commit/",
    "workspace": "workspace/",
}
# The display prefix of kinds other than branches and tags, also used in `ref:`.
_NAME_PREFIXES: dict[RefKind, str] = {"pull": "pull/", "commit": "commit/", "workspace": "workspace:"}
# The names of the kinds in messages.
KIND_NAMES: Mapping[RefKind, str] = {
    "branch": "branch",
    "tag": "tag",
    "pull": "pull request",
    "commit": "commit",
    "workspace": "working tree",
}
# Fewer digits are too likely to match by accident, as in git.
MIN_COMMIT_DIGITS = 7
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
# The kinds of versions that an origin names and may delete.
NAMED_KINDS: tuple[RefKind, ...] = ("branch", "tag", "pull")
# What `git check-ref-format` refuses, except our \xNN. A leading hyphen is harmless: git gets full names.
_INVALID_NAME = re.compile(
    r"^/|^$|[/.]$|\.lock$|\.\.|//|/\.|^\.|@\{|[\x00-\x20\x7f*?\[~^:\ud800-\udfff]|\\(?!x[89a-f][0-9a-f])"
)
# Git refuses these characters in the names of branches and tags.
_WILDCARD = re.compile(r"[*?\[]")
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Ref:
    """A version of a repository. ``value`` is the branch, tag, pull request number, commit or folder."""

    kind: RefKind
    value: str

    @property
    def key(self) -> str:
        """The version's key in the head document and the catalog."""
        return _PREFIXES[self.kind] + self.value

    @property
    def name(self) -> str:
        """The name in messages: ``main``, ``v1.2``, ``pull/12``, ``commit/1f2e…``, ``workspace:/home/me/project``."""
        return _NAME_PREFIXES.get(self.kind, "") + self.value

    @classmethod
    def of_key(cls, key: str) -> Self:
        """Return the version of a key; raise ValueError if the key has no known prefix."""
        for kind, prefix in _PREFIXES.items():
            if key.startswith(prefix):
                return cls(kind, key.removeprefix(prefix))
        raise ValueError(f"'{key}' is not the key of a version")

    def fits(self, pattern: str) -> bool:
        """Return whether a pattern matches the value, or the key if it begins with ``refs/``; ``*`` matches slashes."""
        return fnmatchcase(self.key if pattern.startswith("refs/") else self.value, pattern)

    def answers_to(self, asked: str) -> bool:
        """Return whether ``asked`` is the name or the key of this version."""
        return asked in (self.name, self.key)


def is_pattern(text: str) -> bool:
    """Return whether a text has wildcards, so that it is no branch or tag but may match several."""
    return bool(_WILDCARD.search(text))


def commit_digits(asked: str) -> str:
    """Return a full or abbreviated commit as git writes it; raise UsageError if it can't be a commit."""
    digits = asked.lower()
    if not _COMMIT.fullmatch(digits):
        raise UsageError(f"commit '{asked}' must be {MIN_COMMIT_DIGITS} to 64 hexadecimal digits")
    return digits


def check_ref(ref: Ref) -> None:
    """Raise UsageError unless the value can be a branch or tag name, or a pull request number."""
    if ref.kind == "pull":
        if not _NUMBER.fullmatch(ref.value):
            raise UsageError(f"'{ref.value}' is not the number of a pull request")
    elif ref.kind in NAMED_KINDS and _INVALID_NAME.search(ref.value):
        raise UsageError(f"'{ref.value}' is not the name of a {ref.kind}")


def is_null_commit(commit: str) -> bool:
    """Return whether this is git's null commit, which stands for a deleted branch or tag."""
    return bool(commit) and not commit.strip("0")
