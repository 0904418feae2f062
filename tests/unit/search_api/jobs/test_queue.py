"""What a job knows of the request that asked for it."""

from structlog.contextvars import bound_contextvars

from codequarry.search_api.answers.jobs import job_status
from codequarry.search_api.answers.json import to_json
from codequarry.search_api.jobs.queue import with_request_context
from codequarry.shared.jobs.job import JobRequest, new_job
from codequarry.shared.telemetry.traces import span

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_job_is_told_the_id_and_the_trace_of_the_request_that_asks_for_it():
    with bound_contextvars(request_id="asked-here"), span("request", TRACEPARENT):
        job = new_job("1", with_request_context(JobRequest("core", "https://example.org/core")))
    assert (job.request_id, job.traceparent) == ("asked-here", TRACEPARENT)
    assert not {"asked-here", TRACEPARENT} & set(map(str, to_json(job_status(job)).values()))


def test_what_nobody_asked_for_by_a_request_has_neither():
    job = new_job("1", with_request_context(JobRequest("core", "https://example.org/core")))
    assert (job.request_id, job.traceparent) == ("", "")
