"""Looks into the folders of repositories on this machine for commits that are not indexed yet."""

from collections.abc import Callable, Iterable, Sequence
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


@dataclass(frozen=True, slots=True)
class AskedVersion:
    """A version of a repository, and its newest indexed commit."""

    repository: Repository
    ref: Ref
    indexed: str

    @property
    def is_local(self) -> bool:
        """Whether a folder on this machine may have the version."""
        return self.ref.kind == "workspace" or self.repository.origin.startswith("/")

    @property
    def folder(self) -> Path:
        """The folder of a local version's repository."""
        return Path(self.ref.value if self.ref.kind == "workspace" else self.repository.origin)


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
        self._kept: dict[AskedVersion, tuple[float, SeenTip | None]] = {}
        self._waiting: Thread | None = None

    def tip(self, repository: Repository, ref: Ref, indexed: str) -> SeenTip | None:
        """Return the newest commit of a version whose newest indexed commit is ``indexed``, or None if unknown."""
        asked = AskedVersion(repository, ref, indexed)
        self.look([asked])
        with self._lock:
            # If the look is still waiting for the disk, the one before it must not be mistaken for it.
            return self._kept[asked][1] if self._age(asked) <= 2 * MAX_AGE_SECONDS else None

    def forget(self) -> None:
        """Make the next call look again, for callers that need the current state."""
        with self._lock:
            self._kept.clear()

    def look(self, versions: Iterable[AskedVersion]) -> None:
        """Look at all these versions at once: most of the time for a single look is spent on its thread."""
        local = [asked for asked in versions if asked.is_local]
        with self._lock:
            due = [asked for asked in local if self._age(asked) > MAX_AGE_SECONDS]
        if not due or (self._waiting is not None and self._waiting.is_alive()):
            return
        thread = Thread(target=self._look, args=(due,), name="local-heads", daemon=True)
        thread.start()
        thread.join(PATIENCE_SECONDS)
        if thread.is_alive():
            self._waiting = thread

    def _age(self, asked: AskedVersion) -> float:
        return self._clock() - self._kept[asked][0] if asked in self._kept else float("inf")

    def _look(self, versions: Sequence[AskedVersion]) -> None:
        for asked in versions:
            moment = now("seconds")
            mirror = mirror_folder(read_origin(asked.repository.origin), self._home)
            tip = self._read(asked.folder, asked.ref, asked.indexed, self._roots_of(asked)) if mirror.is_dir() else None
            with self._lock:
                if len(self._kept) >= MAX_KEPT:
                    self._kept.clear()
                self._kept[asked] = (self._clock(), SeenTip(tip.commit, moment) if tip else None)

    def _roots_of(self, asked: AskedVersion) -> Sequence[Path] | None:
        # Only the command line names working trees; a request may have named the origin.
        return self._roots if asked.repository.guarded and asked.ref.kind != "workspace" else None
