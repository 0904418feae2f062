"""Principals and grants: what a caller may do, and which part of the index it may see. No IO, and no keys.

Repositories that a caller may not see are removed from the head document before anything else reads it, and path globs
become part of the snapshot's layers. So no result, count, suggestion or error can reveal hidden code.
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

# Values of a grant's ``repo_id`` that are not ids.
PENDING = "pending"
LOST = "lost"


@dataclass(frozen=True, slots=True)
class Grant:
    """Access to some paths of some repositories (docs/decisions/0026).

    ``repos`` with a ``*`` is a pattern of names, whichever repositories have them. Without ``*`` it is the name of one
    repository, and ``repo_id`` binds the grant to that repository: PENDING until a repository first takes the name,
    LOST if that can never happen, or "" before it is looked up. A grant with one of these three values shows nothing.
    """

    repos: str
    paths: PathGlobs = field(default_factory=PathGlobs)
    repo_id: str = ""

    @property
    def is_pattern(self) -> bool:
        """Return whether this grant is for a pattern of names, not for one repository."""
        return "*" in self.repos

    @property
    def is_bound(self) -> bool:
        """Return whether this grant is bound to one repository by its id."""
        return not self.is_pattern and self.repo_id not in ("", PENDING, LOST)

    def covers(self, repo: str, repo_id: str) -> bool:
        """Return whether this grant covers a repository, given by its name and its id."""
        return fnmatchcase(repo, self.repos) if self.is_pattern else self.is_bound and self.repo_id == repo_id


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller: a person, an agent, a CI system. ``admin`` includes the other scopes, but sees only what is granted."""

    name: str
    scopes: frozenset[KeyScope]
    grants: tuple[Grant, ...]

    def has(self, scope: KeyScope) -> bool:
        """Return whether this principal has a scope."""
        return scope in self.scopes or "admin" in self.scopes

    def require(self, scope: KeyScope) -> None:
        """Raise Forbidden if this principal lacks a scope."""
        if not self.has(scope):
            raise Forbidden(f"this needs the scope '{scope}', which this key does not have")

    def allowed_paths(self, repo: str, repo_id: str) -> tuple[PathGlobs, ...] | None:
        """Return a repository's visible paths in the form of ``Layer.allowed``: () means every path, None nothing."""
        globs = tuple(grant.paths for grant in self.grants if grant.covers(repo, repo_id))
        if not globs:
            return None
        return () if ALL_PATHS in globs else globs

    def sees(self, repo: str, repo_id: str) -> bool:
        """Return whether any part of a repository is visible."""
        return any(grant.covers(repo, repo_id) for grant in self.grants)

    def may_know(self, repo: str) -> bool:
        """Return whether a grant's name or pattern matches a name, whichever repository has it."""
        return any(fnmatchcase(repo, grant.repos) for grant in self.grants)

    @property
    def sees_everything(self) -> bool:
        """Return whether nothing is hidden from this principal."""
        return any(grant.repos == "*" and grant.paths == ALL_PATHS for grant in self.grants)


OWNER = Principal("owner", frozenset(SCOPES), (Grant("*"),))
"""The caller if no key is configured: this machine's user."""


def permitted_head(head: Head, principal: Principal) -> Head:
    """Return the head document without the repositories that are hidden from a principal.

    Partly visible repositories are in ``Head.allowed``, whose paths become part of every layer. The head document, not
    the catalog, says which repository a timeline belongs to, because the catalog may be newer or older. Numbers do
    not change: an open transaction of a hidden repository still hides nothing in other repositories.
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
    """Return the repositories in the catalog that a principal may see."""
    if principal.sees_everything:
        return catalog
    return {name: repository for name, repository in catalog.items() if principal.sees(name, repository.id)}
