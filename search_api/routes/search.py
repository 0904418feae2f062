"""`POST /search-code`."""

import json

from apiflask import APIBlueprint
from flask import Response, current_app, jsonify, request
from werkzeug.exceptions import UnsupportedMediaType

from codequarry.search_api.answer import SearchAnswer
from codequarry.search_api.backend import Backend
from codequarry.search_api.problems import classify
from codequarry.search_api.request import parse_request
from codequarry.search_api.routes import EXTENSION, answer_response, problem_responses
from codequarry.search_api.schemas import AnswerBody, SearchBody, reference
from codequarry.shared.errors import CodequarryError, UsageError
from codequarry.shared.metrics import count_degraded, count_search, observe_stages

JSON = "application/json"
blueprint = APIBlueprint("search", __name__, tag="Search")

_DESCRIPTION = """Hybrid search: the meaning of the query, its words, and the names and paths in it.

`score` is 0 to 1 and falls with rank; it is the share of what was asked for that a hit holds, so it means the same for
every query. `next_cursor` goes on where an answer ended, over the index as the first page saw it, to the end of the
candidates of that page's search (a few hundred, more for a larger `top_k`)."""


@blueprint.post("/search-code")
@blueprint.doc(
    summary="Search code",
    description=_DESCRIPTION,
    operation_id="search_code",
    responses=answer_response(AnswerBody, "Hits, best first") | problem_responses(400, 404, 413, 415, 500, 503),
    extensions={"requestBody": {"required": True, "content": {JSON: {"schema": reference(SearchBody)}}}},
)
def search_code() -> Response:
    """Answer a search."""
    backend: Backend = current_app.extensions[EXTENSION]
    try:
        answer = backend.engine().search(parse_request(_json_body()))
    except CodequarryError as error:
        count_search(classify(error)[1])
        raise
    _count(answer)
    return jsonify(answer.to_json())


def _count(answer: SearchAnswer) -> None:
    count_search("found" if answer.results else "empty")
    observe_stages(answer.stages)
    for stage in answer.degraded:
        count_degraded(stage)


def _json_body() -> object:
    """Return the parsed body; JSON alone is read, and none of what only looks like it."""
    if not request.is_json:
        raise UnsupportedMediaType(f"send the body as {JSON}")
    try:
        return json.loads(request.get_data(), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the body is not valid JSON: {error}") from None


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
