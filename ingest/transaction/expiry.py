"""When a version that only searches asked for begins to age."""

from codequarry.ingest.request.index_request import VersionWish
from codequarry.ingest.transaction.bases import WORKSPACES
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.timestamps import now, seconds_since
from codequarry.shared.versions.head import Timeline
from codequarry.shared.versions.transactions import keep_version

# A version that is asked for again begins to age anew, but the head document is not written for that every time.
RENEWED_AFTER_SECONDS = 86_400.0


def aging_from(wish: VersionWish, key: str, current: Timeline | None) -> str:
    """Return the time (ISO 8601) from which a version's newest commit ages, or "" if it stays.

    ``current`` is the timeline that readers saw before. Default branches and working trees stay.
    """
    known = current.expiring_since if current else ""
    if not key or key.startswith(WORKSPACES) or wish == "lasting":
        return ""
    if wish == "once" and (current is None or known):
        return known if known and seconds_since(known) < RENEWED_AFTER_SECONDS else now("seconds")
    return known


def renew(store: DocumentStore, timeline: int, wish: VersionWish) -> None:
    """Apply a wish to a version that has nothing new."""
    state = read_head(store).timelines.get(timeline)
    if state is None or not state.expiring_since:
        return
    since = aging_from(wish, state.ref, state)
    if since != state.expiring_since:
        change_head(store, lambda head: (keep_version(head, timeline, since), None))
