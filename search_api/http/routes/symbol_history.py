"""`GET /symbols/history`."""

from apiflask import APIBlueprint
from flask import Response

from codequarry.search_api.answers.symbol_history import SymbolHistory
from codequarry.search_api.http.audit_log import note_access
from codequarry.search_api.http.openapi import answer_response, problem_responses
from codequarry.search_api.http.request_context import engine, json_response
from codequarry.search_api.http.symbol_parameters import SymbolParameters
from codequarry.search_api.query.filters import FILTER_NOTES
from codequarry.search_api.query.symbol_request import history_request
from codequarry.search_api.search.history.symbol_history import symbol_history

blueprint = APIBlueprint("symbol_history", __name__, tag="Search")

_PARAMETERS = SymbolParameters(
    filters=("repo", "path", "language", "ref", "branch", "commit"),
    notes={
        **FILTER_NOTES,
        "repo": "only this repository",
        "path": f"only declarations that were ever at such a path: {FILTER_NOTES['path']}",
        "commit": f"the history up to {FILTER_NOTES['commit']}",
    },
    items="events",
    default_limit=100,
    most=1_000,
)
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
    extensions={"parameters": _PARAMETERS.described()},
)
def history_of_symbol() -> Response:
    """Return a page of the events of a symbol's declarations."""
    name, filters, limit, cursor = _PARAMETERS.read()
    answer = symbol_history(engine(), history_request(name, filters, limit, cursor))
    note_access((declaration.repo for declaration in answer.declarations), len(answer.declarations), name)
    return json_response(answer)
