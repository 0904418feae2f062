"""`GET /jobs/<id>`."""

from apiflask import APIBlueprint
from flask import Response, current_app, jsonify

from codequarry.search_api.backend import Backend
from codequarry.search_api.bodies import JobBody
from codequarry.search_api.routes import EXTENSION, answer_response, problem_responses
from codequarry.shared.errors import NotIndexed
from codequarry.shared.job_list import read_job

blueprint = APIBlueprint("jobs", __name__, tag="Repositories")


@blueprint.get("/jobs/<job_id>")
@blueprint.doc(
    summary="How far an import is",
    description="What was asked to be indexed or removed. Ended jobs are kept for a day, failed ones for two weeks.",
    operation_id="get_job",
    responses=answer_response(JobBody, "The job") | problem_responses(404, 500, 503),
)
def get_job(job_id: str) -> Response:
    """Return a job."""
    backend: Backend = current_app.extensions[EXTENSION]
    job = read_job(backend.engine().store, job_id)
    if job is None:
        raise NotIndexed(f"there is no job '{job_id}'; jobs that ended are kept for a day")
    return jsonify(job.to_json())
