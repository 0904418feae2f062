"""`GET /symbols/versions`."""

from apiflask import APIBlueprint
from flask import Response

from codequarry.search_api.answers.symbol_versions import SymbolVersions
from codequarry.search_api.http.audit_log import note_access
from codequarry.search_api.http.openapi import answer_response, problem_responses
from codequarry.search_api.http.request_context import engine, json_response
from codequarry.search_api.http.symbol_parameters import SymbolParameters
from codequarry.search_api.query.filters import FILTER_NOTES
from codequarry.search_api.query.symbol_request import versions_request
from codequarry.search_api.search.symbol_versions import symbol_versions

blueprint = APIBlueprint("symbols", __name__, tag="Search")

_PARAMETERS = SymbolParameters(
    filters=("repo", "path", "language", "ref", "branch", "tag", "commit"),
    notes={**FILTER_NOTES, "repo": "only this repository", "ref": f"{FILTER_NOTES['ref']}; the default is *"},
    items="declarations",
    default_limit=20,
    most=200,
)
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
    extensions={"parameters": _PARAMETERS.described()},
)
def versions_of_symbol() -> Response:
    """Return a page of the declarations of a symbol."""
    name, filters, limit, cursor = _PARAMETERS.read()
    answer = symbol_versions(engine(), versions_request(name, filters, limit, cursor))
    note_access((declaration.repo for declaration in answer.declarations), len(answer.declarations), name)
    return json_response(answer)
