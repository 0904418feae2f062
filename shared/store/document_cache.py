"""A cache of parsed documents: every search reads the head document, which can be hundreds of kilobytes long."""

from collections import OrderedDict
from threading import Lock

from codequarry.shared.store.records import Document

# Enough for the head and the records of the versions in use at any one time.
_KEPT_DOCUMENTS = 64


class DocumentCache:
    """The most recently used documents, each with where it was read; the caller must check that it is unchanged."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[str, Document]] = OrderedDict()
        self._lock = Lock()

    def take(self, key: str) -> tuple[str, Document] | None:
        """Return where a document was read and the document, or None if it is not cached."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def keep(self, document: Document, place: str = "") -> Document:
        """Cache a document and return it."""
        with self._lock:
            self._kept[document.key] = place, document
            self._kept.move_to_end(document.key)
            if len(self._kept) > _KEPT_DOCUMENTS:
                self._kept.popitem(last=False)
        return document

    def drop(self, key: str) -> None:
        """Drop a document that was changed."""
        with self._lock:
            self._kept.pop(key, None)
