"""What is known of the deliveries of code hosts."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from codequarry.shared.catalog.deliveries import Delivery, DeliveryResult, ProviderName


@dataclass(frozen=True)
class DeliveryStatus:
    """One delivery and what became of it."""

    provider: ProviderName
    delivery_id: str
    event: str
    result: Annotated[
        DeliveryResult, Field(description="received means that handling it failed; it may be delivered again")
    ]
    reason: str | None
    repo: str | None
    ref: str | None
    commit: str | None
    job_id: str | None
    repeats: Annotated[int, Field(description="how often it was delivered again, without effect")]
    received_at: str


@dataclass(frozen=True)
class ReceivedDelivery(DeliveryStatus):
    """What a webhook answers."""

    repeated: Annotated[bool, Field(description="it was handled before, and nothing was done now")]


@dataclass(frozen=True, slots=True)
class Deliveries:
    """The latest deliveries first."""

    deliveries: tuple[DeliveryStatus, ...]


def delivery_status(delivery: Delivery) -> DeliveryStatus:
    """Return one line of the log of deliveries."""
    return DeliveryStatus(
        provider=delivery.provider,
        delivery_id=delivery.id,
        event=delivery.event,
        result=delivery.result,
        reason=delivery.reason or None,
        repo=delivery.repo or None,
        ref=delivery.ref or None,
        commit=delivery.commit or None,
        job_id=delivery.job or None,
        repeats=delivery.repeats,
        received_at=delivery.received_at,
    )
