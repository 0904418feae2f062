"""When the origin of each repository is to be asked next, each a document of the catalog."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace

from codequarry.shared.catalog.documents import write_settled
from codequarry.shared.errors import Conflict
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.store.records import Document
from codequarry.shared.timestamps import from_now, now

POLL_PREFIX = "poll:"
# A note that a webhook was heard of is written this seldom: one of a hundred pushes in a second is enough.
HOOKED_MINUTES = 5.0


@dataclass(frozen=True, slots=True)
class Poll:
    """How a repository is polled; times are ISO 8601 in UTC, "" before the first.

    ``asked_for`` are the commits that jobs were last asked for, by the key of their version: a job that failed is not
    asked for again until there is something newer. ``failures`` in a row make the pauses longer. ``hooked_at`` is when
    a webhook last spoke of the repository. ``repo_id`` is the repository's id, "" where only a webhook was noted.
    """

    repo: str
    next_at: str = ""
    asked_for: Mapping[str, str] = field(default_factory=dict)
    failures: int = 0
    error: str = ""
    hooked_at: str = ""
    repo_id: str = ""


def read_poll(store: DocumentStore, repo: str) -> Poll:
    """Return how a repository is polled."""
    return _of(store.read_document(POLL_PREFIX + repo), repo)


def list_polls(store: DocumentStore) -> dict[str, Poll]:
    """Return how each repository is polled, by its name."""
    found = (_of(document, "") for document in store.list_documents(POLL_PREFIX))
    return {poll.repo: poll for poll in found}


def change_poll(store: DocumentStore, repo: str, change: Callable[[Poll], Poll | None]) -> Poll | None:
    """Change how a repository is polled and return that; None, and no change, where ``change`` says so."""
    while True:
        document = store.read_document(POLL_PREFIX + repo)
        changed = change(_of(document, repo))
        if changed is None:
            return None
        try:
            write_settled(store, POLL_PREFIX + repo, asdict(changed), document.version if document else None)
        except Conflict:
            continue
        return changed


def note_webhook(store: DocumentStore, repo: str) -> None:
    """Note that a webhook spoke of a repository: then it need not be polled as often."""
    recent = from_now(-60 * HOOKED_MINUTES)
    change_poll(store, repo, lambda poll: None if poll.hooked_at > recent else replace(poll, hooked_at=now()))


def forget_poll(store: DocumentStore, repo: str) -> None:
    """Forget a repository that is gone."""
    store.delete_document(POLL_PREFIX + repo)


def _of(document: Document | None, repo: str) -> Poll:
    return document.decode(Poll) if document else Poll(repo)
