"""Which job has to wait for which other one. Pure."""

from collections.abc import Collection, Sequence

from codequarry.shared.jobs.job import Job, JobKind, JobRequest

# No branch, tag or commit is called so.
_ANY = "*"


def opposites(wish: Job | JobRequest) -> tuple[tuple[JobKind, str, str], ...]:
    """Return kind, repository and ref of what undoes a wish: removals of an import, imports of a removal."""
    if wish.kind == "remove":
        return (("index", wish.repo, wish.ref),)
    return (("remove", wish.repo, wish.ref), ("remove", wish.repo, ""))


class Order:
    """Which of the jobs that wait or run have to end before others begin.

    Of one version nobody begins a second job while one runs. What was asked for last holds in the end: a removal and
    an import of the same version are done in the order in which they were asked for, be it more urgent or not. So are
    the removal of a repository and the imports of all its versions, of which none begins while it is removed.
    """

    def __init__(self, jobs: Collection[Job]) -> None:
        """Hold for ``jobs``, all that wait or run."""
        self._running = {(job.repo, job.ref) for job in jobs if job.state == "running"}
        self._removed = {job.repo for job in jobs if (job.kind, job.ref, job.state) == ("remove", "", "running")}
        # When each version was asked for first, and any of a repository.
        self._first: dict[tuple[JobKind, str, str], str] = {}
        for job in jobs:
            for ref in (job.ref, _ANY):
                key = (job.kind, job.repo, ref)
                self._first[key] = min(self._first.get(key, job.created_at), job.created_at)

    def holds_back(self, job: Job) -> bool:
        """Tell whether a job that waits has to wait for another one."""
        if (job.repo, job.ref) in self._running or job.repo in self._removed:
            return True
        whole = job.kind == "remove" and not job.ref
        before: Sequence[tuple[JobKind, str, str]] = [("index", job.repo, _ANY)] if whole else opposites(job)
        return any(self._first.get(key, job.created_at) < job.created_at for key in before)
