"""The documents that this process read last: one that did not change since is neither sent nor parsed again.

The head document is read by every search, and with thousands of branches has hundreds of kilobytes.
"""

from collections import OrderedDict
from threading import Lock

from codequarry.shared.store.records import Document

# The head, and the records of the versions that are asked for at one time.
_KEPT_DOCUMENTS = 64


class DocumentCache:
    """Documents by key, each with the place that it was read from; whoever takes one must check that it is still so."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[str, Document]] = OrderedDict()
        self._lock = Lock()

    def take(self, key: str) -> tuple[str, Document] | None:
        """Return a document as it was read last, and where."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def keep(self, document: Document, place: str = "") -> Document:
        """Remember a document, and return it."""
        with self._lock:
            self._kept[document.key] = place, document
            self._kept.move_to_end(document.key)
            if len(self._kept) > _KEPT_DOCUMENTS:
                self._kept.popitem(last=False)
        return document

    def drop(self, key: str) -> None:
        """Forget a document: it was changed."""
        with self._lock:
            self._kept.pop(key, None)
