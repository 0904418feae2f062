"""Bulk writes: only items that failed temporarily are sent again; every other failure is reported."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import stamina
from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.exceptions import TransportError
from opensearchpy.helpers import streaming_bulk

from codequarry.shared.errors import StoreFull, WriteRejected
from codequarry.shared.store.opensearch.connection import PASSING_STATUSES, ClusterConnection, is_disk_full, reason_of
from codequarry.shared.store.opensearch.rows import document_id

# Documents per request; its size in bytes is limited by a setting.
BULK_ACTIONS = 500
# The document already exists (rule 2): rows are never overwritten, and a task delivered twice finds its work done.
EXISTS = 409


@dataclass(frozen=True, slots=True)
class BulkItem:
    """A document to create; ``name`` identifies it in errors, and is also its id unless the name is too long."""

    index: str
    name: str
    source: dict[str, Any]
    routing: str | None = None

    def action(self) -> dict[str, Any]:
        """Return the item in the form that the client library expects."""
        routing = {} if self.routing is None else {"_routing": self.routing}
        return {
            "_op_type": "create",
            "_index": self.index,
            "_id": document_id(self.name),
            **routing,
            "_source": self.source,
        }


@dataclass(frozen=True, slots=True)
class BulkFailure:
    """The reason why an item was not written in one attempt."""

    item: BulkItem
    status: int | str
    reason: str
    exception: TransportError | None

    @property
    def is_passing(self) -> bool:
        """Whether a retry may succeed."""
        return self.status in PASSING_STATUSES or isinstance(self.exception, NoConnection)


class _ItemsFailed(Exception):
    """Some items failed for a temporary reason."""


def create_all(connection: ClusterConnection, items: Sequence[BulkItem]) -> dict[str, str]:
    """Create documents, and return the refused names, each with the reason.

    Raise StoreUnavailable if the server still does not answer after all retries, StoreFull if its disk is full.
    """
    retries = connection.retries
    rejected: dict[str, str] = {}
    pending, left = list(items), [BulkFailure(item, "N/A", "not sent", None) for item in items]
    try:
        for attempt in stamina.retry_context(
            on=_ItemsFailed,
            attempts=retries.most + 1,
            timeout=None,
            wait_initial=retries.first_wait,
            wait_max=retries.longest_wait,
        ):
            with attempt:
                failures = list(_send(connection, pending))
                rejected |= {failure.item.name: failure.reason for failure in failures if not failure.is_passing}
                left = [failure for failure in failures if failure.is_passing]
                pending = [failure.item for failure in left]
                if pending:
                    raise _ItemsFailed
    except _ItemsFailed:
        for failure in left:
            if failure.exception is not None:
                raise connection.error(failure.exception) from failure.exception
        rejected |= {failure.item.name: f"{failure.reason} (after {retries.most} retries)" for failure in left}
    return rejected


def raise_if_rejected(rejected: dict[str, str]) -> None:
    """Raise WriteRejected unless ``rejected`` is empty."""
    if rejected:
        raise WriteRejected(rejected)


def _send(connection: ClusterConnection, items: Iterable[BulkItem]) -> Iterator[BulkFailure]:
    """Send items once, and yield the failures in order."""
    sent = list(items)
    answers = streaming_bulk(
        connection.client,
        (item.action() for item in sent),
        chunk_size=BULK_ACTIONS,
        max_chunk_bytes=connection.settings.bulk_bytes,
        raise_on_error=False,
        raise_on_exception=False,
        # Otherwise a write to a lost alias would create an index with guessed fields.
        params={"require_alias": "true"},
    )
    for item, (succeeded, answer) in zip(sent, answers, strict=True):
        result = answer["create"]
        if not succeeded and result["status"] != EXISTS:
            yield _failure(item, result)


def _failure(item: BulkItem, result: dict[str, Any]) -> BulkFailure:
    exception = result.get("exception")
    body = exception.info if exception is not None and not isinstance(exception, NoConnection) else result.get("error")
    reason = reason_of(body) or str(result.get("error"))
    if is_disk_full(reason):
        raise StoreFull(f"OpenSearch has no room left on disk, so nothing was published; free some space ({reason})")
    return BulkFailure(item, result["status"], reason, exception)
