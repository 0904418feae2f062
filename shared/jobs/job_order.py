"""The order of jobs: which job must wait for which, and how urgent each is. Pure."""

from collections.abc import Collection, Mapping, Sequence

from codequarry.shared.jobs.job import Job, JobKind, JobRequest

# Not a valid name of a branch, tag or commit.
_ANY = "*"


def opposites(wish: Job | JobRequest) -> tuple[tuple[JobKind, str, str], ...]:
    """Return kind, repository and ref of the jobs that undo this one: removals of an import, imports of a removal."""
    if wish.kind == "remove":
        return (("index", wish.repo, wish.ref),)
    return (("remove", wish.repo, wish.ref), ("remove", wish.repo, ""))


class Order:
    """Which unfinished jobs must end before other jobs begin.

    A version has at most one running job. A removal and an import of the same version run in the order in which they
    were submitted, however urgent, so that the last request wins. The same holds for the removal of a repository and
    the imports of its versions, none of which begins while the repository is being removed.
    """

    def __init__(self, jobs: Collection[Job]) -> None:
        """Order ``jobs``, which must be all jobs that wait or run."""
        self._running = {(job.repo, job.ref) for job in jobs if job.state == "running"}
        self._removed = {job.repo for job in jobs if (job.kind, job.ref, job.state) == ("remove", "", "running")}
        # The time of the first job for each version, and for any version of a repository.
        self._first: dict[tuple[JobKind, str, str], str] = {}
        for job in jobs:
            for ref in (job.ref, _ANY):
                key = (job.kind, job.repo, ref)
                self._first[key] = min(self._first.get(key, job.created_at), job.created_at)

    def must_wait(self, job: Job) -> bool:
        """Return whether a waiting job must wait for another job."""
        if (job.repo, job.ref) in self._running or job.repo in self._removed:
            return True
        whole = job.kind == "remove" and not job.ref
        before: Sequence[tuple[JobKind, str, str]] = [("index", job.repo, _ANY)] if whole else opposites(job)
        return any(self._first.get(key, job.created_at) < job.created_at for key in before)


# Jobs of a principal that go by their urgency only. A person or an agent rarely waits for more at a time.
JOBS_AT_ONCE = 4
# Each further JOBS_AT_ONCE jobs are less urgent by this, the step from a search's version to a push or from a push to a
# first import.
LEVEL_STEP = 3


def next_turn(unfinished: Collection[Job], wish: JobRequest) -> int:
    """Return the turn of a new job among unfinished jobs: after those of its principal that are as urgent."""
    own = (job for job in unfinished if job.principal == wish.principal)
    turns = [job.turn for job in own if job.priority <= wish.priority]
    first = min((job.turn for job in unfinished), default=0)
    return max(first, max(turns) + 1) if turns else first


def levels(unfinished: Collection[Job]) -> Mapping[str, int]:
    """Return the urgency of each unfinished job relative to the others, by id; the lowest goes first."""
    first = min((job.turn for job in unfinished), default=0)
    return {job.id: job.priority + LEVEL_STEP * ((job.turn - first) // JOBS_AT_ONCE) for job in unfinished}
