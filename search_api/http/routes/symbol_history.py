"""`GET /symbols/history`."""

from apiflask import APIBlueprint
from flask import Response, request

from codequarry.search_api.answers.symbol_history import SymbolHistory
from codequarry.search_api.http.audit_log import note_access
from codequarry.search_api.http.openapi import answer_response, problem_responses
from codequarry.search_api.http.parameters import integer_parameter, refuse_unknown_parameters
from codequarry.search_api.http.request_context import engine, json_response
from codequarry.search_api.query.filters import FILTER_NOTES
from codequarry.search_api.query.history_request import DEFAULT_EVENTS, FILTERS, MAX_EVENTS, history_request
from codequarry.search_api.query.request_body import MAX_VALUE_CHARACTERS
from codequarry.search_api.search.history.symbol_history import symbol_history
from codequarry.shared.errors import UsageError

blueprint = APIBlueprint("symbol_history", __name__, tag="Search")

_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_VALUE_CHARACTERS}
_NOTES = {
    **FILTER_NOTES,
    "repo": "only this repository",
    "path": f"only declarations that were ever at such a path: {FILTER_NOTES['path']}",
    "commit": f"the history up to {FILTER_NOTES['commit']}",
}
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
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_EVENTS, "default": DEFAULT_EVENTS},
        "description": "maximum number of events in the answer",
    },
    {
        "name": "cursor",
        "in": "query",
        "schema": {"type": "string", "minLength": 1},
        "description": "`next_cursor` of the previous page; the other parameters must be the same",
    },
]
_DESCRIPTION = """When the declarations of a symbol appeared, changed, moved and vanished among the indexed heads.

The history is that of the default branch unless `ref`, `branch` or `commit` names another version. Each declaration of
the name is listed apart; `repo` and `path` narrow the answer. A change lies among the commits between two indexed
heads. The history begins at the oldest head that the index still has (`begins`)."""


@blueprint.get("/symbols/history")
@blueprint.doc(
    summary="Find out when a symbol changed",
    description=_DESCRIPTION,
    operation_id="symbol_history",
    responses=answer_response(SymbolHistory, "Declarations by repository, version and path, those that exist first")
    | problem_responses(400, 404, 500, 503),
    extensions={"parameters": _PARAMETERS},
)
def history_of_symbol() -> Response:
    """Return a page of the events of a symbol's declarations."""
    refuse_unknown_parameters("name", *FILTERS, "limit", "cursor")
    name = request.args.get("name")
    if not name:
        raise UsageError("?name is missing; give the name of a symbol")
    filters = {filter_name: request.args.getlist(filter_name) for filter_name in FILTERS}
    limit = integer_parameter("limit", DEFAULT_EVENTS, MAX_EVENTS)
    asked = history_request(name, filters, limit, request.args.get("cursor"))
    answer = symbol_history(engine(), asked)
    note_access((declaration.repo for declaration in answer.declarations), len(answer.declarations), name)
    return json_response(answer)
