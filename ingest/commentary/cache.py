"""The answers of the model about a repository's chunks, kept in the catalog, so that each is paid for once."""

from collections.abc import Mapping

from codequarry.shared.catalog.documents import put_document
from codequarry.shared.store.port import DocumentStore

PREFIX = "commentary:"


class CommentaryCache:
    """The commentary of one repository, by key. All of it is read at first use: requests would cost more."""

    def __init__(self, store: DocumentStore, repo_id: str) -> None:
        self._store, self._prefix = store, f"{PREFIX}{repo_id}:"
        self._known: dict[str, str] | None = None

    def known(self) -> Mapping[str, str]:
        """Return the commentary by key; it is empty for a chunk that the server refuses."""
        return self._read()

    def _read(self) -> dict[str, str]:
        if self._known is None:
            documents = self._store.list_documents(self._prefix)
            self._known = {
                document.key.removeprefix(self._prefix): str(document.body["text"]) for document in documents
            }
        return self._known

    def add(self, found: Mapping[str, str]) -> None:
        """Keep new commentary."""
        known = self._read()
        for key, text in found.items():
            put_document(self._store, self._prefix + key, {"text": text})
        known.update(found)


def forget_commentary(store: DocumentStore, repo_id: str) -> None:
    """Delete what was said about a repository's chunks."""
    store.delete_documents(prefixes=[f"{PREFIX}{repo_id}:"])
