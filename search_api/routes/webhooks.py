"""`POST /webhooks/github`, `/gitlab`, `/gitea` and `/generic`, and `GET /deliveries`."""

import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import parse_qs
from uuid import uuid4

from apiflask import APIBlueprint
from flask import Response, current_app, jsonify, request
from pydantic import SecretStr

from codequarry.search_api.admission import admit_signed
from codequarry.search_api.audit import note_access
from codequarry.search_api.indexing import Indexer
from codequarry.search_api.parameters import integer_parameter, refuse_unknown_parameters
from codequarry.search_api.routes import (
    INDEXER,
    RECEIVER,
    answer_response,
    backend,
    engine,
    followed,
    problem_responses,
)
from codequarry.search_api.routes.search import JSON, parse_json
from codequarry.search_api.schemas import reference
from codequarry.search_api.webhooks.events import Body, Parsed
from codequarry.search_api.webhooks.generic import read_generic
from codequarry.search_api.webhooks.gitlab import read_gitlab
from codequarry.search_api.webhooks.hub import read_hub
from codequarry.search_api.webhooks.receiving import Received, Receiver
from codequarry.search_api.webhooks.signatures import (
    check_generic,
    check_gitea,
    check_github,
    check_gitlab,
    is_id_signed,
)
from codequarry.search_api.work_bodies import DeliveriesBody, GenericDelivery, ReceivedBody
from codequarry.shared.errors import Forbidden, IndexingOff, UsageError
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.triggers.deliveries import MAX_ID_CHARACTERS, Provider, new_delivery

FORM = "application/x-www-form-urlencoded"
# GitHub sends one.
MAX_FORM_FIELDS = 10
DEFAULT_LIMIT = 100
MAX_LIMIT = 1_000
# Where each provider puts what it calls a delivery, the surest first.
ID_HEADERS: Mapping[Provider, tuple[str, ...]] = MappingProxyType(
    {
        "github": ("X-GitHub-Delivery",),
        "gitlab": ("webhook-id", "Idempotency-Key"),
        "gitea": ("X-Gitea-Delivery", "X-Forgejo-Delivery"),
        "generic": ("X-Codequarry-Delivery",),
    }
)

blueprint = APIBlueprint("webhooks", __name__, tag="Webhooks")

_DESCRIPTION = """Authenticated by its signature, not by a key. What does not concern the index is answered with
`result` `ignored` and the reason; a delivery that was dealt with before answers as it did then and begins nothing."""
_PROVIDER_BODY = {"content": {JSON: {"schema": {"type": "object", "description": "as the code host sends it"}}}}
_GENERIC_BODY = {"required": True, "content": {JSON: {"schema": reference(GenericDelivery)}}}


def _receive(provider: Provider) -> Response:
    """Check, read and deal with a delivery."""
    # A signature says that the code host sends this: it is told what becomes of it, whatever it is about.
    settings = backend().settings
    request.max_content_length = settings.webhooks.max_body_bytes
    secrets = _secrets(settings, provider)
    raw = request.get_data()
    secret = _check(provider, raw, secrets, settings.webhooks.tolerance_seconds)
    admit_signed(f"{provider} webhook, secret {secret + 1}")
    parsed = _read(provider, _body(raw))
    indexer: Indexer | None = current_app.extensions[INDEXER]
    if indexer is None:
        raise IndexingOff("this service does not index: deliveries go to codequarry serve")
    receiver: Receiver = current_app.extensions[RECEIVER]
    digest = "" if is_id_signed(provider, request.headers) else sha256(raw).hexdigest()
    delivery = new_delivery(provider, _id(provider), digest)
    return _answer(receiver.receive(backend().engine(), indexer, delivery, parsed))


def _secrets(settings: SettingsModel, provider: Provider) -> Sequence[str]:
    by_provider: Mapping[Provider, tuple[SecretStr, ...]] = {
        "github": settings.webhooks.github_secrets,
        "gitlab": settings.webhooks.gitlab_secrets,
        "gitea": settings.webhooks.gitea_secrets,
        "generic": settings.webhooks.generic_secrets,
    }
    if not by_provider[provider]:
        raise Forbidden(f"webhooks of this kind are off: set [webhooks] {provider}_secrets, and the same in the hook")
    return [secret.get_secret_value() for secret in by_provider[provider]]


