"""Webhook deliveries, each stored as a catalog document: both the log and the guard against replay."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from codequarry.shared.catalog.documents import put_document, write_settled
from codequarry.shared.errors import Conflict
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.timestamps import now, seconds_since

DELIVERY_PREFIX = "delivery:"
# A key is a document id, whose length is limited (512 bytes in OpenSearch); a delivery id comes from a header.
MAX_ID_CHARACTERS = 100
DAY_SECONDS = 86_400.0

ProviderName = Literal["github", "gitlab", "gitea", "generic"]
DeliveryResult = Literal["received", "accepted", "ignored"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery and its result; ``repeats`` is how often it was repeated without effect.

    A delivery that stays ``received`` could not be handled (``reason`` says why) and may be sent again. ``ref`` is a
    version's key, or "" for the default branch. ``digest`` is the body's digest if only the body was signed, since such
    a body could be replayed under any id. ``repo_id`` is the id of ``repo``. Times are ISO 8601 in UTC.
    """

    provider: ProviderName
    id: str
    received_at: str
    event: str = ""
    result: DeliveryResult = "received"
    repo: str = ""
    ref: str = ""
    commit: str = ""
    job: str = ""
    reason: str = ""
    repeats: int = 0
    digest: str = ""
    repo_id: str = ""

    @property
    def key(self) -> str:
        """The document key, made from the signed part."""
        return f"{DELIVERY_PREFIX}{self.provider}\n{self.digest or self.id}"


def new_delivery(provider: ProviderName, delivery_id: str, digest: str = "") -> Delivery:
    """Return a new delivery, received now."""
    return Delivery(provider, delivery_id, now(), digest=digest)


def begin_delivery(store: DocumentStore, delivery: Delivery, is_done: Callable[[Delivery], bool]) -> Delivery | None:
    """Record a delivery; return the earlier record of the same delivery if it ``is_done``, else None."""
    while True:
        try:
            write_settled(store, delivery.key, asdict(delivery), None)
        except Conflict:
            document = store.read_document(delivery.key)
            if document is None:
                continue
            known = _read(document.body)
            if known.result == "received" or not is_done(known):
                return None  # the first attempt did not finish, or the delivery means something new
            return _counted(store, known, document.version)
        return None


def is_newest(store: DocumentStore, known: Delivery) -> bool:
    """Return whether no later delivery concerned the same version."""
    same = (each for each in list_deliveries(store) if (each.repo, each.ref) == (known.repo, known.ref))
    return not any(delivery.received_at > known.received_at for delivery in same)


def _counted(store: DocumentStore, known: Delivery, version: str) -> Delivery:
    repeated = replace(known, repeats=known.repeats + 1)
    try:
        write_settled(store, known.key, asdict(repeated), version)
    except Conflict:
        return known  # the log may miss a repeat
    return repeated


def end_delivery(store: DocumentStore, delivery: Delivery) -> None:
    """Record the result of a delivery."""
    put_document(store, delivery.key, asdict(delivery))


def list_deliveries(store: DocumentStore) -> list[Delivery]:
    """Return the kept deliveries, latest first."""
    found = [_read(document.body) for document in store.list_documents(DELIVERY_PREFIX)]
    return sorted(found, key=lambda delivery: delivery.received_at, reverse=True)


def tidy_deliveries(store: DocumentStore, most: int, days: float, least_seconds: float) -> int:
    """Delete the deliveries beyond the ``most`` latest and those older than ``days``; return their number.

    ``most`` does not apply to deliveries younger than ``least_seconds``, whose signature is still valid for a replay.
    """
    forgotten = []
    for position, delivery in enumerate(list_deliveries(store)):
        age = seconds_since(delivery.received_at)
        if age > days * DAY_SECONDS or (position >= most and age > least_seconds):
            forgotten.append(delivery)
    for delivery in forgotten:
        store.delete_document(delivery.key)
    return len(forgotten)


def _read(body: Mapping[str, Any]) -> Delivery:
    return Delivery(**body)
