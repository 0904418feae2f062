"""Repositories that a request has added to the index, or removed from it: each a job at once."""

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

_MAY_ADD_NONE = "this key sees some repositories alone: it may have these indexed, and add none"


class RepositoryToAdd(RequestBody):
    """The body of `POST /repos`."""

    examples: ClassVar[Sequence[Mapping[str, Any]]] = [
        {"origin": "https://git.example/owner/core.git"},
        {"origin": "git@git.example:owner/core", "name": "core", "ref": "release/2"},
    ]

    origin: Line = Field(description="https, ssh or git URL; a path only below api.local_roots")
    name: Line | None = Field(None, description="its name in the index; taken from the origin if not given")
    ref: Line = Field("", description="a branch, a tag, pull/12 or a commit; the default branch if not given")


def add_repository(
    engine: SearchEngine, indexer: Indexer | None, asked: RepositoryToAdd, settings: SettingsModel
) -> Job:
    """Take a name in the catalog for a repository and ask for a version of it; one that is known is brought up to date.

    IndexingOff where nothing indexes, UsageError where origin, name or version is none, Forbidden where the caller does
    not see everything and asks for what it does not see: be that hidden or new, which no answer may tell.
    """
    if indexer is None:
        raise IndexingOff("this service does not index: run codequarry repos add")
    candidates = candidates_of(asked.ref)
    _check_adding(engine, asked.origin)
    origin = read_origin(accepted_origin(asked.origin, settings))
    # A path may lead elsewhere by now, and a place have two names while it is renamed.
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
    """Raise Forbidden for an origin that the caller does not see in the index; nothing is looked up for that."""
    if engine.catalog.principal.sees_everything:
        return
    identity = identity_if_readable(asked)
    seen = engine.catalog.repositories(engine.head()).values()
    if identity and any(identity_if_readable(one.origin) == identity for one in seen):
        return
    raise Forbidden(_MAY_ADD_NONE)


def remove_repository(engine: SearchEngine, indexer: Indexer | None, name: str) -> Job:
    """Ask for a repository to be removed, whatever waits or runs for it; NotIndexed where the caller sees none.

    Forbidden where the caller sees some paths of it alone.
    """
    if indexer is None:
        raise IndexingOff("this service does not index: run codequarry repos rm")
    head, principal = engine.head(), engine.catalog.principal
    known = engine.catalog.repositories(head, [name])
    repository = known.get(name)
    if repository is None and name not in head.defaults:
        raise NotIndexed(f"'{name}' is not indexed; there is {', '.join(known) or 'nothing yet'}")
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
    """Raise Forbidden for who may not have a repository removed, nor decide on a removal that is under way."""
    principal.require("admin")
    if principal.allowed_paths(name, repo_id):
        raise Forbidden(f"this key sees some paths of '{name}' alone; who removes it must see all of it")


def candidates_of(text: str) -> tuple[Ref, ...]:
    """Return what a version may be, likeliest first; UsageError where it can be none, or is of this machine."""
    if not text:
        return ()
    found: list[Ref] = []
    for ref in VersionSpecifier("ref", text).candidates():
        if ref.kind == "workspace":
            raise UsageError("a working tree is indexed where it is: codequarry index --workspace PATH")
        check_ref(ref)
        found.append(ref)
    return tuple(found)
