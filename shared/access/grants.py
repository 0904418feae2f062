"""Who may do what, and what of the index somebody may see. Only nouns and rules; keys are the service's business.

What a caller may not see is taken out of the head document before anything else looks at it, and path globs go into the
layers of the snapshot: so there is no place where a result, a count, a suggestion or an error could tell of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Literal

from codequarry.shared.errors import Forbidden
from codequarry.shared.model import PathGlobs
from codequarry.shared.repositories.catalog import Repository
from codequarry.shared.versions.head import Head

Scope = Literal["search", "index", "admin"]
SCOPES: tuple[Scope, ...] = ("search", "index", "admin")
ALL_PATHS = PathGlobs()


@dataclass(frozen=True, slots=True)
class Grant:
    """Some paths of some repositories; ``repos`` is a name, in which ``*`` stands for any characters."""

    repos: str
    paths: PathGlobs = field(default_factory=PathGlobs)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks: a person, an agent, a CI system. ``admin`` includes the other scopes, but sees no more than granted."""

    name: str
    scopes: frozenset[Scope]
    grants: tuple[Grant, ...]

    def require(self, scope: Scope) -> None:
        """Raise Forbidden where this principal lacks a scope."""
        if scope not in self.scopes and "admin" not in self.scopes:
            raise Forbidden(f"this needs the scope '{scope}', which this key has not")

    def allowed_paths(self, repo: str) -> tuple[PathGlobs, ...] | None:
        """Return what it may see of a repository as ``Layer.allowed`` wants it: () is every path, None is nothing."""
        globs = tuple(grant.paths for grant in self.grants if fnmatchcase(repo, grant.repos))
        if not globs:
            return None
        return () if ALL_PATHS in globs else globs

    def sees(self, repo: str) -> bool:
        """Tell whether it may see anything of a repository."""
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
    Numbers stay: what is open in another repository still hides nothing of this one.
    """
    if principal.sees_everything:
        return head
    repos = {*head.defaults, *(state.repo for state in head.timelines.values())}
    seen = {repo: paths for repo in repos if (paths := principal.allowed_paths(repo)) is not None}
    timelines = {key: state for key, state in head.timelines.items() if state.repo in seen}
    defaults = {repo: key for repo, key in head.defaults.items() if repo in seen}
    allowed = {repo: paths for repo, paths in seen.items() if paths}
    return replace(head, timelines=timelines, defaults=defaults, allowed=allowed)


def permitted_catalog(catalog: Mapping[str, Repository], principal: Principal) -> Mapping[str, Repository]:
    """Return the repositories of the catalog that somebody may see."""
    if principal.sees_everything:
        return catalog
    return {name: repository for name, repository in catalog.items() if principal.sees(name)}
