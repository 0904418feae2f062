"""`POST /graph`."""

from apiflask import APIBlueprint
from flask import Response

from codequarry.search_api.answers.relations import Edges
from codequarry.search_api.http.audit_log import note_access
from codequarry.search_api.http.openapi import answer_response, problem_responses, reference
from codequarry.search_api.http.request_context import engine, json_response
from codequarry.search_api.http.routes.search import JSON, json_body
from codequarry.search_api.query.relations_request import GraphBody, parse_graph
from codequarry.search_api.search.relations.edges import find_edges

blueprint = APIBlueprint("graph", __name__, tag="Search")

_DESCRIPTION = """The symbols that refer to a symbol, or that it refers to, with place, kind and confidence.

`in` with the kind `call` gives the callers, `out` with `call` what it calls; `out` with `inherits` and `implements`
gives the parents of a type, `in` its children. References are resolved within the version asked for; `found_by` says
how, and `confidence` how surely. Both ends lie in the repositories and versions that `filters` name; `path` and
`language` select the places (`from`)."""


@blueprint.post("/graph")
@blueprint.doc(
    summary="Find the neighbours of a symbol",
    description=_DESCRIPTION,
    operation_id="graph",
    responses=answer_response(Edges, "Edges, the nearest first") | problem_responses(400, 404, 413, 415, 500, 503),
    extensions={"requestBody": {"required": True, "content": {JSON: {"schema": reference(GraphBody)}}}},
)
def graph() -> Response:
    """Return a page of the edges around a symbol."""
    request = parse_graph(json_body())
    answer = find_edges(engine(), request)
    repos = (end.repo for edge in answer.edges for end in (edge.source, edge.to) if end is not None)
    note_access(
        repos, len(answer.edges), request.name.qualified if request.name else request.file or request.chunk_id or ""
    )
    return json_response(answer)
