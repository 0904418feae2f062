"""The interface of a webhook provider: its secrets, signatures, delivery ids and events."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from uuid import uuid4

from werkzeug.datastructures import Headers

from codequarry.search_api.webhooks.events import Parsed, Payload
from codequarry.shared.catalog.deliveries import MAX_ID_CHARACTERS, ProviderName
from codequarry.shared.errors import Forbidden
from codequarry.shared.settings.triggers import WebhookSettings


@dataclass(frozen=True, slots=True)
class SignedDelivery:
    """A received delivery. Its signed time may be up to ``tolerance`` seconds from ``now`` (seconds since 1970)."""

    headers: Headers
    body: bytes
    secrets: Sequence[str]
    now: float
    tolerance: float


@dataclass(frozen=True, slots=True)
class WebhookProvider:
    """A kind of sender; ``id_headers`` are the headers that may hold a delivery's id, most reliable first.

    ``check`` returns the index of the secret that signed a delivery, or raises Unauthorized. ``signs_id`` returns
    whether the signature covers id and time as well as the body. ``read`` may raise UsageError.
    """

    name: ProviderName
    title: str
    id_headers: tuple[str, ...]
    check: Callable[[SignedDelivery], int]
    signs_id: Callable[[Headers], bool]
    read: Callable[[Headers, Payload], Parsed]

    def secrets(self, settings: WebhookSettings) -> list[str]:
        """Return the configured secrets; raise Forbidden if there are none."""
        configured = {
            "github": settings.github_secrets,
            "gitlab": settings.gitlab_secrets,
            "gitea": settings.gitea_secrets,
            "generic": settings.generic_secrets,
        }[self.name]
        if not configured:
            raise Forbidden(
                f"webhooks of this kind are off; set [webhooks] {self.name}_secrets, and give the hook the same secret"
            )
        return [secret.get_secret_value() for secret in configured]

    def delivery_id(self, headers: Headers) -> str:
        """Return the sender's delivery id, its hash if it is too long or not printable, or a new id if missing."""
        given = next((value for name in self.id_headers if (value := headers.get(name))), "")
        if len(given) <= MAX_ID_CHARACTERS and given.isascii() and given.isprintable():
            return given or uuid4().hex
        return sha256(given.encode()).hexdigest()


def signs_only_body(_: Headers) -> bool:
    """Return False: the signature covers neither id nor time."""
    return False
