"""What a run is asked for, and what it says when it ends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from codequarry.shared.config import SettingsModel
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.refs import Ref
from codequarry.shared.repositories import Progress
from codequarry.shared.store.port import Store

Observe = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a run works with."""

    store: Store
    embedder: Embedder
    settings: SettingsModel


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """Which repository to index: ``origin`` is a path or URL, ``branch`` None follows the origin's HEAD.

    ``full`` starts over beside what is there. More than ``max_chunks`` chunks or ``max_tokens`` tokens to embed stop
    the run with LimitExceeded, and nothing is published.
    """

    origin: str
    branch: str | None = None
    name: str | None = None
    full: bool = False
    max_chunks: int | None = None
    max_tokens: int | None = None
    ref: Ref | None = None


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a run found and did.

    ``files_indexed``, ``skipped`` and ``chunks_live`` tell what the published commit holds; ``files_changed``,
    ``files_removed``, ``chunks_written``, ``embedded``, ``reused_embeddings`` and ``tokens`` what this run did for it.
    ``changed`` is False where commit and files were already published. ``name_note`` says why the repository is not
    called as one would expect.
    """

    repo: str
    ref: str
    commit: str
    previous_commit: str
    changed: bool
    files_indexed: int
    files_changed: int
    files_removed: int
    skipped: Mapping[str, int]
    chunks_written: int
    chunks_live: int
    embedded: int
    reused_embeddings: int
    tokens: int
    seconds: float
    resumed: bool = False
    full: bool = False
    name_note: str = ""


def ignore(_: Progress) -> None:
    """Observe nothing."""