def _check(provider: Provider, raw: bytes, secrets: Sequence[str], tolerance: float) -> int:
    """Return which of the secrets a delivery was signed with."""
    if provider == "github":
        return check_github(request.headers, raw, secrets)
    if provider == "gitea":
        return check_gitea(request.headers, raw, secrets)
    check = check_gitlab if provider == "gitlab" else check_generic
    return check(request.headers, raw, secrets, time.time(), tolerance)


def _body(raw: bytes) -> Body:
    """Return the JSON object in a body; GitHub can be set to send it as a field of a form."""
    text = raw
    if request.mimetype == FORM:
        text = _payload(raw)
    body = parse_json(text)
    if not isinstance(body, dict):
        raise UsageError("the body must be a JSON object: choose application/json as the hook's content type")
    return body


def _payload(form: bytes) -> bytes:
    try:
        fields = parse_qs(form.decode("utf-8", "replace"), max_num_fields=MAX_FORM_FIELDS)
    except ValueError:
        raise UsageError(f"the form has more than {MAX_FORM_FIELDS} fields; the one that counts is 'payload'") from None
    return fields.get("payload", [""])[0].encode()


def _read(provider: Provider, body: Body) -> Parsed:
    headers = request.headers
    if provider == "github":
        return read_hub(headers.get("X-GitHub-Event", ""), body)
    if provider == "gitea":
        return read_hub(headers.get("X-Gitea-Event") or headers.get("X-Forgejo-Event") or "", body)
    return read_gitlab(body) if provider == "gitlab" else read_generic(body)


def _id(provider: Provider) -> str:
    """Return what the host calls a delivery."""
    given = next((value for name in ID_HEADERS[provider] if (value := request.headers.get(name))), "")
    if len(given) <= MAX_ID_CHARACTERS and given.isascii() and given.isprintable():
        return given or uuid4().hex
    return sha256(given.encode()).hexdigest()


def _answer(received: Received) -> Response:
    body = received.delivery.to_json()
    note_access(filter(None, [received.delivery.repo]), 1)
    response = jsonify({**body, "repeated": received.repeated})
    response.status_code = HTTPStatus.ACCEPTED
    if received.delivery.job:
        response.headers["Location"] = f"/jobs/{received.delivery.job}"
    return response


def _view(provider: Provider) -> Callable[[], Response]:
    @followed
    def view() -> Response:
        return _receive(provider)

    view.__name__ = f"receive_{provider}"
    return view


_NAMES: Mapping[Provider, str] = MappingProxyType(
    {"github": "GitHub", "gitlab": "GitLab", "gitea": "Gitea or Forgejo", "generic": "any CI system"}
)
for _provider, _name in _NAMES.items():
    _documented = blueprint.doc(
        summary=f"A delivery of {_name}",
        description=_DESCRIPTION,
        operation_id=f"receive_{_provider}",
        responses=answer_response(ReceivedBody, "What became of it", 202)
        | problem_responses(400, 401, 403, 413, 500, 501, 503),
        extensions={"requestBody": _GENERIC_BODY if _provider == "generic" else _PROVIDER_BODY},
    )
    blueprint.post(f"/webhooks/{_provider}")(_documented(_view(_provider)))


_LIMIT = {
    "name": "limit",
    "in": "query",
    "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    "description": "most deliveries in the answer",
}


@blueprint.get("/deliveries")
@blueprint.doc(
    summary="What code hosts told the service",
    description="The latest deliveries first, each with what became of it and why.",
    operation_id="list_deliveries",
    responses=answer_response(DeliveriesBody, "Deliveries") | problem_responses(400, 500, 503),
    extensions={"parameters": [_LIMIT]},
)
def deliveries() -> Response:
    """Return the log of deliveries."""
    refuse_unknown_parameters("limit")
    limit = integer_parameter("limit", DEFAULT_LIMIT, MAX_LIMIT)
    told = engine().catalog.deliveries()[:limit]
    note_access((one.repo for one in told if one.repo), len(told))
    return jsonify({"deliveries": [one.to_json() for one in told]})
