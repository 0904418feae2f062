"""The error for a version that the index does not have, with what is indexed and how to index the version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from codequarry.search_api.query.version_query import VersionSpecifier
from codequarry.search_api.versions.lookup import VersionLine
from codequarry.search_api.versions.views import Moment
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.errors import NotIndexed
from codequarry.shared.versions.refs import RefKind

# Errors are read by people; GET /repos has the whole list.
MAX_NAMES_IN_ERROR = 20
MAX_REPOSITORIES_IN_ERROR = 3
MAX_COMMITS_IN_ERROR = 5
SHORT_COMMIT = 12

_PLURALS: Mapping[RefKind, str] = {
    "branch": "branches",
    "tag": "tags",
    "pull": "pull requests",
    "commit": "single commits",
    "workspace": "working trees",
}


@dataclass(frozen=True, slots=True)
class Missing:
    """A requested version that is not indexed, and a repository that may have it."""

    repo: str
    asked: VersionSpecifier


def no_match(
    asked: VersionSpecifier, repos: Sequence[str], moment: Moment, lines: Mapping[str, Sequence[VersionLine]]
) -> NotIndexed:
    """Return the error for a pattern that matches no version; no version could be indexed to make it match."""
    kind = "version" if asked.kind == "ref" else asked.kind
    return NotIndexed(f"no indexed {kind} matches '{asked.text}'; indexed: {_list(repos, moment, lines)}")


class VersionMissing(NotIndexed):
    """A version that is not indexed in any of the repositories that were searched for it.

    The message ends with the ``command`` that indexes the version, if there is one. Where no command can be run, say
    ``problem`` instead, and how to index the version there.
    """

    def __init__(
        self,
        asked: VersionSpecifier,
        missing: Sequence[Missing],
        moment: Moment,
        lines: Mapping[str, Sequence[VersionLine]],
        catalog: Mapping[str, Repository],
    ) -> None:
        self.missing = tuple(missing)
        names = [version.repo for version in missing]
        ended = next(filter(None, (_ended(asked, lines[name], moment) for name in names)), "")
        self.problem = f"{asked} {ended or f'is not indexed; indexed: {_list(names, moment, lines)}'}"
        self.command = _command(asked, self.missing, catalog)
        self.is_workspace = asked.candidates()[0].kind == "workspace"
        where = ", on the machine of the working tree" if self.is_workspace else ""
        super().__init__(self.problem + (f"; to index it{where}: {self.command}" if self.command else ""))


def _list(repos: Sequence[str], moment: Moment, lines: Mapping[str, Sequence[VersionLine]]) -> str:
    """Return the indexed versions of some repositories."""
    shown = [_indexed(name, lines[name], moment) for name in repos[:MAX_REPOSITORIES_IN_ERROR]]
    more = f" and {len(repos) - len(shown)} more repositories" if len(repos) > len(shown) else ""
    return ("; ".join(shown) or "nothing yet") + more


def _indexed(repo: str, lines: Sequence[VersionLine], moment: Moment) -> str:
    kinds: dict[RefKind, list[str]] = {}
    for line in lines:
        if not line.former:
            kinds.setdefault(line.ref.kind, []).append(line.ref.value)
    parts = [f"{_PLURALS[kind]} {listed(names)}" for kind, names in kinds.items()]
    if lines:
        points = reversed(moment.points(lines[0].timeline))
        commits = list(dict.fromkeys(point.commit[:SHORT_COMMIT] for point in points if point.commit))
        parts.append(f"newest commits {', '.join(commits[:MAX_COMMITS_IN_ERROR])}")
    return f"{repo} with {', '.join(parts)}" if parts else f"nothing of {repo}"


def _ended(asked: VersionSpecifier, lines: Sequence[VersionLine], moment: Moment) -> str:
    """Return what is left of a version that has ended, or "" if there was no such version."""
    fitting = [line for line in lines if line.former and line.ref.answers_to(asked.text)]
    points = [point for line in fitting for point in moment.points(line.timeline)]
    newest = sorted(points, key=lambda point: -point.number)[:MAX_COMMITS_IN_ERROR]
    commits = ", ".join(dict.fromkeys(point.commit[:SHORT_COMMIT] for point in newest))
    return f"is no longer indexed, but its commits are searchable until they expire: {commits}" if newest else ""


def _command(asked: VersionSpecifier, missing: Sequence[Missing], catalog: Mapping[str, Repository]) -> str:
    """Return the command that indexes the version, or "" unless exactly one repository lacks it.

    A working tree knows its own repository.
    """
    candidates = asked.candidates()
    flags = " or ".join(f"--{ref.kind} {quote(ref.value)}" for ref in candidates)
    if candidates[0].kind == "workspace":
        return f"codequarry index {flags}"
    if not missing:
        return "codequarry index PATH_OR_URL"
    if len(missing) != 1 or missing[0].repo not in catalog:
        return ""
    return f"codequarry index {quote(catalog[missing[0].repo].origin)} {flags}"


def listed(names: Sequence[str]) -> str:
    """Return names for an error; a long list is truncated and ends with the number of omitted names."""
    shown = ", ".join(names[:MAX_NAMES_IN_ERROR])
    return f"{shown} and {len(names) - MAX_NAMES_IN_ERROR} more" if len(names) > MAX_NAMES_IN_ERROR else shown
