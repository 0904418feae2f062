"""The owners that a repository's CODEOWNERS file names for a path, at the version that was searched."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from codequarry.search_api.search.files import join_lines
from codequarry.search_api.versions.views import View
from codequarry.shared.errors import UsageError
from codequarry.shared.filters import compile_glob
from codequarry.shared.model import INDEXED
from codequarry.shared.store.port import RowReader

# Where code hosts look for the file, in this order.
PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
# More patterns than people write; the remaining lines of a longer file have no effect.
MOST_RULES = 5_000
MOST_REMEMBERED = 1_000
# GitLab's sections: each has its own last matching pattern, and owners for patterns that name none.
_SECTION = re.compile(r"\^?\[(?P<name>[^\]]+)\](?:\[\d+\])?(?P<owners>(?:\s.*)?)")
_SPACE = re.compile(r"(?<!\\)\s+")
_COMMENT = re.compile(r"(?:^|\s)#.*")


@dataclass(frozen=True, slots=True)
class OwnerRule:
    """A pattern of a section, with its owners, of which there may be none."""

    glob: str
    pattern: re.Pattern[str]
    owners: tuple[str, ...]
    section: str = ""

    def matches(self, path: str) -> bool:
        """Return whether the pattern matches a path; one that ends with ``/*`` does not match in subfolders."""
        is_flat = self.glob.endswith("/*") and "**" not in self.glob
        if is_flat and path.count("/") != self.glob.strip("/").count("/"):
            return False
        return bool(self.pattern.fullmatch(path))


@lru_cache(maxsize=256)
def parse_code_owners(text: str) -> tuple[OwnerRule, ...]:
    """Return the rules of a CODEOWNERS file, the last first; lines that are not understood are left out."""
    return tuple(reversed(list(_rules(text))[:MOST_RULES]))


def _rules(text: str) -> Iterator[OwnerRule]:
    section, defaults = "", ()
    for line in text.splitlines():
        stated = _COMMENT.sub("", line).strip()
        if found := _SECTION.fullmatch(stated):
            section, defaults = found["name"].lower(), tuple(found["owners"].split())
        elif stated and not stated.startswith("!"):
            glob, *owners = _SPACE.split(stated)
            glob = glob.replace("\\ ", " ")
            try:
                yield OwnerRule(glob, compile_glob(glob), tuple(owners) or defaults, section)
            except UsageError:
                continue


def owners_of(path: str, rules: Sequence[OwnerRule]) -> tuple[str, ...]:
    """Return the owners of a path: those of the last matching pattern of each section."""
    decided: dict[str, tuple[str, ...]] = {}
    sections = {rule.section for rule in rules}
    for rule in rules:
        if rule.section not in decided and rule.matches(path):
            decided[rule.section] = rule.owners
            if len(decided) == len(sections):
                break
    return tuple(dict.fromkeys(owner for owners in reversed(decided.values()) for owner in owners))


@dataclass(slots=True)
class CodeOwners:
    """Finds owners at the versions that are searched, and remembers the file of each version, which never changes."""

    _rules: dict[tuple[object, ...], tuple[OwnerRule, ...]] = field(default_factory=dict)

    def of(self, path: str, view: View | None, store: RowReader, hidden: frozenset[int]) -> tuple[str, ...]:
        """Return the owners of a path; a caller who may not see the CODEOWNERS file learns no owners."""
        if view is None:
            return ()
        version = (view.repo, view.timeline, view.number, view.allowed)
        if version not in self._rules:
            if len(self._rules) >= MOST_REMEMBERED:
                self._rules.clear()
            self._rules[version] = _read(view, store, hidden)
        return owners_of(path, self._rules.get(version, ()))


def _read(view: View, store: RowReader, hidden: frozenset[int]) -> tuple[OwnerRule, ...]:
    snapshot = view.snapshot(hidden)
    indexed = {file.path for file in store.files(snapshot, PLACES) if file.verdict == INDEXED}
    place = next((path for path in PLACES if path in indexed), None)
    if place is None:
        return ()
    return parse_code_owners("".join(join_lines(store.chunks(snapshot, place, view.repo))))
