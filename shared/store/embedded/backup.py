"""A copy of a folder while processes go on writing to it, and back: one state of the database with its vectors."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw

from codequarry.shared.errors import OldFormat, StoreDamaged, UsageError
from codequarry.shared.store.editions import FIRST
from codequarry.shared.store.embedded.checksums import checksum_vfs
from codequarry.shared.store.embedded.database import BUSY_SECONDS
from codequarry.shared.store.embedded.editions import FOLDER, EmbeddedEditions
from codequarry.shared.store.embedded.folder_format import check_format, is_old
from codequarry.shared.store.embedded.schema import DATABASE, read_meta
from codequarry.shared.store.embedded.store import EmbeddedStore

MANIFEST = "backup.json"
FORMAT = 1
# A purge may replace the vector file between the two copies; then both are made again.
_ATTEMPTS = 5
_READ_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup consists of: the size and SHA-256 of each file."""

    format: int
    created_at: str
    dimension: int
    files: Mapping[str, tuple[int, str]]


def write_backup(folder: Path, target: Path) -> Manifest:
    """Copy the index in ``folder`` to the new folder ``target``; UsageError if that exists and is not empty.

    The manifest is written last and the whole is renamed into place: what a crash leaves is no backup.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists; a backup is written to a new folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        manifest = _copy(folder, beside)
        (beside / MANIFEST).write_text(json.dumps(asdict(manifest), indent=2), "utf-8")
        _make_durable(beside)
        beside.replace(target)
        _sync(target.parent)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return manifest


def _copy(folder: Path, beside: Path) -> Manifest:
    for _ in range(_ATTEMPTS):
        with closing(_connect(beside)) as copy, closing(_source(folder)) as source:
            # All pages in one step: the backup sees one state, whatever is written meanwhile.
            with copy.backup("main", source, "main") as running:
                running.step(-1)
            copy.pragma("journal_mode", "delete")
            dimension, slots = read_meta(copy, "dimension"), read_meta(copy, "slots")
            name = f"vectors-{read_meta(copy, 'generation')}.f32"
        if not slots or _copy_start(folder / name, beside / name, slots * dimension * 4):
            files = {path.name: _described(path) for path in sorted(beside.iterdir())}
            return Manifest(FORMAT, datetime.now(UTC).isoformat(timespec="seconds"), dimension, files)
    raise StoreDamaged(f"{name} of the index is missing; codequarry fsck --repair makes its vectors anew")


def _source(folder: Path) -> apsw.Connection:
    source = _connect(folder, apsw.SQLITE_OPEN_READWRITE)
    source.set_busy_timeout(BUSY_SECONDS * 1000)
    if is_old(source):
        raise OldFormat("an older release wrote the index; run codequarry migrate --schema before it is backed up")
    check_format(source)
    return source


def _connect(folder: Path, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> apsw.Connection:
    return apsw.Connection(str(folder / DATABASE), flags, checksum_vfs())


def _copy_start(path: Path, copy: Path, size: int) -> bool:
    """Copy the first ``size`` bytes: what is behind them belongs to later transactions. False if there is no file."""
    try:
        with path.open("rb") as source, copy.open("wb") as out:
            while size and (part := source.read(min(size, _READ_AT_ONCE))):
                out.write(part)
                size -= len(part)
    except FileNotFoundError:
        return False
    if size:
        raise StoreDamaged(f"{path.name} of the index is too short; codequarry fsck --repair makes its vectors anew")
    return True


def _described(path: Path) -> tuple[int, str]:
    with path.open("rb") as file:
        return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def _make_durable(folder: Path) -> None:
    for path in folder.iterdir():
        path.chmod(0o600)
        _sync(path)
    _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def verify_backup(target: Path) -> Manifest:
    """Compare every file with the manifest, and a copy of the index with its own checksums."""
    manifest = _manifest(target)
    for name, described in manifest.files.items():
        if not (target / name).is_file() or _described(target / name) != tuple(described):
            raise StoreDamaged(f"{target / name} is not what was backed up; take another backup")
    with tempfile.TemporaryDirectory(prefix=".verify-", dir=target.parent) as scratch:
        _place(target, manifest, Path(scratch))
        with closing(EmbeddedStore(Path(scratch), manifest.dimension)) as store:
            if found := store.inspect(thoroughly=True):
                raise StoreDamaged(f"{target} holds a damaged index ({found[0].detail}); take another backup")
    return manifest


def _manifest(target: Path) -> Manifest:
    try:
        said = json.loads((target / MANIFEST).read_text("utf-8"))
        if said["format"] > FORMAT:
            raise UsageError(f"a newer version of Codequarry wrote {target}; restore it with that version")
        if any(Path(name).name != name for name in said["files"]):
            raise StoreDamaged(f"{target / MANIFEST} names a file outside of the backup")
        return Manifest(said["format"], said["created_at"], said["dimension"], said["files"])
    except FileNotFoundError:
        raise StoreDamaged(f"{target} is no backup, or one that was interrupted: it has no {MANIFEST}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreDamaged(f"{target / MANIFEST} can't be read ({error})") from None


def _place(target: Path, manifest: Manifest, folder: Path) -> None:
    for name in manifest.files:
        shutil.copyfile(target / name, folder / name)


def restore_backup(target: Path, home: Path, *, replace: bool = False) -> Manifest:
    """Make the backup the active edition of a data folder; UsageError if it has an index and ``replace`` is not set.

    The backup is verified and copied beside first. What is there goes on being used until the pointer is moved, in
    one step, and is deleted afterwards.
    """
    editions = EmbeddedEditions(home)
    before = editions.present()
    if before and not replace:
        raise UsageError(f"{home} has an index; --replace puts the backup in its place")
    manifest = verify_backup(target)
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    number = max(before, default=FIRST - 1) + 1
    final = home / (FOLDER if number == FIRST else f"{FOLDER}-{number}")
    beside = Path(tempfile.mkdtemp(prefix=".restore-", dir=home))
    try:
        _place(target, manifest, beside)
        _make_durable(beside)
        with closing(_connect(beside)) as copy:
            copy.pragma("journal_mode", "wal")
        beside.replace(final)
        _sync(home)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    editions.activate(number)
    for edition in before:
        editions.remove(edition)
    return manifest
