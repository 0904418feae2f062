"""What a run is asked for, and what it says when it ends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from codequarry.shared.catalog.repositories import Progress
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import Store
from codequarry.shared.versions.refs import Ref

TransactionKind = Literal["default", "overlay", "full", "gone"]
ObserveRun = Callable[[Progress], None]
CallHelpers = Callable[[int, int, int], None]
"""Ask other processes to take part in writing a transaction: its timeline, its number, how many of them can."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a run works with; without ``call_helpers`` it works alone."""

    store: Store
    embedder: Embedder
    settings: SettingsModel
    call_helpers: CallHelpers | None = None


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """Which version of which repository to index: ``origin`` is a path or URL, ``ref`` None its default branch.

    ``default`` makes the branch of ``ref`` the repository's default one, as the first branch that is indexed is; not
    ``beside``, where the branch that the origin's HEAD names is indexed first.
    ``full`` starts over beside what is there. More than ``max_chunks`` chunks or ``max_tokens`` tokens to embed stop
    the run with LimitExceeded, and nothing is published. ``forced`` paths are written anew although nothing about them
    has changed: something is wrong with them (``codequarry fsck --repair``). A repository that is new and was named by
    somebody else's request is ``guarded`` (``git/guard.py``). ``seen_at`` (ISO 8601) is when somebody told that there
    is something new, where that was before the fetch, and ``commit`` what they told of. A commit that failed before is
    ``skips_failed`` with FailedBefore, as nobody asks for it by hand.
    """

    origin: str
    ref: Ref | None = None
    name: str | None = None
    full: bool = False
    max_chunks: int | None = None
    max_tokens: int | None = None
    default: bool = False
    forced: frozenset[str] = frozenset()
    guarded: bool = False
    seen_at: str = ""
    beside: bool = False
    commit: str = ""
    skips_failed: bool = False


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a run found and did.

    ``files_indexed``, ``skipped`` and ``chunks_live`` tell what the published commit holds; ``files_changed``,
    ``files_removed``, ``chunks_written``, ``embedded``, ``reused_embeddings`` and ``tokens`` what this run did for it.
    ``changed`` is False where commit and files were already published. ``name_note`` says why the repository is not
    called as one would expect.

    ``key`` is what the index calls a version, empty for the default branch. An ``overlay`` lies over ``base_commit`` of
    the version ``base_ref`` and differs from it in ``base_paths`` paths; it hides ``mask`` paths of it. A version is
    ``full`` where it differs in too much, and ``gone`` where the origin has it no more: then it was dropped, as were
    the versions in ``dropped``. ``default_branch`` is the report of the run that had to come first, because the
    repository was not indexed yet.

    ``masked`` counts the secrets of the published commit by rule, in ``masked_files`` files. Where they
    were not masked before, the other versions in ``masked_anew`` were indexed anew too, those in ``unmasked`` could
    not be, and ``given_up`` older commits were given up; ``erased`` is False until their rows are gone from the disk.
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
    kind: TransactionKind = "default"
    key: str = ""
    base_ref: str = ""
    base_commit: str = ""
    base_paths: int = 0
    mask: int = 0
    dropped: tuple[str, ...] = ()
    masked_files: int = 0
    masked: Mapping[str, int] = field(default_factory=dict)
    masked_anew: tuple[str, ...] = ()
    unmasked: tuple[str, ...] = ()
    given_up: int = 0
    erased: bool = True
    default_branch: "IndexReport | None" = None


def ignore(_: Progress) -> None:
    """Observe nothing."""
