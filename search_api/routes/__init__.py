"""The routes of the service, a blueprint a subject."""

from typing import Any

from pydantic import BaseModel

from codequarry.search_api.bodies import Problem
from codequarry.search_api.problems import MEDIA_TYPE
from codequarry.search_api.schemas import reference

EXTENSION = "codequarry"
"""Where the application keeps its backend."""
CATALOG_METRICS = "codequarry.catalog_metrics"
"""Where it keeps what reads metrics from the catalog."""
INDEXER = "codequarry.indexer"
"""Where it keeps what indexes for it; None where nothing does."""
RECEIVER = "codequarry.receiver"
"""Where it keeps what deals with the deliveries of code hosts."""

_PROBLEMS = {
    400: "The request is wrong: what and why stands in detail",
    401: "The signature is missing or fits no secret",
    403: "It is switched off, or not allowed",
    404: "A repository or version that the index does not have",
    409: "It does not go together with how far things are",
    413: "The body is too large",
    415: "The body is not JSON",
    500: "An error of the service",
    501: "Something is to be indexed where nothing indexes",
    503: "The store does not answer; Retry-After says when to ask again",
    504: "min_commit did not come in wait_ms; freshness says where the index stands",
}


Responses = dict[int | str, dict[str, str | dict[str, dict[str, Any]]]]
"""What the OpenAPI extension takes as the answers of an operation."""


def problem_responses(*statuses: int) -> Responses:
    """Return what the OpenAPI document says of error answers."""
    content = {MEDIA_TYPE: {"schema": reference(Problem)}}
    return {status: {"description": _PROBLEMS[status], "content": dict(content)} for status in statuses}


def answer_response(model: type[BaseModel], description: str, status: int = 200) -> Responses:
    """Return what the OpenAPI document says of a good answer."""
    return {status: {"description": description, "content": {"application/json": {"schema": reference(model)}}}}
