"""`POST /webhooks/github`, `/gitlab`, `/gitea` and `/generic`, and `GET /deliveries`."""

import time
from collections.abc import Callable
from dataclasses import asdict
from hashlib import sha256
from http import HTTPStatus
from urllib.parse import parse_qs

from apiflask import APIBlueprint
from flask import Response, current_app, request

from codequarry.search_api.answers.deliveries import Deliveries, ReceivedDelivery, delivery_status
from codequarry.search_api.http.admission import admit_signed
from codequarry.search_api.http.audit_log import note_access
from codequarry.search_api.http.openapi import answer_response, problem_responses, reference
from codequarry.search_api.http.parameters import integer_parameter, refuse_unknown_parameters
from codequarry.search_api.http.request_context import (
    INDEXER,
    RECEIVER,
    backend,
    deadline,
    engine,
    followed,
    json_response,
)
from codequarry.search_api.http.routes.search import JSON, parse_json
from codequarry.search_api.jobs.queue import Indexer
from codequarry.search_api.webhooks.events import Payload
from codequarry.search_api.webhooks.generic import GENERIC, GenericDelivery
from codequarry.search_api.webhooks.gitea import GITEA
from codequarry.search_api.webhooks.github import GITHUB
from codequarry.search_api.webhooks.gitlab import GITLAB
from codequarry.search_api.webhooks.provider import SignedDelivery, WebhookProvider
from codequarry.search_api.webhooks.receiver import Received, Receiver
from codequarry.shared.catalog.deliveries import new_delivery
from codequarry.shared.errors import IndexingOff, UsageError

FORM = "application/x-www-form-urlencoded"
# GitHub sends a single field.
MAX_FORM_FIELDS = 10
DEFAULT_LIMIT = 100
MAX_LIMIT = 1_000
blueprint = APIBlueprint("webhooks", __name__, tag="Webhooks")

_DESCRIPTION = """A delivery is authenticated by its signature, not by a key. If it does not concern the index, `result`
is `ignored` and `reason` says why. A repeated delivery gets the first delivery's answer and starts nothing."""
_PROVIDER_BODY = {"content": {JSON: {"schema": {"type": "object", "description": "the code host's payload"}}}}
_GENERIC_BODY = {"required": True, "content": {JSON: {"schema": reference(GenericDelivery)}}}


def _receive(provider: WebhookProvider) -> Response:
    settings = backend().settings.webhooks
    request.max_content_length = settings.max_body_bytes
    secrets = provider.secrets(settings)
    raw = request.get_data()
    secret = provider.check(SignedDelivery(request.headers, raw, secrets, time.time(), settings.tolerance_seconds))
    # The signature identifies the sender, so the sender may learn the result, no matter which repository it concerns.
    admit_signed(f"{provider.name} webhook, secret {secret + 1}")
    parsed = provider.read(request.headers, _body(raw))
    indexer: Indexer | None = current_app.extensions[INDEXER]
    if indexer is None:
        raise IndexingOff("this service does not index; send deliveries to a codequarry serve process")
    receiver: Receiver = current_app.extensions[RECEIVER]
    digest = "" if provider.signs_id(request.headers) else sha256(raw).hexdigest()
    delivery = new_delivery(provider.name, provider.delivery_id(request.headers), digest)
    return _answer(receiver.receive(backend().engine(deadline()), indexer, delivery, parsed))


def _body(raw: bytes) -> Payload:
    """Return the JSON object in a body; GitHub can also send it as a form field."""
    text = raw
    if request.mimetype == FORM:
        text = _payload(raw)
    body = parse_json(text)
    if not isinstance(body, dict):
        raise UsageError("the body must be a JSON object; choose application/json as the hook's content type")
    return body


def _payload(form: bytes) -> bytes:
    try:
        fields = parse_qs(form.decode("utf-8", "replace"), max_num_fields=MAX_FORM_FIELDS)
    except ValueError:
        raise UsageError(f"the form has more than {MAX_FORM_FIELDS} fields; only 'payload' is needed") from None
    return fields.get("payload", [""])[0].encode()


def _answer(received: Received) -> Response:
    status = asdict(delivery_status(received.delivery))
    note_access(filter(None, [received.delivery.repo]), 1)
    response = json_response(ReceivedDelivery(**status, repeated=received.repeated), HTTPStatus.ACCEPTED)
    if received.delivery.job:
        response.headers["Location"] = f"/jobs/{received.delivery.job}"
    return response


def _view(provider: WebhookProvider) -> Callable[[], Response]:
    @followed
    def view() -> Response:
        return _receive(provider)

    view.__name__ = f"receive_{provider.name}"
    return view


for _provider in (GITHUB, GITLAB, GITEA, GENERIC):
    _documented = blueprint.doc(
        summary=f"Receive a delivery from {_provider.title}",
        description=_DESCRIPTION,
        operation_id=f"receive_{_provider.name}",
        responses=answer_response(ReceivedDelivery, "The result of the delivery", 202)
        | problem_responses(400, 401, 403, 413, 500, 501, 503),
        extensions={"requestBody": _GENERIC_BODY if _provider is GENERIC else _PROVIDER_BODY},
    )
    blueprint.post(f"/webhooks/{_provider.name}")(_documented(_view(_provider)))

_LIMIT = {
    "name": "limit",
    "in": "query",
    "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    "description": "maximum number of deliveries in the answer",
}


@blueprint.get("/deliveries")
@blueprint.doc(
    summary="List webhook deliveries",
    description="Webhook deliveries, latest first, each with its result and the reason.",
    operation_id="list_deliveries",
    responses=answer_response(Deliveries, "Deliveries") | problem_responses(400, 500, 503),
    extensions={"parameters": [_LIMIT]},
)
def deliveries() -> Response:
    """Return the log of deliveries."""
    refuse_unknown_parameters("limit")
    limit = integer_parameter("limit", DEFAULT_LIMIT, MAX_LIMIT)
    latest = engine().catalog.deliveries()[:limit]
    note_access((delivery.repo for delivery in latest if delivery.repo), len(latest))
    return json_response(Deliveries(tuple(map(delivery_status, latest))))
