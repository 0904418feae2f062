"""Whose job goes first where several principals have jobs that wait: see decision 0031. Pure.

Each new job of a principal gets a later turn than the ones before it. The turns that are due begin with the earliest of
all jobs; a job whose turn is further away counts as less urgent than it says. So a principal with a few jobs is served
by their urgency alone, and one with a thousand does not hold up the one job of another.
"""

from collections.abc import Collection, Mapping

from codequarry.shared.jobs.job import Job, JobRequest

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
