"""What `/openapi.json` says; the schemas of answers are made from the types that answers are made of."""

import re
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from codequarry.search_api.answers.comparison import ComparisonAnswer
from codequarry.search_api.answers.deliveries import Deliveries, ReceivedDelivery
from codequarry.search_api.answers.hits import SearchAnswer
from codequarry.search_api.answers.jobs import JobsPage, PendingSearch
from codequarry.search_api.answers.json import schemas
from codequarry.search_api.answers.problem import PROBLEM_MEDIA_TYPE, Health, Problem
from codequarry.search_api.answers.repositories import Repositories
from codequarry.search_api.http.admission import NEEDS
from codequarry.search_api.jobs.repositories import RepositoryToAdd
from codequarry.search_api.query.diff_request import DiffBody
from codequarry.search_api.query.request import SearchBody
from codequarry.search_api.webhooks.generic import GenericDelivery

REF_TEMPLATE = "#/components/schemas/{model}"
REQUESTS: tuple[type[BaseModel], ...] = (SearchBody, DiffBody, RepositoryToAdd, GenericDelivery)
ANSWERS: tuple[type, ...] = (
    SearchAnswer, ComparisonAnswer, Repositories, JobsPage, PendingSearch, Deliveries, ReceivedDelivery, Health,
    Problem,
)  # fmt: skip


def component_schemas() -> dict[str, Any]:
    """Return the schemas of all bodies by name, as OpenAPI 3.1 wants them."""
    _, document = models_json_schema([(model, "validation") for model in REQUESTS], ref_template=REF_TEMPLATE)
    requests: dict[str, Any] = document["$defs"]
    return requests | schemas(ANSWERS, REF_TEMPLATE)


def reference(kind: type) -> dict[str, str]:
    """Return the reference to a body's schema."""
    return {"$ref": REF_TEMPLATE.format(model=kind.__name__)}


_PROBLEMS = {
    400: "The request is wrong: what and why stands in detail",
    401: "No key, or one that is not valid; for webhooks, no signature, or one that fits no secret",
    403: "The key lacks a scope, or it is switched off or not allowed",
    404: "A repository or version that the index does not have",
    409: "It does not go together with how far things are",
    413: "The body is too large",
    415: "The body is not JSON",
    429: "A limit is reached; Retry-After says when to ask again",
    500: "An error of the service",
    501: "Something is to be indexed where nothing indexes",
    503: "The store does not answer; Retry-After says when to ask again",
    504: "min_commit did not come in wait_ms; freshness says where the index stands",
}


Responses = dict[int | str, dict[str, str | dict[str, dict[str, Any]]]]
"""What the OpenAPI extension takes as the answers of an operation."""


def problem_responses(*statuses: int) -> Responses:
    """Return what the OpenAPI document says of error answers."""
    content = {PROBLEM_MEDIA_TYPE: {"schema": reference(Problem)}}
    return {status: {"description": _PROBLEMS[status], "content": dict(content)} for status in statuses}


def answer_response(kind: type, description: str, status: int = 200) -> Responses:
    """Return what the OpenAPI document says of a good answer."""
    return {status: {"description": description, "content": {"application/json": {"schema": reference(kind)}}}}


SCHEME = "key"
_VARIABLE = re.compile(r"<(?:[^<>:]+:)?([^<>:]+)>")
_KEY_PROBLEMS = (401, 403, 429)


def describe_keys(spec: dict[str, Any]) -> None:
    """Add to each operation of ``spec`` that it needs a key, and what happens without."""
    spec["components"]["securitySchemes"] = {
        SCHEME: {"type": "http", "scheme": "bearer", "description": "A key of `codequarry keys create`."}
    }
    for request, need in NEEDS.items():
        method, _, rule = request.partition(" ")
        operation = spec["paths"].get(_VARIABLE.sub(r"{\1}", rule), {}).get(method.lower())
        if operation is None:
            continue  # the description does not describe itself
        if need == "open":
            operation["security"] = []
        elif need == "signed":
            operation["security"] = []
            operation["responses"] |= _problems(429)
        else:
            operation["security"] = [{SCHEME: []}]
            operation["description"] = f"{operation.get('description', '')}\n\nNeeds the scope `{need}`.".strip()
            operation["responses"] |= _problems(*_KEY_PROBLEMS)


def _problems(*statuses: int) -> dict[str, Any]:
    return {str(status): response for status, response in problem_responses(*statuses).items()}
