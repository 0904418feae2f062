"""Answers about webhook deliveries."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from codequarry.shared.catalog.deliveries import Delivery, DeliveryResult, ProviderName


@dataclass(frozen=True)
class DeliveryStatus:
    """A webhook delivery and its result."""

    provider: ProviderName
    delivery_id: str
    event: str
    result: Annotated[
        DeliveryResult, Field(description="received means that handling the delivery failed; it may be sent again")
    ]
    reason: str | None
    repo: str | None
    ref: str | None
    commit: str | None
    job_id: str | None
    repeats: Annotated[int, Field(description="number of repeated deliveries, which have no effect")]
    received_at: str


@dataclass(frozen=True)
class ReceivedDelivery(DeliveryStatus):
    """The answer to a webhook."""

    repeated: Annotated[bool, Field(description="true if the delivery was handled before, and not again this time")]


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Webhook deliveries, latest first."""

    deliveries: tuple[DeliveryStatus, ...]


def delivery_status(delivery: Delivery) -> DeliveryStatus:
    """Return a delivery's entry in the delivery log."""
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
