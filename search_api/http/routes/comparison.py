"""`POST /diff-search`."""

from apiflask import APIBlueprint
from flask import Response, current_app

from codequarry.search_api.answers.comparison import ComparisonAnswer
from codequarry.search_api.answers.jobs import PendingSearch
from codequarry.search_api.http.audit_log import note_access
from codequarry.search_api.http.openapi import answer_response, problem_responses, reference
from codequarry.search_api.http.request_context import INDEXER, engine, json_response
from codequarry.search_api.http.routes.search import (
    INDEX_PARAMETER,
    JSON,
    is_asked_to_index,
    json_body,
    pending_response,
)
from codequarry.search_api.jobs.on_demand import compare_or_index
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
    | answer_response(PendingSearch, "A named version is still being indexed; GET /jobs/ID shows the progress", 202)
    | problem_responses(400, 404, 413, 415, 500, 501, 503),
    extensions={
        "parameters": [INDEX_PARAMETER],
        "requestBody": {"required": True, "content": {JSON: {"schema": reference(DiffBody)}}},
    },
)
def diff_search() -> Response:
    """Answer a comparison."""
    may_index = is_asked_to_index()
    asked = parse_diff(json_body(), may_index=may_index)
    answer: ComparisonAnswer | PendingSearch
    if may_index:
        answer = compare_or_index(engine(), current_app.extensions[INDEXER], asked)
    else:
        answer = compare(engine(), asked)
    if isinstance(answer, PendingSearch):
        note_access((job.repo for job in answer.jobs), 0, asked.search.query)
        return pending_response(answer)
    note_access((difference.repo for difference in answer.results), len(answer.results), asked.search.query)
    return json_response(answer)
