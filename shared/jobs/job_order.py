"""The order of jobs: which jobs must wait for which, and how urgent each job is. Pure."""

from collections.abc import Collection, Mapping, Sequence

from codequarry.shared.jobs.job import Job, JobKind, JobRequest

# Not a valid name for a branch, tag or commit.
_ANY = "*"


def opposites(wish: Job | JobRequest) -> tuple[tuple[JobKind, str, str], ...]:
    """Return kind, repository and ref of the jobs that undo this job: removals for an import, imports for a removal."""
    if wish.kind == "remove":
        return (("index", wish.repo, wish.ref),)
    return (("remove", wish.repo, wish.ref), ("remove", wish.repo, ""))


class Order:
    """Decides which unfinished jobs must end before other jobs begin.

    A version has at most one running job. A removal and an import of the same version run in the order in which they
    were submitted, however urgent they are, so that the last request wins. The same holds for the removal of a
    repository and the imports of its versions; no import begins while the repository is being removed.
    """

    def __init__(self, jobs: Collection[Job]) -> None:
        """Order ``jobs``, which must be all waiting and running jobs."""
        self._running = {(job.repo, job.ref) for job in jobs if job.state == "running"}
        self._removed = {job.repo for job in jobs if (job.kind, job.ref, job.state) == ("remove", "", "running")}
        # When the first job was submitted for each version, and for any version of each repository.
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


# This many jobs of a principal are ordered by urgency only. A person or an agent rarely waits for more at a time.
JOBS_AT_ONCE = 4
# Each further group of JOBS_AT_ONCE jobs is less urgent by this step, the step from a search to a push or from a push
# to a first import.
LEVEL_STEP = 3


def next_turn(unfinished: Collection[Job], wish: JobRequest) -> int:
    """Return a new job's turn among unfinished jobs: after its principal's jobs that are at least as urgent."""
    own = (job for job in unfinished if job.principal == wish.principal)
    turns = [job.turn for job in own if job.priority <= wish.priority]
    first = min((job.turn for job in unfinished), default=0)
    return max(first, max(turns) + 1) if turns else first


def levels(unfinished: Collection[Job]) -> Mapping[str, int]:
    """Return the urgency of each unfinished job relative to the others, by id; the lowest goes first."""
    first = min((job.turn for job in unfinished), default=0)
    return {job.id: job.priority + LEVEL_STEP * ((job.turn - first) // JOBS_AT_ONCE) for job in unfinished}
