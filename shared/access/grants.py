"""Who may do what, and what of the index somebody may see. Only nouns and rules; keys are the service's business.

What a caller may not see is taken out of the head document before anything else looks at it, and path globs go into the
layers of the snapshot: so there is no place where a result, a count, a suggestion or an error could tell of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Literal

from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.errors import Forbidden
from codequarry.shared.model import PathGlobs
from codequarry.shared.versions.head import Head

KeyScope = Literal["search", "index", "admin"]
SCOPES: tuple[KeyScope, ...] = ("search", "index", "admin")
ALL_PATHS = PathGlobs()


# What a grant of one repository has in the place of an id.
PENDING = "pending"
LOST = "lost"


@dataclass(frozen=True, slots=True)
class Grant:
    """Some paths of some repositories (docs/decisions/0026).

    ``repos`` with a ``*`` is a pattern: it speaks of names, whichever repositories have them. Without, it is the name
    of one repository, and the grant belongs to that repository alone, by ``repo_id``: PENDING until a repository takes
    the name for the first time, LOST if that can never be, "" before it was looked up. Those three show nothing.
    """

    repos: str
    paths: PathGlobs = field(default_factory=PathGlobs)
    repo_id: str = ""

    @property
    def is_pattern(self) -> bool:
        """Return whether this grant speaks of names, not of one repository."""
        return "*" in self.repos

    @property
    def is_bound(self) -> bool:
        """Return whether this grant belongs to one repository by its id."""
        return not self.is_pattern and self.repo_id not in ("", PENDING, LOST)

    def covers(self, repo: str, repo_id: str) -> bool:
        """Return whether a repository, by its name and its id, is granted."""
        return fnmatchcase(repo, self.repos) if self.is_pattern else self.is_bound and self.repo_id == repo_id


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks: a person, an agent, a CI system. ``admin`` includes the other scopes, but sees no more than granted."""

    name: str
    scopes: frozenset[KeyScope]
    grants: tuple[Grant, ...]

    def require(self, scope: KeyScope) -> None:
        """Raise Forbidden where this principal lacks a scope."""
        if scope not in self.scopes and "admin" not in self.scopes:
            raise Forbidden(f"this needs the scope '{scope}', which this key has not")

    def allowed_paths(self, repo: str, repo_id: str) -> tuple[PathGlobs, ...] | None:
        """Return what it may see of a repository as ``Layer.allowed`` wants it: () is every path, None is nothing."""
        globs = tuple(grant.paths for grant in self.grants if grant.covers(repo, repo_id))
        if not globs:
            return None
        return () if ALL_PATHS in globs else globs

    def sees(self, repo: str, repo_id: str) -> bool:
        """Return whether it may see anything of a repository."""
        return any(grant.covers(repo, repo_id) for grant in self.grants)

    def may_know(self, repo: str) -> bool:
        """Return whether its grants speak of a name, whatever repository has it."""
        return any(fnmatchcase(repo, grant.repos) for grant in self.grants)

    @property
    def sees_everything(self) -> bool:
        """Tell whether nothing has to be hidden from it."""
        return any(grant.repos == "*" and grant.paths == ALL_PATHS for grant in self.grants)


OWNER = Principal("owner", frozenset(SCOPES), (Grant("*"),))
"""Who asks where no key is configured: the person at this machine."""


def permitted_head(head: Head, principal: Principal) -> Head:
    """Return the head document as somebody may read it: without the repositories that are hidden from them.

    Those that are seen in part are in ``Head.allowed``, from where the paths go into every layer that is made of it.
    Whose a timeline is stands in the head document itself: the catalog, which may be newer or older, does not decide.
    Numbers stay: what is open in another repository still hides nothing of this one.
    """
    if principal.sees_everything:
        return head
    there = {state.repo: state.repo_id for state in head.timelines.values()}
    seen = {repo: paths for repo, key in there.items() if (paths := principal.allowed_paths(repo, key)) is not None}
    timelines = {
        key: state for key, state in head.timelines.items() if state.repo in seen and state.repo_id == there[state.repo]
    }
    defaults = {repo: key for repo, key in head.defaults.items() if key in timelines}
    allowed = {repo: paths for repo, paths in seen.items() if paths}
    return replace(head, timelines=timelines, defaults=defaults, allowed=allowed)


def permitted_catalog(catalog: Mapping[str, Repository], principal: Principal) -> Mapping[str, Repository]:
    """Return the repositories of the catalog that somebody may see."""
    if principal.sees_everything:
        return catalog
    return {name: repository for name, repository in catalog.items() if principal.sees(name, repository.id)}
