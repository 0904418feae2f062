"""What a backup consists of: files beside a manifest with their sizes and hashes, put in place in one step."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from codequarry.shared.errors import StoreDamaged, UsageError

MANIFEST = "backup.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """The size and SHA-256 of each file of a backup, and which kind of ``store`` it was made of.

    ``dimension`` is the length of its vectors. ``documents`` are how many each file holds, where files are lists.
    """

    format: int
    created_at: str
    dimension: int
    files: Mapping[str, tuple[int, str]]
    store: str = "embedded"
    documents: Mapping[str, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """All bytes together."""
        return sum(length for length, _ in self.files.values())


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied into a new folder."""

    store: str
    dimension: int
    documents: Mapping[str, int] = field(default_factory=dict)


def make_backup(target: Path, copy: Callable[[Path], Copied]) -> Manifest:
    """Have ``copy`` fill the new folder ``target``; UsageError if that exists and is not empty.

    The manifest is written last and the whole is renamed into place: what a crash leaves is no backup.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists; a backup is written to a new folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        copied = copy(beside)
        files = {path.name: _described(path) for path in sorted(beside.iterdir())}
        at = datetime.now(UTC).isoformat(timespec="seconds")
        manifest = Manifest(FORMAT, at, copied.dimension, files, copied.store, copied.documents)
        (beside / MANIFEST).write_text(json.dumps(asdict(manifest), indent=2), "utf-8")
        make_durable(beside)
        beside.replace(target)
        sync(target.parent)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return manifest


def read_manifest(target: Path) -> Manifest:
    """Read the manifest of a backup; StoreDamaged if there is none that can be read."""
    try:
        said = json.loads((target / MANIFEST).read_text("utf-8"))
        if said["format"] > FORMAT:
            raise UsageError(f"a newer version of Codequarry wrote {target}; restore it with that version")
        if any(Path(name).name != name for name in said["files"]):
            raise StoreDamaged(f"{target / MANIFEST} names a file outside of the backup")
        files = {name: (size, digest) for name, (size, digest) in said["files"].items()}
        return Manifest(**{**said, "files": files})
    except FileNotFoundError:
        raise StoreDamaged(f"{target} is no backup, or one that was interrupted: it has no {MANIFEST}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreDamaged(f"{target / MANIFEST} can't be read ({error})") from None


def check_files(target: Path) -> Manifest:
    """Compare every file of a backup with its manifest and return that; StoreDamaged if one differs."""
    manifest = read_manifest(target)
    for name, described in manifest.files.items():
        if not (target / name).is_file() or _described(target / name) != described:
            raise StoreDamaged(f"{target / name} is not what was backed up; take another backup")
    return manifest


def check_store(manifest: Manifest, store: str, target: Path) -> None:
    """Raise UsageError if the backup was made of another kind of store."""
    if manifest.store != store:
        raise UsageError(
            f'{target} was made of the {manifest.store} store; set store = "{manifest.store}", or index again'
        )


def _described(path: Path) -> tuple[int, str]:
    with path.open("rb") as file:
        return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def make_durable(folder: Path) -> None:
    """Give a folder's files to their user alone and write them to the disk."""
    for path in folder.iterdir():
        path.chmod(0o600)
        sync(path)
    sync(folder)


def sync(path: Path) -> None:
    """Write a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
