"""`GET /healthz`, `/readyz` and `/metrics`."""

from http import HTTPStatus

from apiflask import APIBlueprint
from flask import Response, current_app

from codequarry.search_api.answers.problem import Health
from codequarry.search_api.http.openapi import Responses, answer_response, problem_responses, reference
from codequarry.search_api.http.problems import RETRY_AFTER_SECONDS
from codequarry.search_api.http.request_context import CATALOG_METRICS, backend, caller, deadline, json_response
from codequarry.shared.errors import Forbidden
from codequarry.shared.telemetry.metrics import CONTENT_TYPE, render

blueprint = APIBlueprint("health", __name__, tag="Operation")
# Not registered if metrics have their own port.
metrics_blueprint = APIBlueprint("metrics", __name__, tag="Operation")

_UNAVAILABLE: Responses = {
    503: {
        "description": "The store does not answer",
        "content": {"application/json": {"schema": reference(Health)}},
    }
}
_METRICS: Responses = {
    200: {"description": "The Prometheus text format", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


@blueprint.get("/healthz")
@blueprint.doc(
    summary="Check whether the process is alive",
    operation_id="healthz",
    responses=answer_response(Health, "The process answers"),
)
def healthz() -> Response:
    """Report that the process answers, without checking anything else."""
    return json_response(Health("ok"))


@blueprint.get("/readyz")
@blueprint.doc(
    summary="Check whether searches can be answered",
    operation_id="readyz",
    responses=answer_response(Health, "The store answers") | _UNAVAILABLE,
)
def readyz() -> Response:
    """Report whether searches can be answered; a failing embedder only degrades them."""
    checks = backend().checks(deadline())
    if checks["store"] == "ok":
        return json_response(Health("ok", checks))
    response = json_response(Health("unavailable", checks), HTTPStatus.SERVICE_UNAVAILABLE)
    response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


@metrics_blueprint.get("/metrics")
@metrics_blueprint.doc(
    summary="Metrics for Prometheus",
    operation_id="metrics",
    responses=_METRICS | problem_responses(500, 503),
)
def metrics() -> Response:
    """Return the service's metrics, including metrics about the catalog's jobs and versions."""
    if not caller().sees_everything:
        raise Forbidden("metrics cover all repositories, so this needs a key that may see everything")
    return Response(render(current_app.extensions[CATALOG_METRICS]), content_type=CONTENT_TYPE)
