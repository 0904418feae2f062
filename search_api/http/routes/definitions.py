"""`GET /symbols`."""

from apiflask import APIBlueprint
from flask import Response

from codequarry.search_api.answers.relations import Definitions
from codequarry.search_api.http.audit_log import note_access
from codequarry.search_api.http.openapi import answer_response, problem_responses
from codequarry.search_api.http.request_context import engine, json_response
from codequarry.search_api.http.symbol_parameters import SymbolParameters
from codequarry.search_api.query.filters import FILTER_NOTES
from codequarry.search_api.query.relations_request import DEFAULT_LIMIT, MAX_LIMIT, definitions_request
from codequarry.search_api.search.relations.defined_symbols import defined_symbols

blueprint = APIBlueprint("definitions", __name__, tag="Search")

_PARAMETERS = SymbolParameters(
    filters=("repo", "path", "language", "ref", "branch", "tag", "commit"),
    notes={**FILTER_NOTES, "repo": "only this repository"},
    items="definitions",
    default_limit=DEFAULT_LIMIT,
    most=MAX_LIMIT,
)
_DESCRIPTION = """The definitions of a symbol, with kind, signature, lines and container.

Members of types, constants and nested functions are included. The default branch of each repository is asked unless
`ref`, `branch`, `tag` or `commit` names another version."""


@blueprint.get("/symbols")
@blueprint.doc(
    summary="Find the definitions of a symbol",
    description=_DESCRIPTION,
    operation_id="symbols",
    responses=answer_response(Definitions, "Definitions by repository, path and line; code comes first")
    | problem_responses(400, 404, 500, 503),
    extensions={"parameters": _PARAMETERS.described()},
)
def definitions_of_symbol() -> Response:
    """Return a page of the definitions of a symbol."""
    name, filters, limit, cursor = _PARAMETERS.read()
    answer = defined_symbols(engine(), definitions_request(name, filters, limit, cursor))
    note_access((found.repo for found in answer.definitions), len(answer.definitions), name)
    return json_response(answer)
