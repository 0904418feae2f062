"""Looks into the folders of repositories on this machine for commits that are not indexed yet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from time import monotonic

from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.origins import read_origin
from codequarry.shared.repositories.local_refs import LocalTip, local_tip
from codequarry.shared.repositories.mirror_folders import mirror_folder
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.timestamps import now
from codequarry.shared.versions.refs import Ref

# Maximum age of a cached look. A look takes a fraction of a millisecond, so a client sees its own commit soon.
MAX_AGE_SECONDS = 1.0
MAX_KEPT = 4096
# A disk that takes longer, such as a network drive that went away, must not delay the answers.
PATIENCE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class SeenTip:
    """The newest commit of a version, None if its repository does not have it, and when this was seen."""

    commit: str | None
    seen_at: str


class LocalHeads:
    """Reads the newest commits of versions whose origin is a folder on this machine; thread-safe."""

    def __init__(
        self,
        settings: SettingsModel,
        clock: Callable[[], float] = monotonic,
        read: Callable[[Path, Ref, str, Sequence[Path] | None], LocalTip | None] = local_tip,
    ) -> None:
        """Look only into folders of which ``settings.home`` has a mirror.

        Another machine that uses the same index may have a different repository at the same path.
        """
        self._home, self._roots = settings.home, settings.api.local_roots
        self._clock, self._read = clock, read
        self._lock = Lock()
        self._kept: dict[tuple[str, str, str, str], tuple[float, SeenTip | None]] = {}
        self._waiting: Thread | None = None

    def tip(self, repository: Repository, ref: Ref, indexed: str) -> SeenTip | None:
        """Return the newest commit of a version whose newest indexed commit is ``indexed``, or None if unknown."""
        key = (repository.id, repository.origin, ref.key, indexed)
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and self._clock() - kept[0] <= MAX_AGE_SECONDS:
            return kept[1]
        seen = self._look(repository, ref, indexed)
        with self._lock:
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            self._kept[key] = (self._clock(), seen)
        return seen

    def _look(self, repository: Repository, ref: Ref, indexed: str) -> SeenTip | None:
        if not repository.origin.startswith("/") and ref.kind != "workspace":
            return None
        mirror = mirror_folder(read_origin(repository.origin), self._home)
        folder = Path(ref.value if ref.kind == "workspace" else repository.origin)
        # Only the command line names working trees; a request may have named the origin.
        roots = self._roots if repository.guarded and ref.kind != "workspace" else None
        moment, found = now("seconds"), list[LocalTip]()

        def look() -> None:
            if mirror.is_dir() and (tip := self._read(folder, ref, indexed, roots)):
                found.append(tip)

        self._within_patience(look)
        return SeenTip(found[0].commit, moment) if found else None

    def _within_patience(self, look: Callable[[], None]) -> None:
        """Run ``look`` in a thread and wait a moment for it, or do nothing while an earlier look is still waiting."""
        waiting = self._waiting
        if waiting is not None and waiting.is_alive():
            return
        thread = Thread(target=look, name="local-head", daemon=True)
        thread.start()
        thread.join(PATIENCE_SECONDS)
        if thread.is_alive():
            self._waiting = thread
