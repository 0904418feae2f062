"""Which job has to wait for which other one. Pure."""

from collections.abc import Collection, Mapping, Sequence

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

    def must_wait(self, job: Job) -> bool:
        """Tell whether a job that waits has to wait for another one."""
        if (job.repo, job.ref) in self._running or job.repo in self._removed:
            return True
        whole = job.kind == "remove" and not job.ref
        before: Sequence[tuple[JobKind, str, str]] = [("index", job.repo, _ANY)] if whole else opposites(job)
        return any(self._first.get(key, job.created_at) < job.created_at for key in before)


# Jobs of one principal that are served by their urgency alone: a person or an agent rarely waits for more at a time.
JOBS_AT_ONCE = 4
# So many more jobs make the next ones less urgent by the step from a search's version to a push, from there to a first
# import, and so on.
LEVEL_STEP = 3


def next_turn(unfinished: Collection[Job], wish: JobRequest) -> int:
    """Return the turn of a new job beside those that wait or run: after those of its principal that are as urgent."""
    own = (job for job in unfinished if job.principal == wish.principal)
    turns = [job.turn for job in own if job.priority <= wish.priority]
    first = min((job.turn for job in unfinished), default=0)
    return max(first, max(turns) + 1) if turns else first


def levels(unfinished: Collection[Job]) -> Mapping[str, int]:
    """Return how urgent each of the jobs that wait or run is beside the others, by its id; the lowest goes first."""
    first = min((job.turn for job in unfinished), default=0)
    return {job.id: job.priority + LEVEL_STEP * ((job.turn - first) // JOBS_AT_ONCE) for job in unfinished}
