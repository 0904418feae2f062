"""What backups of both stores have in common: a folder that appears whole or not at all, and its manifest."""

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
from datetime import UTC, datetime
from pathlib import Path

from codequarry.shared.errors import StoreDamaged, UsageError

MANIFEST = "backup.json"
# Format 1 had no `store`: only the embedded store could be backed up.
FORMAT = 2
EMBEDDED, OPENSEARCH = "embedded", "opensearch"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup consists of: the size and SHA-256 of each file.

    ``documents`` counts those in each file of OpenSearch documents, and ``schema`` is the version of their mappings.
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
    """How far a backup or a restore is; ``unit`` is what is counted."""

    phase: str
    done: int
    total: int
    unit: str = "bytes"


ObserveBackup = Callable[[Step], None]


def ignore(_: Step) -> None:
    """Show nothing."""


@contextmanager
def new_backup(target: Path) -> Iterator[Path]:
    """Give a folder beside ``target`` that takes its place at the end; UsageError if there is something already.

    What a crash leaves has another name and no manifest, and the next backup to ``target`` deletes it.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists; a backup is written to a new folder")
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
    """Give a private folder that is deleted at the end unless it was renamed.

    Folders of that prefix whose process was killed are deleted first: a process locks its own for as long as it lives.
    """
    for left in parent.glob(f"{glob.escape(prefix)}*"):
        _delete_if_left(left)
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
            continue  # another process took it for one that was left
        with suppress(OSError):  # a file system without locks: then nothing is taken for left either
            fcntl.flock(handle, fcntl.LOCK_EX)
        if folder.exists():
            return folder, handle
        os.close(handle)


def _delete_if_left(folder: Path) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return  # its process lives
    finally:
        os.close(handle)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a folder that has all its files."""
    (folder / MANIFEST).write_text(json.dumps(asdict(manifest), indent=2), "utf-8")


def now() -> str:
    """Return the time as manifests have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_manifest(target: Path) -> Manifest:
    """Read a manifest; StoreDamaged if there is none that can be read, UsageError if a newer release wrote it."""
    try:
        said = json.loads((target / MANIFEST).read_text("utf-8"))
        if said["format"] > FORMAT:
            raise UsageError(f"a newer version of Codequarry wrote {target}; restore it with that version")
        if any(Path(name).name != name for name in said["files"]):
            raise StoreDamaged(f"{target / MANIFEST} names a file outside of the backup")
        return Manifest(**{"store": EMBEDDED, **said})
    except FileNotFoundError:
        raise StoreDamaged(f"{target} is no backup, or one that was interrupted: it has no {MANIFEST}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreDamaged(f"{target / MANIFEST} can't be read ({error})") from None


def check_store(target: Path, manifest: Manifest, store: str) -> None:
    """Raise UsageError if the backup is of another kind of store."""
    if manifest.store != store:
        raise UsageError(
            f"{target} is a backup of the {manifest.store} store, and this is the {store} store: a backup goes back to "
            "a store of its own kind"
        )


def check_files(target: Path, manifest: Manifest, observe: ObserveBackup = ignore) -> None:
    """Compare every file with the manifest; StoreDamaged where one differs."""
    done, total = 0, total_bytes(manifest)
    for name, what in manifest.files.items():
        observe(Step("comparing", done, total))
        if not (target / name).is_file() or described(target / name) != tuple(what):
            raise StoreDamaged(f"{target / name} is not what was backed up; take another backup")
        done += what[0]
    observe(Step("comparing", done, total))


def total_bytes(manifest: Manifest) -> int:
    """Return how large all files are together."""
    return sum(length for length, _ in manifest.files.values())


def file_digests(folder: Path) -> dict[str, tuple[int, str]]:
    """Return size and SHA-256 of each file of a folder."""
    return {path.name: described(path) for path in sorted(folder.iterdir())}


def described(path: Path) -> tuple[int, str]:
    """Return size and SHA-256 of a file."""
    with path.open("rb") as file:
        return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def make_durable(folder: Path) -> None:
    """Make the files private and wait until they are on the disk."""
    for path in folder.iterdir():
        path.chmod(0o600)
        sync(path)
    sync(folder)


def sync(path: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
