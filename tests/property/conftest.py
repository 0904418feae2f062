"""A store that fails like a killed process at a chosen write."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pytest

from codequarry.shared.arrays import Vector
from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.model import ChunkRow, FileRecord
from codequarry.shared.store.port import Store
from codequarry.shared.store.records import Document


class DyingStore:
    """Passes every call on until its ``calls``-th write, and dies before, in the middle of or after that write.

    ``only`` limits the count to the writes of one method. After its death every call fails, as in a killed process: no
    clean-up, no progress, no heartbeat.
    """

    def __init__(self, store: Store, calls: int, when: str, only: str = "") -> None:
        self._store, self._left, self._when, self._only = store, calls, when, only
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        self._breathe()
        return getattr(self._store, name)

    def _breathe(self) -> None:
        if self.dead:
            raise StoreUnavailable("this process was killed")

    def _dies(self, method: str) -> bool:
        """Count a write and return whether it is the fatal one."""
        self._breathe()
        if self._only and method != self._only:
            return False
        self._left -= 1
        self.dead = self._left <= 0
        if self.dead and self._when == "before":
            self._breathe()
        return self.dead

    def write_document(self, key: str, body: Mapping[str, Any], version: str | None) -> Document:
        fatal = self._dies("write_document")
        document = self._store.write_document(key, body, version)
        if fatal:
            self._breathe()
        return document

    def delete_document(self, key: str, version: str | None = None) -> None:
        self._whole(self._store.delete_document, key, version)

    def delete_documents(self, keys: Collection[str] = (), prefixes: Collection[str] = ()) -> None:
        self._whole(self._store.delete_documents, keys, prefixes)

    def undo(self, timeline: int, number: int) -> None:
        self._whole(self._store.undo, timeline, number)

    def purge(self, timelines: Collection[int], *, thoroughly: bool = False) -> None:
        self._whole(self._store.purge, timelines, thoroughly=thoroughly)

    def cache_vectors(self, vectors: Mapping[str, Vector]) -> None:
        self._whole(self._store.cache_vectors, vectors)

    def create(self, rows: Sequence[ChunkRow], files: Sequence[FileRecord], vectors: Mapping[str, Vector]) -> None:
        """Die with half of the rows written and no record, as a store without transactions can."""
        if not self._dies("create"):
            self._store.create(rows, files, vectors)
            return
        self._store.create(rows[: len(rows) // 2] if self._when == "within" else rows, [], vectors)
        if self._when == "after":
            self._store.create([], files, {})
        self._breathe()

    def retire(self, timeline: int, number: int, paths: Collection[str], aborted: Collection[int]) -> int:
        """Die with half of the paths retired."""
        if not self._dies("retire"):
            return self._store.retire(timeline, number, paths, aborted)
        half = sorted(paths)[: len(paths) // 2] if self._when == "within" else paths
        self._store.retire(timeline, number, half, aborted)
        self._breathe()
        raise AssertionError

    def collect(self, timeline: int, after: int, until: int, aborted: Collection[int]) -> int:
        """Die with part of the due rows deleted."""
        if not self._dies("collect"):
            return self._store.collect(timeline, after, until, aborted)
        middle = (max(after, 0) + until) // 2 if self._when == "within" else until
        self._store.collect(timeline, after, middle, aborted)
        self._breathe()
        raise AssertionError

    def _whole(self, call: Callable[..., None], *arguments: Any, **options: Any) -> None:
        fatal = self._dies(call.__name__)
        call(*arguments, **options)
        if fatal:
            self._breathe()


@pytest.fixture
def make_dying_store() -> Callable[..., DyingStore]:
    """Return a function that wraps a store so that it dies ``before``, ``within`` or ``after`` its n-th write."""
    return DyingStore
