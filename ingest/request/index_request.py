"""The request for an index run, and the run's report."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from codequarry.shared.catalog.repositories import Progress
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import Store
from codequarry.shared.versions.refs import Ref

TransactionKind = Literal["default", "overlay", "full", "gone"]
VersionWish = Literal["lasting", "once", "unchanged"]
ObserveRun = Callable[[Progress], None]
CallHelpers = Callable[[int, int, int], None]
"""Asks other processes to help write a transaction, given timeline, transaction number and the most helpers needed."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a run works with; without ``call_helpers`` no other process helps."""

    store: Store
    embedder: Embedder
    settings: SettingsModel
    call_helpers: CallHelpers | None = None


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """Which version of a repository to index: ``origin`` is a path or URL, ``ref`` None means the default branch.

    ``default`` makes the branch of ``ref`` the repository's default branch. The first branch of a new repository
    becomes the default anyway, unless ``beside`` is set: then the origin's own default branch is indexed first.
    ``full`` starts over beside the published version. A run that must embed more than ``max_chunks`` chunks or
    ``max_tokens`` tokens raises LimitExceeded and publishes nothing. ``forced`` paths are rewritten even if unchanged,
    because they are damaged (``codequarry fsck --repair``). ``guarded`` marks a new repository that a client's request
    named (``ingest/git/address_guard.py``). If a change was reported before the fetch, ``seen_at`` (ISO 8601) is the
    time of the report and ``commit`` the commit that it named. ``skips_failed`` raises FailedBefore
    for a commit that failed before; it is set if no person asked for the run. A version that only searches asked for
    (``wish`` "once") expires like the commits of a branch, unless a person asks for it (``wish`` "lasting"). With
    ``checked_out``, a request without ``ref`` means what is checked out in the origin's working tree, if it has one.
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
    wish: VersionWish = "lasting"
    checked_out: bool = False


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a run found and did.

    ``files_indexed``, ``skipped`` and ``chunks_live`` describe the published commit; ``files_changed``,
    ``files_removed``, ``chunks_written``, ``embedded``, ``reused_embeddings`` and ``tokens`` describe the run.
    ``changed`` is False if the commit and its files were already published. ``name_note`` explains an unexpected name.

    ``key`` is the version's key in timelines, empty for the default branch. An ``overlay`` lies over ``base_commit`` of
    the version ``base_ref``, differs from it in ``base_paths`` paths and hides ``mask`` of its paths. A version that
    differs too much is ``full``. A version that the origin no longer has is ``gone``: it was dropped, as were the
    versions in ``dropped``. ``default_branch`` is the report of the run that had to index the default branch first, and
    ``former_default`` that of the run that indexed the former default branch as a branch.

    ``masked`` counts the secrets of the published commit by rule, in ``masked_files`` files. If they were not masked
    before, the versions in ``masked_anew`` were indexed again too, the versions in ``unmasked`` could not be, and
    ``given_up`` older commits were dropped; ``erased`` is False until their rows are gone from the disk.

    ``warnings`` name lines of the repository's own ignore and allow files that have no effect, and say what of its
    history could not be read. ``replaced_default`` is the branch that this run replaced as the default branch, if any.
    ``version_note`` explains that, or why a version other than the default branch was indexed although the request
    named none.

    ``commentary_made`` counts the chunks that a language model described, ``commentary_reused`` those described before,
    ``commentary_missing`` those that the next run must describe, ``commentary_tokens`` what the model read and wrote.

    ``log_commits`` is how many commits the run added to what searches for commits find, and ``log_diffs`` how many
    changed files of them; ``log_embedded``, ``log_reused`` and ``log_tokens`` are what these needed.
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
    warnings: tuple[str, ...] = ()
    log_commits: int = 0
    log_diffs: int = 0
    log_embedded: int = 0
    log_reused: int = 0
    log_tokens: int = 0
    commentary_made: int = 0
    commentary_reused: int = 0
    commentary_missing: int = 0
    commentary_tokens: int = 0
    version_note: str = ""
    replaced_default: str = ""
    default_branch: "IndexReport | None" = None
    former_default: "IndexReport | None" = None


def ignore(_: Progress) -> None:
    """Ignore the progress."""
