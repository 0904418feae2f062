"""The parts that backups of both stores share: an atomically created folder, and its manifest."""

import fcntl
import glob
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from codequarry.shared.errors import StoreDamaged, UsageError

MANIFEST = "backup.json"
# Format 1 had no `store`: only the embedded store could be backed up.
FORMAT = 2
EMBEDDED, OPENSEARCH = "embedded", "opensearch"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a backup: the size and SHA-256 of each file.

    For OpenSearch, ``documents`` has the number of documents in each file, and ``schema`` the version of the mappings.
    """

    store: str
    dimension: int
    files: Mapping[str, tuple[int, str]]
    documents: Mapping[str, int] = field(default_factory=dict)
    schema: int = 0
    created_at: str = ""
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Step:
    """Progress of a backup or restore; ``done`` and ``total`` are in ``unit``."""

    phase: str
    done: int
    total: int
    unit: str = "bytes"


ObserveBackup = Callable[[Step], None]


def ignore(_: Step) -> None:
    """Ignore a step: an observer that shows nothing."""


@contextmanager
def new_backup(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to ``target`` at the end; raise UsageError if ``target`` is not empty.

    A folder left by a crash has a different name and no manifest; the next backup to ``target`` deletes it.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists; choose a new folder for the backup")
    target.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(target.parent, f".codequarry-{target.name}-") as beside:
        yield beside
        if not (beside / MANIFEST).is_file():
            raise StoreDamaged(f"the backup to {target} has no {MANIFEST}")
        make_durable(beside)
        beside.replace(target)
        sync(target.parent)


@contextmanager
def scratch_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield a private folder that is deleted at the end unless it was renamed.

    Folders with this prefix whose process was killed are deleted first; a live process holds a lock on its folder.
    """
    for leftover in parent.glob(f"{glob.escape(prefix)}*"):
        _delete_leftover(leftover)
    folder, handle = _locked_folder(parent, prefix)
    try:
        yield folder
    finally:
        os.close(handle)
        shutil.rmtree(folder, ignore_errors=True)


def _locked_folder(parent: Path, prefix: str) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # another process deleted it as a leftover
        with suppress(OSError):  # if the file system has no locks, no folder is ever taken for a leftover
            fcntl.flock(handle, fcntl.LOCK_EX)
        if folder.exists():
            return folder, handle
        os.close(handle)


def _delete_leftover(folder: Path) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return  # its process is alive
    finally:
        os.close(handle)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a folder whose files are complete."""
    (folder / MANIFEST).write_text(json.dumps(asdict(manifest), indent=2), "utf-8")


def read_manifest(target: Path) -> Manifest:
    """Read a manifest; raise StoreDamaged if it is missing or unreadable, UsageError if a newer release wrote it."""
    try:
        fields = json.loads((target / MANIFEST).read_text("utf-8"))
        if fields["format"] > FORMAT:
            raise UsageError(f"a newer version of Codequarry wrote {target}; restore it with that version")
        if any(Path(name).name != name for name in fields["files"]):
            raise StoreDamaged(f"{target / MANIFEST} names a file outside the backup")
        return Manifest(**{"store": EMBEDDED, **fields})
    except FileNotFoundError:
        raise StoreDamaged(f"{target} is not a backup, or the backup was interrupted: it has no {MANIFEST}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreDamaged(f"{target / MANIFEST} can't be read ({error})") from None


def check_store(target: Path, manifest: Manifest, store: str) -> None:
    """Raise UsageError if the backup was made from another kind of store."""
    if manifest.store != store:
        raise UsageError(
            f"{target} is a backup of the {manifest.store} store and cannot be restored to the {store} store; change "
            "the `store` setting"
        )


def check_files(target: Path, manifest: Manifest, observe: ObserveBackup = ignore) -> None:
    """Compare every file with the manifest; raise StoreDamaged if a file differs."""
    done, total = 0, total_bytes(manifest)
    for name, what in manifest.files.items():
        observe(Step("comparing", done, total))
        if not (target / name).is_file() or described(target / name) != tuple(what):
            raise StoreDamaged(f"{target / name} is missing or differs from the manifest; use another backup")
        done += what[0]
    observe(Step("comparing", done, total))


def total_bytes(manifest: Manifest) -> int:
    """Return the total size of the files."""
    return sum(length for length, _ in manifest.files.values())


def file_digests(folder: Path) -> dict[str, tuple[int, str]]:
    """Return the size and SHA-256 of each file in a folder."""
    return {path.name: described(path) for path in sorted(folder.iterdir())}


def described(path: Path) -> tuple[int, str]:
    """Return the size and SHA-256 of a file."""
    with path.open("rb") as file:
        return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def make_durable(folder: Path) -> None:
    """Make the files of a folder private, and sync them and the folder to disk."""
    for path in folder.iterdir():
        path.chmod(0o600)
        sync(path)
    sync(folder)


def sync(path: Path) -> None:
    """Sync a file or folder to disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
