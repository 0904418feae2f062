"""`GET /jobs` and `/jobs/<id>`, `POST /jobs/<id>/retry` and `/cancel`."""

from collections.abc import Callable
from http import HTTPStatus
from typing import get_args

from apiflask import APIBlueprint
from flask import Response, current_app, request

from codequarry.search_api.answers.jobs import JobsPage, JobStatus, job_status
from codequarry.search_api.http.audit_log import note_access
from codequarry.search_api.http.openapi import answer_response, problem_responses
from codequarry.search_api.http.parameters import integer_parameter, listed_parameter, refuse_unknown_parameters
from codequarry.search_api.http.request_context import INDEXER, engine, followed, json_response
from codequarry.search_api.jobs.pages import page_of
from codequarry.search_api.jobs.queue import Indexer
from codequarry.search_api.jobs.repositories import check_removing
from codequarry.search_api.search.cursor import digest
from codequarry.shared.jobs.job import Job, JobState
from codequarry.shared.jobs.job_list import change_job
from codequarry.shared.jobs.lifecycle import cancelled, retried

DEFAULT_LIMIT = 100
MAX_LIMIT = 1_000
STATES: tuple[JobState, ...] = get_args(JobState)

blueprint = APIBlueprint("jobs", __name__, tag="Repositories")

_PARAMETERS = [
    {
        "name": "state",
        "in": "query",
        "schema": {"type": "array", "items": {"type": "string", "enum": list(STATES)}, "minItems": 1},
        "style": "form",
        "explode": True,
        "description": "only jobs in this state; may be given several times",
    },
    {"name": "repo", "in": "query", "schema": {"type": "string", "minLength": 1}, "description": "only its jobs"},
    {
        "name": "limit",
        "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        "description": "maximum number of jobs in the answer",
    },
    {
        "name": "cursor",
        "in": "query",
        "schema": {"type": "string", "minLength": 1},
        "description": "`next_cursor` of the previous page; `state` and `repo` must be the same",
    },
]


@blueprint.get("/jobs")
@blueprint.doc(
    summary="List jobs",
    description="Running jobs, then queued jobs in the order in which they will run, then ended jobs, latest first. "
    "`?state=failed` is the dead-letter list: jobs that failed for good, with the error of every attempt in "
    "`failures`. A job that starts or ends between two pages may appear on both or on neither.",
    operation_id="list_jobs",
    responses=answer_response(JobsPage, "Jobs") | problem_responses(400, 500, 503),
    extensions={"parameters": _PARAMETERS},
)
def list_jobs() -> Response:
    """Return the known jobs."""
    refuse_unknown_parameters("state", "repo", "limit", "cursor")
    states = listed_parameter("state", STATES)
    limit = integer_parameter("limit", DEFAULT_LIMIT, MAX_LIMIT)
    repo, search_engine = request.args.get("repo"), engine()
    jobs = search_engine.catalog.jobs(states or None, repo)
    query = digest("jobs", sorted(states), repo)
    page = page_of(jobs, limit, request.args.get("cursor"), query, search_engine.seal())
    note_access((job.repo for job in page.jobs), len(page.jobs))
    return json_response(JobsPage(tuple(map(job_status, page.jobs)), len(jobs), page.next_cursor))


@blueprint.get("/jobs/<job_id>")
@blueprint.doc(
    summary="Get a job",
    description="Returns a job and its progress. Ended jobs are kept for a day, failed jobs for two weeks.",
    operation_id="get_job",
    responses=answer_response(JobStatus, "The job") | problem_responses(404, 500, 503),
)
def get_job(job_id: str) -> Response:
    """Return a job."""
    job = engine().catalog.known_job(job_id)
    note_access([job.repo], 1)
    return json_response(job_status(job))


@blueprint.post("/jobs/<job_id>/retry")
@blueprint.doc(
    summary="Retry a job",
    description="Requeues a job that failed for good or was cancelled, and resets its number of attempts.",
    operation_id="retry_job",
    responses=answer_response(JobStatus, "The job, now queued") | problem_responses(404, 409, 500, 503),
)
@followed
def retry_job(job_id: str) -> Response:
    """Queue a failed or cancelled job again."""
    job = _changed(job_id, retried)
    indexer: Indexer | None = current_app.extensions[INDEXER]
    if indexer:
        indexer.wake(job)
    return json_response(job_status(job))


@blueprint.post("/jobs/<job_id>/cancel")
@blueprint.doc(
    summary="Cancel a job",
    description="A queued job is cancelled at once. A running job is told to stop: it publishes nothing and is "
    "cancelled within seconds.",
    operation_id="cancel_job",
    responses=answer_response(JobStatus, "The current state of the job") | problem_responses(404, 409, 500, 503),
)
@followed
def cancel_job(job_id: str) -> Response:
    """Cancel a job."""
    return json_response(job_status(_changed(job_id, cancelled)))


def accepted(job: Job) -> Response:
    """Return the 202 response for a request that became a job."""
    note_access([job.repo], 1)
    response = json_response(job_status(job), HTTPStatus.ACCEPTED)
    response.headers["Location"] = f"/jobs/{job.id}"
    return response


def _changed(job_id: str, change: Callable[[Job], Job]) -> Job:
    catalog = engine().catalog
    known = catalog.known_job(job_id)
    if known.kind == "remove" and not known.candidates:
        check_removing(known.repo, known.repo_id, catalog.principal)
    job = catalog.shown(change_job(catalog.store, job_id, change))
    note_access([job.repo], 1)
    return job
