"""What code hosts told the service, each delivery a document of the catalog: the log, and the guard against replay."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from codequarry.shared.catalog.documents import put_document, write_settled
from codequarry.shared.errors import Conflict
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.timestamps import now, seconds_since

DELIVERY_PREFIX = "delivery:"
# A key is a document id, and these have a limit in bytes (512 in OpenSearch); an id is what a header held.
MAX_ID_CHARACTERS = 100
DAY_SECONDS = 86_400.0

ProviderName = Literal["github", "gitlab", "gitea", "generic"]
DeliveryResult = Literal["received", "accepted", "ignored"]


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery and what came of it; ``repeats`` counts how often it came again and began nothing.

    One that stays ``received`` could not be dealt with, ``reason`` says why; the same one may come again. ``ref`` is
    the key of a version, "" the default branch. ``digest`` is of its body, where only that was signed: whoever has seen
    one could send it again under any id. ``repo_id`` is the id of ``repo``. Times are ISO 8601 in UTC.
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
        """The document key: by what was signed of it."""
        return f"{DELIVERY_PREFIX}{self.provider}\n{self.digest or self.id}"


def new_delivery(provider: ProviderName, delivery_id: str, digest: str = "") -> Delivery:
    """Return a delivery that came just now."""
    return Delivery(provider, delivery_id, now(), digest=digest)


def begin_delivery(store: DocumentStore, delivery: Delivery, is_done: Callable[[Delivery], bool]) -> Delivery | None:
    """Write that a delivery came; return what is known of the same one that came before, if that ``is_done``."""
    while True:
        try:
            write_settled(store, delivery.key, asdict(delivery), None)
        except Conflict:
            document = store.read_document(delivery.key)
            if document is None:
                continue
            known = _read(document.body)
            if known.result == "received" or not is_done(known):
                return None  # whoever had it could not finish, or it means something new
            return _counted(store, known, document.version)
        return None


def is_newest(store: DocumentStore, known: Delivery) -> bool:
    """Tell whether nothing that came later was about the same version."""
    return not any(
        (one.repo, one.ref) == (known.repo, known.ref) and one.received_at > known.received_at
        for one in list_deliveries(store)
    )


def _counted(store: DocumentStore, known: Delivery, version: str) -> Delivery:
    repeated = replace(known, repeats=known.repeats + 1)
    try:
        write_settled(store, known.key, asdict(repeated), version)
    except Conflict:
        return known  # one repetition more or less in the log
    return repeated


def end_delivery(store: DocumentStore, delivery: Delivery) -> None:
    """Write what came of a delivery."""
    put_document(store, delivery.key, asdict(delivery))


def list_deliveries(store: DocumentStore) -> list[Delivery]:
    """Return the deliveries that are kept, the latest first."""
    found = [_read(document.body) for document in store.list_documents(DELIVERY_PREFIX)]
    return sorted(found, key=lambda one: one.received_at, reverse=True)


def tidy_deliveries(store: DocumentStore, most: int, days: float, least_seconds: float) -> int:
    """Forget the deliveries beyond the ``most`` latest, and those that are older than ``days``; return how many.

    However many there are, none goes before ``least_seconds``: as long as its signature is good, it may come again.
    """
    forgotten = []
    for position, one in enumerate(list_deliveries(store)):
        age = seconds_since(one.received_at)
        if age > days * DAY_SECONDS or (position >= most and age > least_seconds):
            forgotten.append(one)
    for one in forgotten:
        store.delete_document(one.key)
    return len(forgotten)


def _read(body: Mapping[str, Any]) -> Delivery:
    return Delivery(**body)
