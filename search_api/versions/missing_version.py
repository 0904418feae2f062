"""What is said, and done, about a version that the index does not have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from codequarry.search_api.query.version_query import VersionSpecifier
from codequarry.search_api.versions.lookup import VersionLine
from codequarry.search_api.versions.views import Moment
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.errors import NotIndexed
from codequarry.shared.versions.refs import RefKind

# An error is read by a person: more names than these are a list, for which there is GET /repos.
MAX_NAMES_IN_ERROR = 20
MAX_REPOSITORIES_IN_ERROR = 3
MAX_COMMITS_IN_ERROR = 5
SHORT_COMMIT = 12

_PLURALS: Mapping[RefKind, str] = {
    "branch": "branches",
    "tag": "tags",
    "pull": "pull requests",
    "commit": "commits by themselves",
    "workspace": "working trees",
}


@dataclass(frozen=True, slots=True)
class Missing:
    """A version that was asked for and is not there, in a repository that may have it."""

    repo: str
    asked: VersionSpecifier


class VersionMissing(NotIndexed):
    """A version that is not indexed in any of the repositories in which it was looked for."""

    def __init__(
        self,
        asked: VersionSpecifier,
        missing: Sequence[Missing],
        moment: Moment,
        lines: Mapping[str, Sequence[VersionLine]],
        catalog: Mapping[str, Repository],
    ) -> None:
        self.missing = tuple(missing)
        names = [one.repo for one in missing]
        shown = [_has(name, lines[name], moment) for name in names[:MAX_REPOSITORIES_IN_ERROR]]
        more = f" and {len(names) - len(shown)} more repositories" if len(names) > len(shown) else ""
        there = "; ".join(shown) or "nothing yet (codequarry index PATH_OR_URL)"
        super().__init__(f"{asked} is not indexed; indexed: {there}{more}{_how(asked, self.missing, catalog)}")


def _has(repo: str, lines: Sequence[VersionLine], moment: Moment) -> str:
    """Say which versions of a repository there are."""
    kinds: dict[RefKind, list[str]] = {}
    for line in lines:
        if not line.former:
            kinds.setdefault(line.ref.kind, []).append(line.ref.value)
    said = [f"{_PLURALS[kind]} {listed(names)}" for kind, names in kinds.items()]
    if lines:
        points = reversed(moment.points(lines[0].timeline))
        commits = list(dict.fromkeys(point.commit[:SHORT_COMMIT] for point in points if point.commit))
        said.append(f"newest commits {', '.join(commits[:MAX_COMMITS_IN_ERROR])}")
    return f"{repo} with {', '.join(said)}" if said else f"nothing of {repo}"


def _how(asked: VersionSpecifier, missing: Sequence[Missing], catalog: Mapping[str, Repository]) -> str:
    """Say how one version of one repository would be indexed; a working tree tells itself which repository it is of."""
    candidates = asked.candidates()
    flags = " or ".join(f"--{ref.kind} {quote(ref.value)}" for ref in candidates)
    if candidates[0].kind == "workspace":
        return f"; to index it, on its own machine: codequarry index {flags} (never over HTTP)"
    if len(missing) != 1 or missing[0].repo not in catalog:
        return ""
    return f"; to index it: codequarry index {catalog[missing[0].repo].origin} {flags}, or over HTTP ?index=true"


def listed(names: Sequence[str]) -> str:
    """Return names for an error, and how many more there are."""
    shown = ", ".join(names[:MAX_NAMES_IN_ERROR])
    return f"{shown} and {len(names) - MAX_NAMES_IN_ERROR} more" if len(names) > MAX_NAMES_IN_ERROR else shown
