"""`POST /diff-search`."""

from apiflask import APIBlueprint
from flask import Response

from codequarry.search_api.answers.comparison import ComparisonAnswer
from codequarry.search_api.http.audit_log import note_access
from codequarry.search_api.http.openapi import answer_response, problem_responses, reference
from codequarry.search_api.http.request_context import engine, json_response
from codequarry.search_api.http.routes.search import JSON, json_body
from codequarry.search_api.query.diff_request import DiffBody, parse_diff
from codequarry.search_api.search.comparison import compare

blueprint = APIBlueprint("comparison", __name__, tag="Search")

_DESCRIPTION = """Searches two versions with the same query and compares the hits.

A hit counts as added or removed only if the other version does not contain it at all; a lower rank there does not
count. Hits with the same text in the same file are left out, even if their lines differ."""


@blueprint.post("/diff-search")
@blueprint.doc(
    summary="Compare two versions",
    description=_DESCRIPTION,
    operation_id="diff_search",
    responses=answer_response(ComparisonAnswer, "Differences, best first")
    | problem_responses(400, 404, 413, 415, 500, 503),
    extensions={"requestBody": {"required": True, "content": {JSON: {"schema": reference(DiffBody)}}}},
)
def diff_search() -> Response:
    """Answer a comparison."""
    asked = parse_diff(json_body())
    answer = compare(engine(), asked)
    note_access((difference.repo for difference in answer.results), len(answer.results), asked.search.query)
    return json_response(answer)
