"""`GET /repos`, `POST /repos` and `DELETE /repos/<name>`."""

from apiflask import APIBlueprint
from flask import Response, current_app, jsonify

from codequarry.search_api.adding import add_repository, parse_add, remove_repository
from codequarry.search_api.audit import note_access
from codequarry.search_api.bodies import JobBody, RepositoriesBody
from codequarry.search_api.repositories import describe
from codequarry.search_api.routes import INDEXER, answer_response, backend, engine, followed, problem_responses
from codequarry.search_api.routes.jobs import accepted
from codequarry.search_api.routes.search import JSON, json_body
from codequarry.search_api.schemas import reference
from codequarry.search_api.work_bodies import RepositoryToAdd

blueprint = APIBlueprint("repos", __name__, tag="Repositories")


@blueprint.get("/repos")
@blueprint.doc(
    summary="List repositories",
    description="Every repository of the index: at which commit it stands, what was skipped, how far an import is.",
    operation_id="list_repos",
    responses=answer_response(RepositoriesBody, "Repositories by name") | problem_responses(500, 503),
)
def list_repos() -> Response:
    """Return what the index has."""
    described = describe(engine().catalog)
    note_access((one["name"] for one in described), len(described))
    return jsonify({"repos": described})


@blueprint.post("/repos")
@blueprint.doc(
    summary="Add a repository",
    description="Takes a name in the catalog and asks for the repository, or one version of it, to be indexed. "
    "One that is known is brought up to date.",
    operation_id="add_repo",
    responses=answer_response(JobBody, "What will index it: GET /jobs/ID tells how far it is", 202)
    | problem_responses(400, 413, 415, 500, 501, 503),
    extensions={"requestBody": {"required": True, "content": {JSON: {"schema": reference(RepositoryToAdd)}}}},
)
@followed
def add_repo() -> Response:
    """Have a repository indexed."""
    asked = parse_add(json_body())
    return accepted(add_repository(engine(), current_app.extensions[INDEXER], asked, backend().settings))


@blueprint.delete("/repos/<name>")
@blueprint.doc(
    summary="Remove a repository",
    description="Its chunks, versions and mirror go, with the vectors that no other repository uses; what waited "
    "or ran to index it is cancelled.",
    operation_id="remove_repo",
    responses=answer_response(JobBody, "What will remove it: GET /jobs/ID tells how far it is", 202)
    | problem_responses(404, 500, 501, 503),
)
@followed
def remove_repo(name: str) -> Response:
    """Have a repository removed."""
    return accepted(remove_repository(engine(), current_app.extensions[INDEXER], name))
