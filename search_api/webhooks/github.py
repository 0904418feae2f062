"""Deliveries of GitHub."""

from werkzeug.datastructures import Headers

from codequarry.search_api.webhooks.events import Parsed, Payload
from codequarry.search_api.webhooks.hub_events import read_hub_event
from codequarry.search_api.webhooks.provider import SignedDelivery, WebhookProvider, signs_only_body
from codequarry.search_api.webhooks.signatures import HUB_PREFIX, check_hex
from codequarry.shared.errors import Unauthorized


def check_github(delivery: SignedDelivery) -> int:
    """Check ``X-Hub-Signature-256`` and return which secret it fits; Unauthorized if it fits none."""
    given = delivery.headers.get("X-Hub-Signature-256", "")
    if not given.startswith(HUB_PREFIX):
        raise Unauthorized("the header X-Hub-Signature-256 is missing: give the hook a secret")
    return check_hex(given.removeprefix(HUB_PREFIX), delivery.body, delivery.secrets)


def read_github(headers: Headers, body: Payload) -> Parsed:
    """Read a delivery by the name in ``X-GitHub-Event``."""
    return read_hub_event(headers.get("X-GitHub-Event", ""), body)


GITHUB = WebhookProvider("github", "GitHub", ("X-GitHub-Delivery",), check_github, signs_only_body, read_github)
