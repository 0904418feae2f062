"""Generates `/openapi.json`; the answer schemas come from the answer types themselves."""

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
from codequarry.search_api.answers.relations import Definitions, Edges
from codequarry.search_api.answers.repositories import Repositories
from codequarry.search_api.answers.symbol_history import SymbolHistory
from codequarry.search_api.answers.symbol_versions import SymbolVersions
from codequarry.search_api.http.admission import NEEDS
from codequarry.search_api.jobs.repositories import RepositoryToAdd
from codequarry.search_api.query.diff_request import DiffBody
from codequarry.search_api.query.relations_request import GraphBody
from codequarry.search_api.query.request import SearchBody
from codequarry.search_api.webhooks.generic import GenericDelivery

REF_TEMPLATE = "#/components/schemas/{model}"
REQUESTS: tuple[type[BaseModel], ...] = (SearchBody, DiffBody, GraphBody, RepositoryToAdd, GenericDelivery)
ANSWERS: tuple[type, ...] = (
    SearchAnswer, ComparisonAnswer, SymbolVersions, SymbolHistory, Definitions, Edges, Repositories, JobsPage,
    PendingSearch, Deliveries,
    ReceivedDelivery,
    Health, Problem,
)  # fmt: skip


def component_schemas() -> dict[str, Any]:
    """Return the OpenAPI 3.1 schemas of all request and answer bodies, by name."""
    _, document = models_json_schema([(model, "validation") for model in REQUESTS], ref_template=REF_TEMPLATE)
    requests: dict[str, Any] = document["$defs"]
    return requests | schemas(ANSWERS, REF_TEMPLATE)


def reference(kind: type) -> dict[str, str]:
    """Return a reference to a body's schema."""
    return {"$ref": REF_TEMPLATE.format(model=kind.__name__)}


_PROBLEMS = {
    400: "The request is invalid; detail says what is wrong",
    401: "The key is missing or not valid; for a webhook, the signature is missing or matches no secret",
    403: "The key does not allow this; for a webhook, no secret is configured",
    404: "No such repository, version or job",
    409: "The state of the job does not allow this",
    413: "The body is too large",
    415: "The body is not JSON",
    429: "A limit was reached; Retry-After says when to retry",
    500: "An internal error",
    501: "This service does not index",
    503: "The store does not answer, or the service is overloaded; Retry-After says when to retry",
    504: "The index did not reach min_commit within wait_ms; freshness shows its state",
}

Responses = dict[int | str, dict[str, str | dict[str, dict[str, Any]]]]
"""The responses of an operation, in the form that APIFlask expects."""


def problem_responses(*statuses: int) -> Responses:
    """Return the OpenAPI description of error responses."""
    content = {PROBLEM_MEDIA_TYPE: {"schema": reference(Problem)}}
    return {status: {"description": _PROBLEMS[status], "content": dict(content)} for status in statuses}


def answer_response(kind: type, description: str, status: int = 200) -> Responses:
    """Return the OpenAPI description of a successful response."""
    return {status: {"description": description, "content": {"application/json": {"schema": reference(kind)}}}}


SCHEME = "key"
_VARIABLE = re.compile(r"<(?:[^<>:]+:)?([^<>:]+)>")
_KEY_PROBLEMS = (401, 403, 429)


def describe_keys(spec: dict[str, Any]) -> None:
    """Add to each operation in ``spec`` the key and scope that it needs, and the errors for a missing key."""
    spec["components"]["securitySchemes"] = {
        SCHEME: {"type": "http", "scheme": "bearer", "description": "A key from `codequarry keys create`."}
    }
    for request, need in NEEDS.items():
        method, _, rule = request.partition(" ")
        operation = spec["paths"].get(_VARIABLE.sub(r"{\1}", rule), {}).get(method.lower())
        if operation is None:
            continue  # the document does not list /openapi.json itself
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
