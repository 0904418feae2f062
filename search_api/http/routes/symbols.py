"""`GET /symbols/versions`."""

from apiflask import APIBlueprint
from flask import Response, request

from codequarry.search_api.answers.symbol_versions import SymbolVersions
from codequarry.search_api.http.audit_log import note_access
from codequarry.search_api.http.openapi import answer_response, problem_responses
from codequarry.search_api.http.parameters import integer_parameter, refuse_unknown_parameters
from codequarry.search_api.http.request_context import engine, json_response
from codequarry.search_api.query.filters import FILTER_NOTES
from codequarry.search_api.query.request_body import MAX_VALUE_CHARACTERS
from codequarry.search_api.query.symbol_request import DEFAULT_LIMIT, MAX_LIMIT, symbol_request
from codequarry.search_api.search.symbol_versions import symbol_versions
from codequarry.shared.errors import UsageError

FILTERS = ("repo", "path", "language", "ref", "branch", "tag", "commit")
blueprint = APIBlueprint("symbols", __name__, tag="Search")

_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_VALUE_CHARACTERS}
_NOTES = {**FILTER_NOTES, "repo": "only this repository", "ref": f"{FILTER_NOTES['ref']}; the default is *"}
_PARAMETERS = [
    {
        "name": "name",
        "in": "query",
        "required": True,
        "schema": _TEXT,
        "description": "the exact name of a symbol, or the end of its qualified name, such as `Store.load`",
    },
    *(
        {
            "name": name,
            "in": "query",
            "schema": {"type": "array", "items": _TEXT, "minItems": 1},
            "style": "form",
            "explode": True,
            "description": f"{_NOTES[name]}; may be given several times",
        }
        for name in FILTERS
    ),
    {
        "name": "limit",
        "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        "description": "maximum number of declarations in the answer",
    },
    {
        "name": "cursor",
        "in": "query",
        "schema": {"type": "string", "minLength": 1},
        "description": "`next_cursor` of the previous page; the other parameters must be the same",
    },
]
_DESCRIPTION = """Which versions have a symbol, with which text, and which versions of the repository lack it.

Each declaration is listed once, with one entry for each distinct text. All indexed versions are asked unless `ref`,
`branch`, `tag` or `commit` narrows them. If small declarations share lines in the index (`shared`), their text is that
of all of them."""


@blueprint.get("/symbols/versions")
@blueprint.doc(
    summary="Find the versions of a symbol",
    description=_DESCRIPTION,
    operation_id="symbol_versions",
    responses=answer_response(SymbolVersions, "Declarations by repository and path")
    | problem_responses(400, 404, 500, 503),
    extensions={"parameters": _PARAMETERS},
)
def versions_of_symbol() -> Response:
    """Return a page of the declarations of a symbol."""
    refuse_unknown_parameters("name", *FILTERS, "limit", "cursor")
    name = request.args.get("name")
    if not name:
        raise UsageError("?name is missing; give the name of a symbol")
    filters = {filter_name: request.args.getlist(filter_name) for filter_name in FILTERS}
    limit = integer_parameter("limit", DEFAULT_LIMIT, MAX_LIMIT)
    answer = symbol_versions(engine(), symbol_request(name, filters, limit, request.args.get("cursor")))
    note_access((declaration.repo for declaration in answer.declarations), len(answer.declarations), name)
    return json_response(answer)
