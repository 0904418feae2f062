"""Pages of a list of jobs that changes between two requests."""

from dataclasses import replace

import pytest

from codequarry.search_api.jobs.pages import page_of
from codequarry.search_api.search.cursor import Seal
from codequarry.shared.errors import UsageError
from codequarry.shared.jobs.job import Job

SEAL = Seal(b"k" * 32, "reader")


def job(number, state="done"):
    return Job(f"{number:03}", "core", "main", state, "", f"2026-01-01T00:00:{number:02}")


def shown(jobs):
    """Order jobs as `shown_jobs` does: unfinished jobs, then finished jobs, the latest first."""
    ended = sorted(filter(lambda job: job.is_finished, jobs), key=lambda job: (job.updated_at, job.id), reverse=True)
    return [job for job in jobs if not job.is_finished] + ended


def ids(page):
    return [job.id for job in page.jobs]


def test_the_pages_hold_each_job_once_in_order():
    jobs = shown([*(job(number, "queued") for number in range(7)), *(job(number) for number in range(10, 25))])
    seen, cursor = [], None
    while True:
        page = page_of(jobs, 4, cursor, "q", SEAL)
        seen += page.jobs
        if (cursor := page.next_cursor) is None:
            break
    assert seen == jobs


@pytest.mark.parametrize("count", [0, 3, 4])
def test_a_list_that_fits_has_one_page(count):
    assert page_of([job(number) for number in range(count)], 4, None, "q", SEAL).next_cursor is None


def test_jobs_that_finish_between_two_pages_do_not_shift_the_list():
    jobs = [job(number) for number in range(10)]
    first = page_of(shown(jobs), 4, None, "q", SEAL)
    later = page_of(shown([*jobs, *(job(number) for number in range(20, 30))]), 4, first.next_cursor, "q", SEAL)
    assert ids(first) + ids(later) == ["009", "008", "007", "006", "005", "004", "003", "002"]


def test_jobs_that_start_between_two_pages_keep_their_place():
    jobs = [job(number, "queued") for number in range(8)]
    first = page_of(jobs, 4, None, "q", SEAL)
    later = page_of(
        [replace(jobs[3], state="running", updated_at="2026-01-02"), *jobs[:3], *jobs[4:]],
        4,
        first.next_cursor,
        "q",
        SEAL,
    )
    assert ids(later) == ["004", "005", "006", "007"]
    ended = page_of(shown([*jobs[:3], replace(jobs[3], state="done"), *jobs[4:]]), 9, first.next_cursor, "q", SEAL)
    assert ids(ended) == ["005", "006", "007", "003"]


@pytest.mark.parametrize("cursor", ["nonsense", "é", "a" * 30_000])
def test_an_invalid_cursor_is_refused(cursor):
    with pytest.raises(UsageError, match="cursor"):
        page_of([job(1)], 1, cursor, "q", SEAL)


def test_a_cursor_of_another_list_or_caller_is_refused():
    cursor = page_of([job(1), job(2)], 1, None, "q", SEAL).next_cursor
    for query, seal in (("other", SEAL), ("q", Seal(b"k" * 32, "another reader"))):
        with pytest.raises(UsageError, match="cursor"):
            page_of([job(1)], 1, cursor, query, seal)
