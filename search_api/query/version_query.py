"""The versions named in a request, as the client wrote them: branches, tags, pull requests, workspaces, commits."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from codequarry.shared.versions.refs import KIND_NAMES, MIN_COMMIT_DIGITS, Ref, RefKind, commit_digits, is_pattern

SpecifierKind = Literal["branch", "tag", "ref", "commit"]
_HEXADECIMAL = re.compile(rf"[0-9a-fA-F]{{{MIN_COMMIT_DIGITS},64}}")
_COMMIT_PREFIX = "commit/"
_KIND_PREFIXES: dict[str, RefKind] = {"pull/": "pull", "workspace:": "workspace"}


@dataclass(frozen=True, slots=True)
class VersionSpecifier:
    """A version as the client wrote it, or a pattern of names; a ``ref`` is any named version or a commit."""

    kind: SpecifierKind
    text: str

    @property
    def commit(self) -> str | None:
        """The commit (or prefix) that the text may mean; raises UsageError if it must be a commit but is not."""
        text = self.text.removeprefix(_COMMIT_PREFIX) if self.kind == "ref" else self.text
        if self.kind in ("branch", "tag") or (self.kind == "ref" and not _HEXADECIMAL.fullmatch(text)):
            return None
        return commit_digits(text)

    @property
    def is_pattern(self) -> bool:
        """Whether the text is a pattern, such as ``release/*``; a folder with such a name is not meant as one."""
        return self.kind != "commit" and is_pattern(self.text)

    def fits(self, ref: Ref) -> bool:
        """Return whether the pattern matches a version; only a pattern of working trees matches working trees."""
        if self.kind != "ref":
            return ref.kind == self.kind and ref.fits(self.text)
        if ref.kind == "workspace" and not self.text.startswith(("workspace:", "workspace/")):
            return False
        return any(fnmatchcase(name, self.text) for name in (ref.name, ref.key))

    def candidates(self) -> tuple[Ref, ...]:
        """Return the refs that the text may mean, most likely first."""
        if self.kind == "branch" or self.kind == "tag":
            return (Ref(self.kind, self.text),)
        if self.commit:
            return (Ref("commit", self.commit),)
        for prefix, kind in _KIND_PREFIXES.items():
            if self.text.startswith(prefix):
                return (Ref(kind, self.text.removeprefix(prefix)),)
        try:
            return (Ref.of_key(self.text),)
        except ValueError:
            return Ref("branch", self.text), Ref("tag", self.text)

    def __str__(self) -> str:
        if self.is_pattern:
            return f"{'version' if self.kind == 'ref' else self.kind} '{self.text}'"
        if self.kind != "ref":
            return f"{self.kind} '{self.text}'"
        try:
            ref = Ref.of_key(self.text)
        except ValueError:
            return f"version '{self.text}'"
        return f"{KIND_NAMES[ref.kind]} '{ref.value}'"


@dataclass(frozen=True, slots=True)
class VersionQuery:
    """The versions to search; ``commits`` must lie on ``names`` if both are given. Empty means the default branch."""

    names: tuple[VersionSpecifier, ...] = ()  # branches and refs
    commits: tuple[VersionSpecifier, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names or self.commits)

    @property
    def all(self) -> tuple[VersionSpecifier, ...]:
        """All specifiers; each must be found in at least one repository."""
        return self.names + self.commits
