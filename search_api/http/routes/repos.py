"""`GET /repos`, `POST /repos` and `DELETE /repos/<name>`."""

from apiflask import APIBlueprint
from flask import Response, current_app

from codequarry.search_api.answers.jobs import JobStatus
from codequarry.search_api.answers.repositories import Repositories
from codequarry.search_api.http.audit_log import note_access
from codequarry.search_api.http.openapi import answer_response, problem_responses, reference
from codequarry.search_api.http.request_context import INDEXER, backend, engine, followed, json_response
from codequarry.search_api.http.routes.jobs import accepted
from codequarry.search_api.http.routes.search import JSON, json_body
from codequarry.search_api.jobs.repositories import RepositoryToAdd, add_repository, remove_repository
from codequarry.search_api.versions.repositories import describe

blueprint = APIBlueprint("repos", __name__, tag="Repositories")


@blueprint.get("/repos")
@blueprint.doc(
    summary="List repositories",
    description="Every repository in the index, with its commit, skipped files and the progress of its import.",
    operation_id="list_repos",
    responses=answer_response(Repositories, "Repositories by name") | problem_responses(500, 503),
)
def list_repos() -> Response:
    """Return every repository that the caller may see."""
    described = describe(engine().catalog)
    note_access((repository.name for repository in described), len(described))
    return json_response(Repositories(described))


@blueprint.post("/repos")
@blueprint.doc(
    summary="Add a repository",
    description="Adds the repository to the catalog and queues a job that indexes it, or one version of it. "
    "A known repository is brought up to date.",
    operation_id="add_repo",
    responses=answer_response(JobStatus, "The job that will index it; GET /jobs/ID shows its progress", 202)
    | problem_responses(400, 413, 415, 500, 501, 503),
    extensions={"requestBody": {"required": True, "content": {JSON: {"schema": reference(RepositoryToAdd)}}}},
)
@followed
def add_repo() -> Response:
    """Queue the indexing of a repository."""
    asked = RepositoryToAdd.read(json_body())
    return accepted(add_repository(engine(), current_app.extensions[INDEXER], asked, backend().settings))


@blueprint.delete("/repos/<name>")
@blueprint.doc(
    summary="Remove a repository",
    description="Removes its chunks, versions and mirror, and the vectors that no other repository uses. Queued and "
    "running jobs of the repository are cancelled.",
    operation_id="remove_repo",
    responses=answer_response(JobStatus, "The job that will remove it; GET /jobs/ID shows its progress", 202)
    | problem_responses(404, 500, 501, 503),
)
@followed
def remove_repo(name: str) -> Response:
    """Queue the removal of a repository."""
    return accepted(remove_repository(engine(), current_app.extensions[INDEXER], name))
