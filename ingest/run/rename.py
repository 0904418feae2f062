"""Renames a repository.

The id of every chunk contains the name, so the repository is indexed again under the new name, from the mirror and
with vectors from the cache. Until that is complete, searches find it under the old name or under both names.
"""

from dataclasses import dataclass, replace

from codequarry.ingest.garbage_collection.deleted_workspaces import is_deleted
from codequarry.ingest.removal.interrupted_removal import repair
from codequarry.ingest.removal.removal import remove_repository
from codequarry.ingest.request.index_request import IndexRequest, ObserveRun, Workshop, ignore
from codequarry.ingest.run.pipeline import index_repository
from codequarry.shared.access.key_list import bind_pending, rename_in_grants
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.polls import change_poll
from codequarry.shared.catalog.repositories import Repository, claim_repository, list_repositories, read_repository
from codequarry.shared.errors import NotAtOrigin, NotIndexed, UsageError
from codequarry.shared.jobs.job import UNFINISHED, Job, JobRequest
from codequarry.shared.jobs.job_list import cancel_jobs_of, list_jobs, submit
from codequarry.shared.origins import NAME, origin_identity
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.timestamps import now
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref


@dataclass(frozen=True, slots=True)
class Renamed:
    """The result of a renaming; ``lost`` lists the versions that neither the origin nor this machine still has."""

    name: str
    versions: tuple[str, ...]
    lost: tuple[str, ...] = ()


def rename_repository(old: str, new: str, workshop: Workshop, observe: ObserveRun = ignore) -> Renamed:
    """Rename a repository; after an interruption, the next call continues.

    Only each version's newest commit is kept. Raise NotIndexed for an unknown ``old``, UsageError for a bad ``new``.
    """
    store = workshop.store
    repair(store, workshop.settings)
    repository = read_repository(store, old)
    if repository is None:
        known = ", ".join(other.name for other in list_repositories(store)) or "none"
        raise NotIndexed(f"'{old}' is not indexed; indexed: {known}")
    taken = _take(store, repository, new)
    kept, lost = [], []
    for ref in _versions(read_head(store), old):
        try:
            report = index_repository(IndexRequest(repository.origin, ref, new), workshop, observe)
            kept.append(report.ref)
        except (NotAtOrigin, UsageError):
            if ref is None:
                raise
            lost.append(ref.name)
    _hand_over_jobs(store, old, new)
    rename_in_grants(store, repository.id, taken)
    # This must precede the removal of the old name: after that, this function can't be called again.
    change_poll(store, new, lambda poll: replace(poll, next_at=now()))
    remove_repository(old, store, workshop.settings, repository.id)
    return Renamed(new, tuple(kept), tuple(lost))


def _hand_over_jobs(store: DocumentStore, old: str, new: str) -> None:
    """Submit the old name's unfinished jobs under the new name, because a push may have arrived during the renaming."""
    # Submitted before the old jobs are cancelled, so that a crash loses none; a job that is already waiting is joined.
    for job in list_jobs(store, UNFINISHED):
        if job.repo == old and job.kind == "index":
            submit(store, _request_of(job, new))
    for job in cancel_jobs_of(store, old):
        submit(store, _request_of(job, new))


def _request_of(job: Job, repo: str) -> JobRequest:
    return JobRequest(
        repo,
        job.origin,
        job.ref,
        job.refs,
        kind=job.kind,
        trigger=job.trigger,
        priority=job.priority,
        commit=job.wanted_commit,
        requested_by=job.requested_by,
        guarded=job.guarded,
        repo_id=job.repo_id,
        request_id=job.request_id,
        traceparent=job.traceparent,
        turn=job.turn,
    )


def _take(store: DocumentStore, repository: Repository, new: str) -> Repository:
    if not NAME.fullmatch(new):
        raise UsageError(f"'{new}' is not a valid repository name: use at most 100 letters, digits, '.', '_' and '-'")
    if new == repository.name:
        raise UsageError(f"the repository is already called '{new}'")
    renamed = replace(repository, name=new, head_commit="", fetched_at="", tokens_embedded=0)
    if claim_repository(store, renamed):
        bind_pending(store, renamed)
        return renamed
    taken = read_repository(store, new)
    if taken is None or origin_identity(taken.origin) != origin_identity(repository.origin):
        raise UsageError(f"'{new}' is taken by {taken.origin if taken else 'another repository'}; choose another name")
    return taken


def _versions(head: Head, repo: str) -> list[Ref | None]:
    if repo not in head.defaults:
        return []
    states = (head.timelines[timeline] for timeline in head.of_repo(repo))
    keys = sorted({state.ref for state in states if not state.gone} - {""})
    return [None, *(ref for ref in map(Ref.of_key, keys) if not is_deleted(ref))]
