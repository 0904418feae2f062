"""One try at a commit: passed over if it failed before, and noted if it fails by its own fault."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from codequarry.ingest.request.index_request import IndexRequest, Workshop
from codequarry.ingest.request.wanted_version import Wanted
from codequarry.shared.catalog.failures import FailedBefore, known_failure, note_failure
from codequarry.shared.errors import LimitExceeded, public
from codequarry.shared.repositories.naming import find_repository


@dataclass(slots=True)
class Attempt:
    """A try at a version of a repository; what the commit is becomes known when it is fetched."""

    request: IndexRequest
    wanted: Wanted
    workshop: Workshop
    key: str
    commit: str

    @classmethod
    def of(cls, request: IndexRequest, wanted: Wanted, workshop: Workshop) -> Self:
        """Begin with the commit that somebody told of: the fetch itself may reach a limit."""
        attempt = cls(request, wanted, workshop, wanted.key, request.commit)
        attempt._check()
        return attempt

    def found(self, key: str, commit: str) -> None:
        """Take note of what was fetched; FailedBefore if it need not be read."""
        self.key, self.commit = key, commit
        self._check()

    def _check(self) -> None:
        if not self.request.skips_failed or self.wanted.known is None:
            return
        store, settings = self.workshop.store, self.workshop.settings
        if before := known_failure(store, self.wanted.known.id, self.key, self.commit, settings):
            raise FailedBefore(before.explained)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note that the commit can't be indexed, if a limit of the settings ends the block."""
        try:
            yield
        except FailedBefore:
            raise
        except LimitExceeded as error:
            self._note(public(error))
            raise

    def _note(self, reason: str) -> None:
        request, store, settings = self.request, self.workshop.store, self.workshop.settings
        own_limits = request.max_chunks is not None or request.max_tokens is not None
        repository = find_repository(store, self.wanted.origin, request.name)
        if repository and self.commit and not own_limits:
            note_failure(store, repository.id, self.key, self.commit, reason, settings)
