"""Deliveries from GitLab's project, group and system hooks."""

import base64
import binascii

from werkzeug.datastructures import Headers

from codequarry.search_api.webhooks.events import (
    Event,
    IgnoredEvent,
    NamedRepository,
    Parsed,
    Payload,
    branch_name,
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

# The prefix of secrets in the Standard Webhooks specification; the rest is base64.
STANDARD_PREFIX = "whsec_"
STANDARD_VERSION = "v1,"
PUSHES = frozenset({"push", "tag_push"})
CLOSING = frozenset({"close", "merge"})


def check_gitlab(delivery: SignedDelivery) -> int:
    """Check ``webhook-signature`` (Standard Webhooks) if present, else the plain ``X-Gitlab-Token``."""
    if is_standard(delivery.headers):
        return _check_standard(delivery)
    given = delivery.headers.get("X-Gitlab-Token", "")
    if not given:
        raise Unauthorized("the headers webhook-signature and X-Gitlab-Token are both missing; give the hook a secret")
    return matching_secret([given.encode()], [secret.encode() for secret in delivery.secrets])


def is_standard(headers: Headers) -> bool:
    """Return whether a delivery is signed as in the Standard Webhooks specification, which also signs id and time."""
    return "webhook-signature" in headers


def _check_standard(delivery: SignedDelivery) -> int:
    headers = delivery.headers
    identifier, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (identifier and timestamp):
        raise Unauthorized("webhook-signature needs the headers webhook-id and webhook-timestamp")
    signed = b".".join((identifier.encode(), timestamp.encode(), delivery.body))
    expected = [base64.b64encode(digest(_standard_key(secret), signed)) for secret in delivery.secrets]
    signatures = headers["webhook-signature"].split()
    given = [text.removeprefix(STANDARD_VERSION).encode() for text in signatures if text.startswith(STANDARD_VERSION)]
    secret = matching_secret(given, expected)
    check_time(timestamp, delivery.now, delivery.tolerance)
    return secret


def _standard_key(secret: str) -> bytes:
    if secret.startswith(STANDARD_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(STANDARD_PREFIX), validate=True)
        except binascii.Error:
            pass
    return secret.encode()


def read_gitlab(_: Headers, body: Payload) -> Parsed:
    """Return the event of a delivery, which ``object_kind`` or ``event_name`` names; may raise UsageError."""
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
    # An update without `oldrev` changes no code, but it may change the branch with which the code is compared.
    has_moved = bool(text(request, "oldrev") or table(table(body, "changes"), "target_branch"))
    if action not in ("open", "reopen") and not (action == "update" and has_moved):
        return IgnoredEvent(name, "it changes no code")
    commit, target = commit_of(text(request, "last_commit", "id")), branch_name(text(request, "target_branch"))
    return Event(name, _place(body), pull_ref(request.get("iid")), "moved", commit, target=target)


GITLAB = WebhookProvider("gitlab", "GitLab", ("webhook-id", "Idempotency-Key"), check_gitlab, is_standard, read_gitlab)
