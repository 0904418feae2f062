"""The job that finds a merge base with git, for a comparison that needs it."""

from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.versions.merge_base import MergeBaseUnknown
from codequarry.shared.jobs.job import PRIORITIES, JobRequest
from codequarry.shared.versions.refs import Ref


def merge_base_request(engine: SearchEngine, error: MergeBaseUnknown) -> JobRequest:
    """Return the request for the job that finds an unknown merge base; once it is done, the comparison goes on.

    Raise the error itself if the catalog no longer has the repository.
    """
    fork = error.fork
    repository = engine.catalog.repositories(engine.head(), (fork.repo,)).get(fork.repo)
    if repository is None:
        raise error
    pull = (Ref("pull", fork.pull),) if fork.pull else ()
    return JobRequest(
        repository.name,
        repository.origin,
        "...".join(fork.commits),
        (*(Ref("commit", commit) for commit in fork.commits), *pull),
        kind="merge-base",
        trigger="search",
        requested_by=engine.catalog.principal.name,
        priority=PRIORITIES["urgent"],
        joins_running=True,
        guarded=repository.guarded,
        repo_id=repository.id,
    )
