"""Renames a repository.

The id of every chunk contains the name, so the current versions are indexed again under the new name, from the mirror
and with vectors from the cache. Then the older commits, also those of versions that have ended, are copied. One write
shows them under the new name and takes the old name away; until then, searches find the repository under both names.
"""

from dataclasses import dataclass, replace

from codequarry.ingest.garbage_collection.deleted_workspaces import is_deleted
from codequarry.ingest.removal.interrupted_removal import repair
from codequarry.ingest.removal.removal import remove_repository
from codequarry.ingest.request.index_request import IndexRequest, ObserveRun, Workshop, ignore
from codequarry.ingest.run.pipeline import index_repository
from codequarry.ingest.run.renamed_history import MovedOn, copied_history, drop_left_copies
from codequarry.ingest.transaction.bases import WORKSPACES
from codequarry.ingest.transaction.placement import current_timeline
from codequarry.shared.access.key_list import bind_pending, rename_in_grants
from codequarry.shared.catalog.ledger import published_transactions, read_head
from codequarry.shared.catalog.polls import change_poll
from codequarry.shared.catalog.repositories import Repository, claim_repository, list_repositories, read_repository
from codequarry.shared.errors import Conflict, NotAtOrigin, NotIndexed, UsageError
from codequarry.shared.jobs.job import UNFINISHED, Job, JobRequest
from codequarry.shared.jobs.job_list import cancel_jobs_of, list_jobs, submit
from codequarry.shared.origins import NAME, origin_identity
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.timestamps import now
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref

# Each round copies what runs published under the old name during the round before.
MAX_ROUNDS = 10
# A path that no file has: a run that is forced to write it publishes the same state again, under a newer number.
NO_PATH = frozenset({""})


@dataclass(frozen=True, slots=True)
class Renamed:
    """The result of a renaming: the current versions, and how many commits are searchable under the new name.

    ``lost`` lists the versions that neither the origin nor this machine still has; they have ended, and their commits
    stay searchable until they expire.
    """

    name: str
    versions: tuple[str, ...]
    lost: tuple[str, ...] = ()
    commits: int = 0


def rename_repository(old: str, new: str, workshop: Workshop, observe: ObserveRun = ignore) -> Renamed:
    """Rename a repository with all its searchable commits; after an interruption, the next call continues.

    Raise NotIndexed for an unknown ``old``, UsageError for a bad ``new``, LeaseHeld if another process is renaming it,
    Conflict if it is indexed again and again under its old name meanwhile.
    """
    store = workshop.store
    repair(store, workshop.settings)
    repository = read_repository(store, old)
    if repository is None:
        known = ", ".join(other.name for other in list_repositories(store)) or "none"
        raise NotIndexed(f"'{old}' is not indexed; indexed: {known}")
    taken = _take(store, repository, new)
    lost = _move_versions(old, repository.origin, taken, workshop, observe)
    remove_repository(old, store, workshop.settings, repository.id)
    head = read_head(store)
    return Renamed(new, _current_names(head, new), tuple(lost), _count_commits(store, head, new))


def _move_versions(old: str, origin: str, taken: Repository, workshop: Workshop, observe: ObserveRun) -> list[str]:
    """Index and copy everything under the new name, and take it away from the old one; return the lost versions."""
    store, new = workshop.store, taken.name
    for attempt in range(1, MAX_ROUNDS + 1):
        lost = _index_versions(old, new, origin, workshop, observe)
        drop_left_copies(workshop, new, observe)
        if _overtaken(read_head(store), old, new):
            continue
        try:
            with copied_history(taken, old, workshop, observe) as history:
                _hand_over_jobs(store, old, new)
                rename_in_grants(store, taken.id, taken)
                # This must precede the removal of the old name: after that, this function can't be called again.
                change_poll(store, new, lambda poll: replace(poll, next_at=now()))
                history.publish(store, new)
            return lost
        except MovedOn:
            if attempt == MAX_ROUNDS:
                raise
    raise Conflict(f"'{old}' was indexed again and again during the renaming; stop its runs, then rename again")


def _index_versions(old: str, new: str, origin: str, workshop: Workshop, observe: ObserveRun) -> list[str]:
    """Index the newest commit of each version under the new name; return the versions that are gone."""
    lost: list[str] = []
    head = read_head(workshop.store)
    overtaken = _overtaken(head, old, new)
    for ref in _versions(head, old):
        key = ref.key if ref else ""
        current = current_timeline(head, old, key)
        once = current is not None and head.timelines[current].expiring_since
        again = NO_PATH if key in overtaken else frozenset[str]()
        request = IndexRequest(origin, ref, new, forced=again, wish="once" if once else "lasting")
        try:
            index_repository(request, workshop, observe)
        except (NotAtOrigin, UsageError):
            if ref is None:
                raise
            lost.append(ref.name)
    return lost


def _overtaken(head: Head, old: str, new: str) -> set[str]:
    """Return the keys of versions whose newest transaction is the old name's, because a run published it meanwhile.

    A version's history ends with its newest number, so the new name's must be newer than any that is copied.
    """
    keys = {ref.key if ref else "" for ref in _versions(head, old)}
    ends = {key: (_published(head, old, key), _published(head, new, key)) for key in keys}
    return {key for key, (older, newer) in ends.items() if 0 < newer < older}


def _published(head: Head, repo: str, key: str) -> int:
    timeline = current_timeline(head, repo, key)
    return 0 if timeline is None else head.timelines[timeline].published


def _current_names(head: Head, repo: str) -> tuple[str, ...]:
    if repo not in head.defaults:
        return ()
    return (head.default_branch(repo), *(ref.name for ref in _versions(head, repo) if ref))


def _count_commits(store: DocumentStore, head: Head, repo: str) -> int:
    """Return how many commits a search can name."""
    states = {timeline: head.timelines[timeline] for timeline in head.of_repo(repo)}
    named = [key for key, state in states.items() if not (state.gone or state.version.startswith(WORKSPACES))]
    return len({record.commit for key in named for record in published_transactions(store, head, key)})


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
