"""`POST /search-code`."""

import json
import re
from dataclasses import replace
from http import HTTPStatus

from apiflask import APIBlueprint
from flask import Response, current_app, request
from werkzeug.exceptions import UnsupportedMediaType

from codequarry.search_api.answers.hits import SearchAnswer
from codequarry.search_api.answers.jobs import PendingSearch
from codequarry.search_api.http.audit_log import note_access
from codequarry.search_api.http.credentials import without_token
from codequarry.search_api.http.openapi import answer_response, problem_responses, reference
from codequarry.search_api.http.problems import classify
from codequarry.search_api.http.request_context import INDEXER, backend, caller, deadline, engine, json_response
from codequarry.search_api.jobs.on_demand import RETRY_AFTER_SECONDS, search_or_index
from codequarry.search_api.query.request import SearchBody, parse_request
from codequarry.search_api.search.empty_answers import NOTHING_INDEXED
from codequarry.shared.errors import CodequarryError, UsageError
from codequarry.shared.filters import BOOLEANS
from codequarry.shared.telemetry.metrics import count_degraded, count_search, observe_stages

JSON = "application/json"
# The deepest valid request, with filters per repository, has five levels.
MAX_JSON_DEPTH = 32
# An unclosed string matches to the end, so that matching does not restart at every quote inside it.
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")
blueprint = APIBlueprint("search", __name__, tag="Search")

_DESCRIPTION = """Hybrid search by the meaning of the query, its words, and the names and paths in it.

`score` is from 0 to 1 and falls with rank. It is the share of the query that a hit covers, so it means the same for
every query. `next_cursor` returns the next page, from the same state of the index as the first page. The pages end with
the candidates of the first search (a few hundred, or more for a larger `top_k`)."""

INDEX_PARAMETER = {
    "name": "index",
    "in": "query",
    "schema": {"type": "string", "enum": list(BOOLEANS), "default": "false"},
    "description": "first index the named versions that the index lacks, that are known to be outdated, or that lack "
    "min_commit, waiting up to wait_ms",
}


@blueprint.post("/search-code")
@blueprint.doc(
    summary="Search code",
    description=_DESCRIPTION,
    operation_id="search_code",
    responses=answer_response(SearchAnswer, "Hits, best first")
    | answer_response(PendingSearch, "A named version is still being indexed; GET /jobs/ID shows the progress", 202)
    | problem_responses(400, 404, 413, 415, 500, 501, 503, 504),
    extensions={
        "parameters": [INDEX_PARAMETER],
        "requestBody": {"required": True, "content": {JSON: {"schema": reference(SearchBody)}}},
    },
)
def search_code() -> Response:
    """Answer a search."""
    try:
        may_index = is_asked_to_index()
        asked = parse_request(json_body(), may_index=may_index, reranking=backend().settings.reranking)
        answer: SearchAnswer | PendingSearch
        if may_index:
            answer = search_or_index(engine(), current_app.extensions[INDEXER], asked)
        else:
            answer = backend().search(asked, caller(), deadline())
    except CodequarryError as error:
        count_search(classify(error)[1])
        raise
    if isinstance(answer, PendingSearch):
        count_search("not_indexed")
        note_access((job.repo for job in answer.jobs), 0, asked.query)
        return pending_response(answer)
    answer = _advised(answer)
    _count(answer)
    note_access((hit.repo for hit in answer.results), len(answer.results), asked.query)
    return json_response(answer)


def _advised(answer: SearchAnswer) -> SearchAnswer:
    """Return an answer that advises what a client can do if nothing is indexed."""
    if answer.reason == NOTHING_INDEXED and current_app.extensions[INDEXER] is not None:
        return replace(answer, suggestion="add a repository with POST /repos, or name one and use ?index=true")
    return answer


def pending_response(pending: PendingSearch) -> Response:
    """Return the response for a request whose versions are still being indexed."""
    response = json_response(pending, HTTPStatus.ACCEPTED)
    response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    response.headers["Location"] = f"/jobs/{pending.job_id}"
    return response


def is_asked_to_index() -> bool:
    """Return whether the request has ``?index=true``; raise Forbidden if the caller may not ask for that."""
    value = request.args.get("index", "false")
    if value not in BOOLEANS:
        raise UsageError(f"?index must be true or false, not '{value}'")
    if value == "true":
        caller().require("index")
    return value == "true"


def _count(answer: SearchAnswer) -> None:
    count_search("found" if answer.results else "empty")
    observe_stages(answer.stages)
    for stage in answer.degraded:
        count_degraded(stage.partition(":")[0])


def json_body() -> object:
    """Return the parsed JSON body without its token; raise UnsupportedMediaType if the content type is not JSON."""
    if not request.is_json:
        raise UnsupportedMediaType(f"send the body as {JSON}")
    return without_token(parse_json(request.get_data()))


def parse_json(text: bytes) -> object:
    """Return the value of a JSON text; raise UsageError if it is invalid or nested too deeply."""
    _check_depth(text)
    try:
        parsed: object = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the body is not valid JSON: {error}") from None
    return parsed


def _check_depth(text: bytes) -> None:
    """Raise UsageError if JSON is nested more deeply than any valid request; the parser recurses once per level."""
    deepest = depth = 0
    for bracket in _BRACKETS.findall(_STRINGS.sub(b"", text)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    if deepest > MAX_JSON_DEPTH:
        raise UsageError(f"the body is nested deeper than {MAX_JSON_DEPTH} levels")


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
