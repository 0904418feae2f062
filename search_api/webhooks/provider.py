"""What the service knows of one kind of sender: its secret, its signature, its delivery ids, its events."""

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
    """A delivery as it came, and what its signature is checked against; ``now`` is in seconds since 1970.

    A signed time may differ from ``now`` by ``tolerance`` seconds.
    """

    headers: Headers
    body: bytes
    secrets: Sequence[str]
    now: float
    tolerance: float


@dataclass(frozen=True, slots=True)
class WebhookProvider:
    """One kind of sender; ``id_headers`` say what it calls a delivery, the surest first.

    ``check`` returns which of the secrets a delivery was signed with, or raises Unauthorized. ``signs_id`` tells
    whether the signature also covers id and time, not the body alone. ``read`` may raise UsageError.
    """

    name: ProviderName
    title: str
    id_headers: tuple[str, ...]
    check: Callable[[SignedDelivery], int]
    signs_id: Callable[[Headers], bool]
    read: Callable[[Headers, Payload], Parsed]

    def secrets(self, settings: WebhookSettings) -> list[str]:
        """Return the secrets that the settings have; Forbidden if there are none."""
        configured = {
            "github": settings.github_secrets,
            "gitlab": settings.gitlab_secrets,
            "gitea": settings.gitea_secrets,
            "generic": settings.generic_secrets,
        }[self.name]
        if not configured:
            raise Forbidden(
                f"webhooks of this kind are off: set [webhooks] {self.name}_secrets, and the same in the hook"
            )
        return [secret.get_secret_value() for secret in configured]

    def delivery_id(self, headers: Headers) -> str:
        """Return what the sender calls a delivery: a hash of it if it is too long, a new id if there is none."""
        given = next((value for name in self.id_headers if (value := headers.get(name))), "")
        if len(given) <= MAX_ID_CHARACTERS and given.isascii() and given.isprintable():
            return given or uuid4().hex
        return sha256(given.encode()).hexdigest()


def signs_only_body(_: Headers) -> bool:
    """Return False: the signature covers neither id nor time."""
    return False
