"""Deliveries of Gitea and Forgejo."""

from werkzeug.datastructures import Headers

from codequarry.search_api.webhooks.events import Parsed, Payload
from codequarry.search_api.webhooks.hub_events import read_hub_event
from codequarry.search_api.webhooks.provider import SignedDelivery, WebhookProvider, signs_only_body
from codequarry.search_api.webhooks.signatures import check_hex
from codequarry.shared.errors import Unauthorized


def check_gitea(delivery: SignedDelivery) -> int:
    """Check ``X-Gitea-Signature`` or, of Forgejo, ``X-Forgejo-Signature``."""
    given = delivery.headers.get("X-Gitea-Signature") or delivery.headers.get("X-Forgejo-Signature") or ""
    if not given:
        raise Unauthorized("the header X-Gitea-Signature is missing: give the hook a secret")
    return check_hex(given, delivery.body, delivery.secrets)


def read_gitea(headers: Headers, body: Payload) -> Parsed:
    """Read a delivery by the name in ``X-Gitea-Event`` or ``X-Forgejo-Event``."""
    return read_hub_event(headers.get("X-Gitea-Event") or headers.get("X-Forgejo-Event") or "", body)


GITEA = WebhookProvider(
    "gitea",
    "Gitea or Forgejo",
    ("X-Gitea-Delivery", "X-Forgejo-Delivery"),
    check_gitea,
    signs_only_body,
    read_gitea,
)
