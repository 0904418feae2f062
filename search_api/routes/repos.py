"""`GET /repos`."""

from apiflask import APIBlueprint
from flask import Response, current_app, jsonify

from codequarry.search_api.backend import Backend
from codequarry.search_api.bodies import RepositoriesBody
from codequarry.search_api.repositories import describe
from codequarry.search_api.routes import EXTENSION, answer_response, problem_responses

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
    backend: Backend = current_app.extensions[EXTENSION]
    engine = backend.engine()
    return jsonify({"repos": describe(engine.store, backend.settings, engine.catalog)})
