"""The polling state of each repository, stored as a catalog document."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace

from codequarry.shared.catalog.documents import write_settled
from codequarry.shared.errors import Conflict
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.store.records import Document
from codequarry.shared.timestamps import from_now, now

POLL_PREFIX = "poll:"
# The time of the last webhook is written at most this often: a hundred pushes in a second need only one write.
HOOKED_MINUTES = 5.0


@dataclass(frozen=True, slots=True)
class Poll:
    """The polling state of a repository; times are ISO 8601 in UTC, or "" before the first event.

    ``asked_for`` has the commits of the last submitted jobs, by version key: a failed job is not submitted again until
    there is a newer commit. Consecutive ``failures`` lengthen the pauses. ``hooked_at`` is the time of the last
    webhook. ``repo_id`` is the repository's id, or "" if only a webhook was recorded.
    """

    repo: str
    next_at: str = ""
    asked_for: Mapping[str, str] = field(default_factory=dict)
    failures: int = 0
    error: str = ""
    hooked_at: str = ""
    repo_id: str = ""


def read_poll(store: DocumentStore, repo: str) -> Poll:
    """Return the polling state of a repository."""
    return _of(store.read_document(POLL_PREFIX + repo), repo)


def list_polls(store: DocumentStore) -> dict[str, Poll]:
    """Return the polling state of each repository, by name."""
    found = (_of(document, "") for document in store.list_documents(POLL_PREFIX))
    return {poll.repo: poll for poll in found}


def change_poll(store: DocumentStore, repo: str, change: Callable[[Poll], Poll | None]) -> Poll | None:
    """Change a repository's polling state and return it; if ``change`` returns None, change nothing and return None."""
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
    """Record a webhook for a repository, which then needs to be polled less often."""
    recent = from_now(-60 * HOOKED_MINUTES)
    change_poll(store, repo, lambda poll: None if poll.hooked_at > recent else replace(poll, hooked_at=now()))


def forget_poll(store: DocumentStore, repo: str) -> None:
    """Delete the polling state of a repository that is gone."""
    store.delete_document(POLL_PREFIX + repo)


def _of(document: Document | None, repo: str) -> Poll:
    return document.decode(Poll) if document else Poll(repo)
