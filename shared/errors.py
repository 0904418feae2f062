"""The exceptions of Codequarry.

::

    CodequarryError              the command line prints the message and exits with 1
    ├── UsageError               the request is invalid: exit 2, HTTP 400
    │   ├── UnknownName          an unknown field, filter, setting or value
    │   ├── AmbiguousCommit      a short hash matches several commits; carries the candidates
    │   └── WrongState           the current state does not allow the request: HTTP 409
    ├── NotIndexed               the repository or version is not in the index: HTTP 404
    ├── NotReached               a commit was not indexed within the time allowed: HTTP 504
    ├── Unauthorized             no key, or an invalid key: HTTP 401
    ├── Forbidden                the key lacks a scope: HTTP 403
    ├── TooManyRequests          a rate or concurrency limit was reached: HTTP 429
    ├── QueueUnavailable         the job queue does not answer; jobs wait in the catalog
    ├── IndexingOff              the service was asked to index but is not set up for it: HTTP 501
    ├── LimitExceeded            --max-chunks, --max-tokens or a size limit; nothing was published
    ├── GitError                 cloning, fetching or reading a repository failed
    │   └── NotAtOrigin          the repository or version does not exist there; retrying does not help
    ├── Stopped                  the run was cancelled; nothing was published
    ├── Interrupted              the process of the run must exit; another process resumes the run
    ├── FolderNotPrivate         other users can read the data folder, or another user owns it
    ├── StoreError               the store failed
    │   ├── StoreUnavailable     the engine does not answer: HTTP 503
    │   │   ├── StoreDamaged     stored data is corrupt; the message says what, and how to repair it
    │   │   └── OldFormat        another release wrote the index; run codequarry migrate --schema
    │   ├── StoreFull            the disk is full; nothing was published
    │   ├── WriteRejected        documents were dropped after all retries; carries their ids
    │   ├── Conflict             a compare-and-set failed; read again
    │   ├── LeaseHeld            another process is indexing this timeline
    │   ├── IndexMoved           the index moved to another edition; open it again
    │   └── ModelMismatch        the index was made with a different model, dimension or chunker
    └── EmbeddingError           the embedding model failed
        ├── EmbedderUnavailable  the model does not answer; searches use words only
        └── TextsRejected         the model refused some texts; carries reasons and vectors by index
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CodequarryError(Exception):
    """The base class; the message says what to do next."""


class UsageError(CodequarryError):
    """The request is invalid."""


class UnknownName(UsageError):
    """A field, filter, setting or value that does not exist.

    ``where`` says where the name was given, ``near`` lists similar names, and ``known`` all names if there are few.
    """

    def __init__(
        self, kind: str, name: str, known: Sequence[str] = (), *, where: str = "", near: Sequence[str] = ()
    ) -> None:
        place = f" in {where}" if where else ""
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        listed = f"; known: {', '.join(known)}" if known else ""
        super().__init__(f"unknown {kind} '{name}'{place}{meant}{listed}")
        self.kind, self.name, self.known = kind, name, tuple(known)


class AmbiguousCommit(UsageError):
    """A short hash that matches several commits."""

    def __init__(self, short: str, candidates: Sequence[str]) -> None:
        super().__init__(f"commit '{short}' is ambiguous: {', '.join(candidates)}")
        self.candidates = tuple(candidates)


class WrongState(UsageError):
    """The current state does not allow the request; for example, a finished job cannot be cancelled."""


class NotIndexed(CodequarryError):
    """The index does not have the repository or version."""


class NotReached(CodequarryError):
    """A commit was not indexed within the time allowed."""


class Unauthorized(CodequarryError):
    """No key was given, or the key is invalid."""


class Forbidden(CodequarryError):
    """The key does not allow this."""


class TooManyRequests(CodequarryError):
    """A rate or concurrency limit was reached; retry after ``retry_after`` seconds."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class QueueUnavailable(CodequarryError):
    """The job queue does not answer; jobs wait in the catalog until it does."""


class IndexingOff(CodequarryError):
    """The service was asked to index but is not set up for it."""


class LimitExceeded(CodequarryError):
    """A limit was exceeded; nothing was published."""


class GitError(CodequarryError):
    """A repository could not be cloned, fetched or read."""


class NotAtOrigin(GitError):
    """The repository or version does not exist at its origin."""


class Stopped(CodequarryError):
    """The run was cancelled; nothing was published."""


class Interrupted(CodequarryError):
    """The process of the run must exit; another process resumes the run."""


class FolderNotPrivate(CodequarryError):
    """Other users can read the data folder, or another user owns it; the message gives the command to fix this."""


class StoreError(CodequarryError):
    """The store failed."""


class StoreUnavailable(StoreError):
    """The engine does not answer."""


class StoreDamaged(StoreUnavailable):
    """Stored data is corrupt: a checksum does not match, or a file is missing or truncated."""


class OldFormat(StoreUnavailable):
    """An older release wrote the index, and the upgrade takes too long to run when the index is opened."""


class StoreFull(StoreError):
    """The disk is full."""


class WriteRejected(StoreError):
    """Documents were dropped after all retries; ``reasons`` maps row id to reason."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        self.reasons = dict(reasons)
        shown = "; ".join(f"{row}: {why}" for row, why in list(self.reasons.items())[:5])
        more = f" and {len(self.reasons) - 5} more" if len(self.reasons) > 5 else ""
        super().__init__(f"{len(self.reasons)} documents were not written ({shown}{more})")


class Conflict(StoreError):
    """A document changed since it was read."""


class LeaseHeld(StoreError):
    """Another process is indexing this timeline."""


class IndexMoved(StoreError):
    """The index moved to another edition while this process had the old edition open."""


class ModelMismatch(StoreError):
    """The index was made with a different model, dimension or chunker."""


class EmbeddingError(CodequarryError):
    """The embedding model failed."""


class EmbedderUnavailable(EmbeddingError):
    """The embedding model does not answer."""


class TextsRejected(EmbeddingError):
    """The model refused some texts; ``reasons``, and ``vectors`` of the other texts, are keyed by index in the call."""

    def __init__(self, reasons: Mapping[int, str], vectors: "Mapping[int, NDArray[np.float32]] | None" = None) -> None:
        self.reasons, self.vectors = dict(sorted(reasons.items())), dict(vectors or {})
        shown = "; ".join(f"text {index}: {why}" for index, why in list(self.reasons.items())[:3])
        more = f" and {len(self.reasons) - 3} more" if len(self.reasons) > 3 else ""
        super().__init__(f"the embedding model refused {len(self.reasons)} texts ({shown}{more})")


# A list of URLs with the preposition before it, and IP addresses in a server's messages.
_URLS = re.compile(r"(?: at| from)?\s*\b[a-z][a-z0-9+.-]*://[^\s,;'\"()]+(?:, [a-z][a-z0-9+.-]*://[^\s,;'\"()]+)*")
_ADDRESSES = re.compile(r"\[?\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\]?|\[[0-9a-f:]*::?[0-9a-f:]+\](?::\d+)?", re.IGNORECASE)


def public(error: Exception) -> str:
    """Return an error's message for API clients, without the addresses of stores and models but with those of origins.

    The operator's log has the full message.
    """
    message = str(error)
    if not isinstance(error, StoreError | EmbeddingError):
        return message
    return _ADDRESSES.sub("(an address)", _URLS.sub("", message)).strip()
