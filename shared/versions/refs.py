"""Names of versions: a branch, a tag, a pull request, a commit, or the working tree of a folder."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self

from codequarry.shared.errors import UsageError

RefKind = Literal["branch", "tag", "pull", "commit", "workspace"]
# Before the name in the key of each kind: git's own where it has one. A pull request has one key, whatever the host.
_PREFIXES: dict[RefKind, str] = {
    "branch": "refs/heads/",
    "tag": "refs/tags/",
    "pull": "refs/pull/",
    "commit": "commit/",
    "workspace": "workspace/",
}
# How the kinds that are no branch and no tag are spoken of, and asked for in `ref:`.
_SPOKEN: dict[RefKind, str] = {"pull": "pull/", "commit": "commit/", "workspace": "workspace:"}
# What a person calls one of them.
KIND_NAMES: Mapping[RefKind, str] = {
    "branch": "branch",
    "tag": "tag",
    "pull": "pull request",
    "commit": "commit",
    "workspace": "working tree",
}
# Fewer digits are an accident, as in git.
MIN_COMMIT_DIGITS = 7
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
# The kinds of versions that an origin has under a name, and may take back.
NAMED_KINDS: tuple[RefKind, ...] = ("branch", "tag", "pull")
# What `git check-ref-format` refuses, but for our own \xNN. A leading hyphen is harmless: git is given names in full.
_NO_NAME = re.compile(
    r"^/|^$|[/.]$|\.lock$|\.\.|//|/\.|^\.|@\{|[\x00-\x20\x7f*?\[~^:\ud800-\udfff]|\\(?!x[89a-f][0-9a-f])"
)
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Ref:
    """A version of a repository. ``value`` is the branch, the tag, the number, the commit, or the folder."""

    kind: RefKind
    value: str

    @property
    def key(self) -> str:
        """What the head document and the catalog call it."""
        return _PREFIXES[self.kind] + self.value

    @property
    def name(self) -> str:
        """What people call it: ``main``, ``v1.2``, ``pull/12``, ``commit/1f2e…``, ``workspace:/home/me/project``."""
        return _SPOKEN.get(self.kind, "") + self.value

    @classmethod
    def of_key(cls, key: str) -> Self:
        """Read what ``key`` wrote."""
        for kind, prefix in _PREFIXES.items():
            if key.startswith(prefix):
                return cls(kind, key.removeprefix(prefix))
        raise ValueError(f"'{key}' is no key of a version")

    def answers_to(self, asked: str) -> bool:
        """Tell whether somebody who writes ``asked`` means this version."""
        return asked in (self.name, self.key)


def commit_digits(asked: str) -> str:
    """Return a commit, or the beginning of one, as git writes it; UsageError where it can't be one."""
    digits = asked.lower()
    if not _COMMIT.fullmatch(digits):
        raise UsageError(f"commit '{asked}' must be {MIN_COMMIT_DIGITS} to 64 hexadecimal digits")
    return digits


def check_ref(ref: Ref) -> None:
    """Refuse what can't be the name of a branch or tag, or the number of a pull request."""
    if ref.kind == "pull":
        if not _NUMBER.fullmatch(ref.value):
            raise UsageError(f"'{ref.value}' is not the number of a pull request")
    elif ref.kind in NAMED_KINDS and _NO_NAME.search(ref.value):
        raise UsageError(f"'{ref.value}' is not the name of a {ref.kind}")


def is_null_commit(commit: str) -> bool:
    """Tell whether git means by this commit that there is none: a branch or tag was deleted."""
    return bool(commit) and not commit.strip("0")
