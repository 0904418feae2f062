"""Pages of the job list, which may change while a client reads it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from codequarry.search_api.search.cursor import MAX_CHARACTERS, Seal
from codequarry.shared.errors import UsageError
from codequarry.shared.jobs.job import Job

VERSION = 1


@dataclass(frozen=True, slots=True)
class JobPage:
    """A page of jobs, and the cursor for the next page, which is None on the last page."""

    jobs: Sequence[Job]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class _Seen:
    """The last job of a page, as it was at that time; ``count`` is the number of jobs up to and including it."""

    query: str
    job_id: str
    is_finished: bool
    updated_at: str
    count: int


def page_of(jobs: Sequence[Job], limit: int, cursor: str | None, query: str, seal: Seal) -> JobPage:
    """Return a page of jobs in the order of ``shown_jobs``; raise UsageError if the cursor's query differs."""
    start = _position(jobs, _opened(cursor, query, seal)) if cursor is not None else 0
    page = jobs[start : start + limit]
    end = start + len(page)
    if end >= len(jobs) or not page:
        return JobPage(page, None)
    last = page[-1]
    body = [VERSION, query, last.id, last.is_finished, last.updated_at, end]
    return JobPage(page, seal.close(json.dumps(body, separators=(",", ":"))))


def _position(jobs: Sequence[Job], seen: _Seen) -> int:
    """Return the position after the last job that was seen.

    Ended jobs are sorted by time, so jobs that have ended since do not matter. If the last job had not ended and has
    changed since, it has moved, so as many jobs are skipped as were seen.
    """
    if seen.is_finished:
        last_ended = (seen.updated_at, seen.job_id)
        return sum(not job.is_finished or (job.updated_at, job.id) >= last_ended for job in jobs)
    unfinished = [(job.id, job.updated_at) for job in jobs if not job.is_finished]
    last = (seen.job_id, seen.updated_at)
    return unfinished.index(last) + 1 if last in unfinished else min(seen.count, len(unfinished))


def _opened(cursor: str, query: str, seal: Seal) -> _Seen:
    try:
        if len(cursor) > MAX_CHARACTERS:
            raise ValueError
        version, *fields = json.loads(seal.open(cursor))
        seen = _Seen(*fields)
        if version != VERSION or seen.query != query:
            raise ValueError
    except (ValueError, TypeError, RecursionError):
        raise UsageError(
            "the cursor is not valid for this list of jobs; omit it to start from the first page"
        ) from None
    return seen
