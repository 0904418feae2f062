"""Deliveries of GitLab: of a project, a group, or the whole server."""

import base64
import binascii

from werkzeug.datastructures import Headers

from codequarry.search_api.webhooks.events import (
    Event,
    NamedRepository,
    Parsed,
    Payload,
    IgnoredEvent,
    commit_of,
    pull_ref,
    pushed,
    required,
    table,
    text,
    texts,
)
from codequarry.search_api.webhooks.provider import SignedDelivery, WebhookProvider
from codequarry.search_api.webhooks.signatures import check_time, digest, matching_secret
from codequarry.shared.errors import Unauthorized

# How the secrets of the Standard Webhooks specification begin; the rest is base64.
STANDARD_PREFIX = "whsec_"
STANDARD_VERSION = "v1,"
PUSHES = frozenset({"push", "tag_push"})
CLOSING = frozenset({"close", "merge"})


def check_gitlab(delivery: SignedDelivery) -> int:
    """Check ``webhook-signature`` if it is there (Standard Webhooks), else the plain ``X-Gitlab-Token``."""
    if is_standard(delivery.headers):
        return _check_standard(delivery)
    given = delivery.headers.get("X-Gitlab-Token", "")
    if not given:
        raise Unauthorized("there is neither webhook-signature nor X-Gitlab-Token: give the hook a secret")
    return matching_secret([given.encode()], [secret.encode() for secret in delivery.secrets])


def is_standard(headers: Headers) -> bool:
    """Return whether a delivery is signed as the Standard Webhooks specification says: its id and time too."""
    return "webhook-signature" in headers


def _check_standard(delivery: SignedDelivery) -> int:
    headers = delivery.headers
    identifier, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (identifier and timestamp):
        raise Unauthorized("webhook-signature comes with webhook-id and webhook-timestamp, and these are missing")
    signed = b".".join((identifier.encode(), timestamp.encode(), delivery.body))
    expected = [base64.b64encode(digest(_standard_key(secret), signed)) for secret in delivery.secrets]
    versions = headers["webhook-signature"].split()
    given = [one.removeprefix(STANDARD_VERSION).encode() for one in versions if one.startswith(STANDARD_VERSION)]
    fitting = matching_secret(given, expected)
    check_time(timestamp, delivery.now, delivery.tolerance)
    return fitting


def _standard_key(secret: str) -> bytes:
    if secret.startswith(STANDARD_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(STANDARD_PREFIX), validate=True)
        except binascii.Error:
            pass
    return secret.encode()


def read_gitlab(_: Headers, body: Payload) -> Parsed:
    """Read a delivery by its ``object_kind``, or ``event_name`` from a system hook; UsageError where all is missing."""
    kind = text(body, "object_kind") or required(body, "event_name")
    if kind in PUSHES:
        return pushed(kind, _place(body), required(body, "ref"), required(body, "after"))
    if kind == "merge_request":
        return _merge_request(body)
    return IgnoredEvent(kind, f"the event '{kind}' does not concern the index")


def _place(body: Payload) -> NamedRepository:
    project = table(body, "project")
    origins = texts(project, "git_http_url", "git_ssh_url", "http_url", "ssh_url", "web_url")
    return NamedRepository(origins, text(project, "default_branch"))


def _merge_request(body: Payload) -> Parsed:
    request = table(body, "object_attributes")
    action = text(request, "action")
    name = f"merge_request {action}".rstrip()
    if action in CLOSING:
        return Event(name, _place(body), pull_ref(request.get("iid")), "closed")
    # An update without `oldrev` is one of title or labels.
    if action not in ("open", "reopen") and not (action == "update" and text(request, "oldrev")):
        return IgnoredEvent(name, "it changes no code")
    return Event(
        name, _place(body), pull_ref(request.get("iid")), "moved", commit_of(text(request, "last_commit", "id"))
    )


GITLAB = WebhookProvider("gitlab", "GitLab", ("webhook-id", "Idempotency-Key"), check_gitlab, is_standard, read_gitlab)
