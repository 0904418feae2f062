"""Every error a person or a caller can meet, and nothing else.

::

    CodequarryError              the command line prints it in one line and exits with 1
    ├── UsageError               the request itself is wrong: exit 2, HTTP 400
    │   ├── UnknownName          an unknown field, filter, setting or value; names it
    │   ├── AmbiguousCommit      a short commit that fits several; carries the candidates
    │   └── WrongState           what is asked for does not go together with how far things are: HTTP 409
    ├── NotIndexed               a repository or version that the index does not have: HTTP 404
    ├── NotReached               a commit did not come into the index in the time given: HTTP 504
    ├── Unauthorized             no key, or one that is not valid: HTTP 401
    ├── Forbidden                the key lacks a scope: HTTP 403
    ├── TooManyRequests          a rate or concurrency limit: HTTP 429
    ├── QueueUnavailable         the queue of jobs does not answer; what was asked for waits
    ├── IndexingOff              a request asks for indexing where nothing can do it: HTTP 501
    ├── LimitExceeded            --max-chunks, --max-tokens, a size limit; nothing was published
    ├── GitError                 clone, fetch or read of a repository failed
    │   └── NotAtOrigin          there is no such repository or version: trying again does not help
    ├── Stopped                  the run was cancelled; nothing was published
    ├── Interrupted              the process of the run is to end; the next one goes on where it was
    ├── FolderNotPrivate         others can read the data folder, or it is somebody else's
    ├── StoreError
    │   ├── StoreUnavailable     the engine does not answer: HTTP 503
    │   │   ├── StoreDamaged     what is stored has changed by itself; names what, and what mends it
    │   │   └── OldFormat        another release wrote the index; codequarry migrate --schema brings it up to date
    │   ├── StoreFull            no room left on the disk; nothing was published
    │   ├── WriteRejected        documents given up after retries, with their ids
    │   ├── Conflict             a compare-and-set lost; read again
    │   ├── LeaseHeld            another process is indexing this timeline
    │   ├── IndexMoved           the index has gone on in another edition; open it again
    │   └── ModelMismatch        the index was made with another model, dimension or chunker
    └── EmbeddingError           the embedding model failed
        ├── EmbedderUnavailable  it does not answer; searches go on lexically
        └── TextsRejected         it takes some texts and not others; with both, by index
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CodequarryError(Exception):
    """Base of all errors; its message says what to do next."""


class UsageError(CodequarryError):
    """The request itself is wrong."""


class UnknownName(UsageError):
    """A field, filter, setting or value that does not exist.

    ``where`` says where it was met, ``near`` what may have been meant; ``known`` lists all there is, where that is
    short enough to read.
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
    """A short commit that more than one commit begins with."""

    def __init__(self, short: str, candidates: Sequence[str]) -> None:
        super().__init__(f"commit '{short}' is ambiguous: {', '.join(candidates)}")
        self.candidates = tuple(candidates)


class WrongState(UsageError):
    """What is asked for does not go together with how far things are: a job that ended can't be cancelled."""


class NotIndexed(CodequarryError):
    """A repository or version that the index does not have."""


class NotReached(CodequarryError):
    """A commit that did not come into the index in the time given."""


class Unauthorized(CodequarryError):
    """No key was given, or one that is not valid."""


class Forbidden(CodequarryError):
    """The key does not allow this."""


class TooManyRequests(CodequarryError):
    """A rate or concurrency limit was reached; it is worth asking again after ``retry_after`` seconds."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class QueueUnavailable(CodequarryError):
    """The queue of jobs does not answer; jobs wait in the catalog until it does."""


class IndexingOff(CodequarryError):
    """A request asks for indexing where nothing can do it."""


class LimitExceeded(CodequarryError):
    """A limit that the caller set was reached; nothing was published."""


class GitError(CodequarryError):
    """A repository could not be cloned, fetched or read."""


class NotAtOrigin(GitError):
    """There is no such repository, or no such version of it."""


class Stopped(CodequarryError):
    """The run was told to stop; nothing was published."""


class Interrupted(CodequarryError):
    """The process of the run is to end; another one goes on where it was."""


class FolderNotPrivate(CodequarryError):
    """Others can read the data folder, or it belongs to somebody else; the message has the command that mends it."""


class StoreError(CodequarryError):
    """The store failed."""


class StoreUnavailable(StoreError):
    """The engine does not answer."""


class StoreDamaged(StoreUnavailable):
    """What is stored is not what was written: a checksum is wrong, or a file is missing or too short."""


class OldFormat(StoreUnavailable):
    """An older release wrote the index, and bringing it up to date takes too long to happen by the way."""


class StoreFull(StoreError):
    """No room is left on the disk."""


class WriteRejected(StoreError):
    """Documents that were given up after all retries; ``reasons`` maps row id to reason."""

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
    """The index was moved to another model while this process had the old edition open."""


class ModelMismatch(StoreError):
    """The index was made with another model, dimension or chunker."""


class EmbeddingError(CodequarryError):
    """The embedding model failed."""


class EmbedderUnavailable(EmbeddingError):
    """The embedding model does not answer."""


class TextsRejected(EmbeddingError):
    """Texts that the model does not take; ``reasons`` and the ``vectors`` of the others by index in the call."""

    def __init__(self, reasons: Mapping[int, str], vectors: "Mapping[int, NDArray[np.float32]] | None" = None) -> None:
        self.reasons, self.vectors = dict(sorted(reasons.items())), dict(vectors or {})
        shown = "; ".join(f"text {index}: {why}" for index, why in list(self.reasons.items())[:3])
        more = f" and {len(self.reasons) - 3} more" if len(self.reasons) > 3 else ""
        super().__init__(f"the embedding model refused {len(self.reasons)} texts ({shown}{more})")


# A list of URLs with the word before it, and the addresses that a server names by itself.
_URLS = re.compile(r"(?: at| from)?\s*\b[a-z][a-z0-9+.-]*://[^\s,;'\"()]+(?:, [a-z][a-z0-9+.-]*://[^\s,;'\"()]+)*")
_ADDRESSES = re.compile(r"\[?\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\]?|\[[0-9a-f:]*::?[0-9a-f:]+\](?::\d+)?", re.IGNORECASE)


def public(error: Exception) -> str:
    """Return the message of an error for a caller of the API; the operator's log has it with its addresses.

    Those of origins stay: callers name them.
    """
    message = str(error)
    if not isinstance(error, StoreError | EmbeddingError):
        return message
    return _ADDRESSES.sub("(an address)", _URLS.sub("", message)).strip()
