"""Commits that reached a limit; they are retried only on request, or after a change to the relevant settings."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from codequarry.shared.catalog.documents import put_document
from codequarry.shared.errors import Conflict, LimitExceeded
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore

FAILURE_PREFIX = "failed:"
# The settings that decide which files are indexed and what they may cost, but not processes, keys or addresses.
DECIDING: dict[str, Any] = {
    "indexing": {"max_paths", "listing_seconds", "process_memory_bytes"},
    "git": {"max_repository_bytes"},
    **dict.fromkeys(("scan", "secrets", "path_rules", "repositories", "repository_groups"), True),
}
FINGERPRINT_HEX = 16


class FailedBefore(LimitExceeded):
    """The commit failed before under the same settings, and no person requested this run."""


@dataclass(frozen=True, slots=True)
class FailedIndexing:
    """A version's commit that reached a limit; ``ref`` is the version's key, ``failed_at`` is ISO 8601 in UTC."""

    repo_id: str
    ref: str
    commit: str
    reason: str
    fingerprint: str
    failed_at: str

    @property
    def key(self) -> str:
        """The document key: only the newest failure of a version is kept."""
        return _key(self.repo_id, self.ref)

    @property
    def explained(self) -> str:
        """The reason that the commit is skipped, and how to have it retried."""
        return (
            f"commit {self.commit[:12]} failed before and is not retried unless the commit or the settings change, "
            f"or you run codequarry index or codequarry jobs retry: {self.reason}"
        )


def _key(repo_id: str, ref: str) -> str:
    return f"{FAILURE_PREFIX}{repo_id}\n{ref}"


def fingerprint(settings: SettingsModel) -> str:
    """Return a digest of Codequarry's version and of the settings that decide whether a commit can be indexed."""
    text = f"{version('codequarry')} {settings.model_dump_json(include=DECIDING)}"
    return sha256(text.encode()).hexdigest()[:FINGERPRINT_HEX]


def note_failure(
    store: DocumentStore, repo_id: str, ref: str, commit: str, reason: str, settings: SettingsModel
) -> None:
    """Record that a commit can't be indexed under these settings."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    failure = FailedIndexing(repo_id, ref, commit, reason, fingerprint(settings), at)
    put_document(store, failure.key, asdict(failure))


def known_failure(
    store: DocumentStore, repo_id: str, ref: str, commit: str, settings: SettingsModel
) -> FailedIndexing | None:
    """Return the failure of a commit that would fail again, or None if it may succeed."""
    document = store.read_document(_key(repo_id, ref)) if repo_id and commit else None
    found = document.decode(FailedIndexing) if document else None
    return found if found and (found.commit, found.fingerprint) == (commit, fingerprint(settings)) else None


def list_failures(store: DocumentStore, repo_id: str) -> list[FailedIndexing]:
    """Return the recorded failures of a repository."""
    return [document.decode(FailedIndexing) for document in store.list_documents(_key(repo_id, ""))] if repo_id else []


def forget_failure(store: DocumentStore, repo_id: str, ref: str) -> None:
    """Delete the failure of a version that has been indexed."""
    if document := store.read_document(_key(repo_id, ref)):
        try:
            store.delete_document(document.key, document.version)
        except Conflict:
            return  # another run has just failed


def forget_failures(store: DocumentStore, repo_id: str) -> None:
    """Delete the failures of a repository that is gone."""
    for failure in list_failures(store, repo_id):
        store.delete_document(failure.key)
