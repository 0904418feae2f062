"""Giving a repository another name.

Its name is in the id of every chunk, so it is indexed anew under the new one: from the mirror, with vectors from the
cache. Searches find it under the old name until all of it is there under the new one, and for that while under both.
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
    """What has the new name now; ``lost`` are versions that neither the origin nor this machine has any more."""

    name: str
    versions: tuple[str, ...]
    lost: tuple[str, ...] = ()


def rename_repository(old: str, new: str, workshop: Workshop, observe: ObserveRun = ignore) -> Renamed:
    """Give a repository another name; called again it goes on where it was interrupted.

    NotIndexed where there is none of the old name, UsageError where the new one is malformed or taken. Of its history
    the newest commits remain.
    """
    store = workshop.store
    repair(store, workshop.settings)
    repository = read_repository(store, old)
    if repository is None:
        known = ", ".join(other.name for other in list_repositories(store)) or "nothing yet"
        raise NotIndexed(f"'{old}' is not indexed; there is {known}")
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
    # Before the old name goes: after that, nobody could call this again.
    change_poll(store, new, lambda poll: replace(poll, next_at=now()))
    remove_repository(old, store, workshop.settings, repository.id)
    return Renamed(new, tuple(kept), tuple(lost))


def _hand_over_jobs(store: DocumentStore, old: str, new: str) -> None:
    """Ask under the new name for what was asked for under the old one: somebody may have pushed meanwhile.

    The new jobs are written before the old ones are cancelled, so that a kill in between loses none. Those that came
    in between are asked for once more; what waits already is joined.
    """
    for job in list_jobs(store, UNFINISHED):
        if job.repo == old and job.kind == "index":
            submit(store, _wish_of(job, new))
    for job in cancel_jobs_of(store, old):
        submit(store, _wish_of(job, new))


def _wish_of(job: Job, repo: str) -> JobRequest:
    """Return the request that a job was made for, for a repository that is called ``repo`` by now."""
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
        raise UsageError(f"'{new}' is no name for a repository: letters, digits, '.', '_' and '-', 100 at most")
    if new == repository.name:
        raise UsageError(f"'{new}' is its name already")
    renamed = replace(repository, name=new, head_commit="", fetched_at="", tokens_embedded=0)
    if claim_repository(store, renamed):
        bind_pending(store, renamed)
        return renamed
    taken = read_repository(store, new)
    if taken is None or origin_identity(taken.origin) != origin_identity(repository.origin):
        raise UsageError(f"'{new}' is the name of {taken.origin if taken else 'another repository'}; choose another")
    return taken


def _versions(head: Head, repo: str) -> list[Ref | None]:
    """Return the versions that can be indexed anew, the default branch first."""
    if repo not in head.defaults:
        return []
    keys = sorted({head.timelines[one].ref for one in head.of_repo(repo) if not head.timelines[one].gone} - {""})
    return [None, *(ref for ref in map(Ref.of_key, keys) if not is_deleted(ref))]
