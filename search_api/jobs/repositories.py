"""Adds and removes repositories on request; each request becomes a job at once."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from codequarry.search_api.jobs.queue import Indexer
from codequarry.search_api.query.request_body import Line, RequestBody
from codequarry.search_api.query.version_query import VersionSpecifier
from codequarry.search_api.search.engine import SearchEngine
from codequarry.shared.access.grants import Principal
from codequarry.shared.errors import Forbidden, IndexingOff, NotIndexed, UsageError
from codequarry.shared.jobs.job import PRIORITIES, Job, JobRequest
from codequarry.shared.jobs.job_list import cancel_jobs_of
from codequarry.shared.origins import identity_if_readable, read_origin
from codequarry.shared.repositories.naming import claim
from codequarry.shared.repositories.origin_rules import accepted_origin
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.versions.refs import Ref, check_ref

_MAY_ADD_NONE = "this key is limited to some repositories; it may index them, but not add others"


class RepositoryToAdd(RequestBody):
    """The body of `POST /repos`."""

    examples: ClassVar[Sequence[Mapping[str, Any]]] = [
        {"origin": "https://git.example/owner/core.git"},
        {"origin": "git@git.example:owner/core", "name": "core", "ref": "release/2"},
    ]

    origin: Line = Field(description="https, ssh or git URL; a path only below api.local_roots")
    name: Line | None = Field(None, description="the name in the index; taken from the origin if not given")
    ref: Line = Field("", description="a branch, a tag, pull/12 or a commit; the default branch if not given")


def add_repository(
    engine: SearchEngine, indexer: Indexer | None, asked: RepositoryToAdd, settings: SettingsModel
) -> Job:
    """Add a repository to the catalog and request a version of it; a known repository is brought up to date.

    Raise IndexingOff if this service does not index, UsageError if origin, name or version is invalid, or Forbidden if
    the caller is limited to other repositories; this error must not reveal whether the repository exists.
    """
    if indexer is None:
        raise IndexingOff("this service does not index; run codequarry repos add")
    candidates = candidates_of(asked.ref)
    _check_adding(engine, asked.origin)
    origin = read_origin(accepted_origin(asked.origin, settings))
    # Check again: a path may have resolved to a different place, or a repository may have two names during a rename.
    _check_adding(engine, origin.url)
    repository, _ = claim(engine.store, origin, asked.name, "", guarded=True)
    if not engine.catalog.principal.sees(repository.name, repository.id):
        raise Forbidden(_MAY_ADD_NONE)
    is_indexed = repository.name in engine.head().defaults
    job = indexer.submit(
        JobRequest(
            repository.name,
            repository.origin,
            asked.ref,
            candidates,
            priority=PRIORITIES["change" if is_indexed else "import"],
            requested_by=engine.catalog.principal.name,
            guarded=repository.guarded,
            repo_id=repository.id,
        ),
        engine.deadline,
    )
    return engine.catalog.shown(job)


def _check_adding(engine: SearchEngine, asked: str) -> None:
    """Raise Forbidden for an origin that the caller can't see in the index, without resolving the origin."""
    if engine.catalog.principal.sees_everything:
        return
    identity = identity_if_readable(asked)
    seen = engine.catalog.repositories(engine.head()).values()
    if identity and any(identity_if_readable(repository.origin) == identity for repository in seen):
        return
    raise Forbidden(_MAY_ADD_NONE)


def remove_repository(engine: SearchEngine, indexer: Indexer | None, name: str) -> Job:
    """Request a removal and cancel other jobs; raise NotIndexed, or Forbidden if the caller sees only some paths."""
    if indexer is None:
        raise IndexingOff("this service does not index; run codequarry repos rm")
    head, principal = engine.head(), engine.catalog.principal
    known = engine.catalog.repositories(head, [name])
    repository = known.get(name)
    if repository is None and name not in head.defaults:
        raise NotIndexed(f"'{name}' is not indexed; indexed: {', '.join(known) or 'none'}")
    repo_id = repository.id if repository else head.id_of_repo(name) or ""
    check_removing(name, repo_id, principal)
    cancel_jobs_of(engine.store, name)
    request = JobRequest(
        name,
        repository.origin if repository else "",
        kind="remove",
        priority=PRIORITIES["change"],
        requested_by=principal.name,
        repo_id=repo_id,
    )
    return indexer.submit(request, engine.deadline)


def check_removing(name: str, repo_id: str, principal: Principal) -> None:
    """Raise Forbidden if a principal may not remove a repository, or retry or cancel its removal."""
    principal.require("admin")
    if principal.allowed_paths(name, repo_id):
        raise Forbidden(f"this key is limited to some paths of '{name}'; a key must see all of it to remove it")


def candidates_of(text: str) -> tuple[Ref, ...]:
    """Return the refs that a version may mean, likeliest first; raise UsageError for a bad name or a working tree."""
    if not text:
        return ()
    found: list[Ref] = []
    for ref in VersionSpecifier("ref", text).candidates():
        if ref.kind == "workspace":
            raise UsageError("working trees can't be indexed over HTTP; run codequarry index --workspace PATH")
        check_ref(ref)
        found.append(ref)
    return tuple(found)
