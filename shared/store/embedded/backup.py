"""A copy of a folder while processes go on writing to it, and back: one state of the database with its vectors."""

import shutil
import tempfile
from contextlib import closing
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
from codequarry.shared.store.manifest import (
    Copied,
    Manifest,
    check_files,
    check_store,
    make_backup,
    make_durable,
    sync,
)

STORE = "embedded"
# A purge may replace the vector file between the two copies; then both are made again.
_ATTEMPTS = 5
_READ_AT_ONCE = 1 << 20


def write_backup(folder: Path, target: Path) -> Manifest:
    """Copy the index in ``folder`` to the new folder ``target``; UsageError if that exists and is not empty."""
    return make_backup(target, lambda beside: _copy(folder, beside))


def _copy(folder: Path, beside: Path) -> Copied:
    for _ in range(_ATTEMPTS):
        with closing(_connect(beside)) as copy, closing(_source(folder)) as source:
            # All pages in one step: the backup sees one state, whatever is written meanwhile.
            with copy.backup("main", source, "main") as running:
                running.step(-1)
            copy.pragma("journal_mode", "delete")
            dimension, slots = read_meta(copy, "dimension"), read_meta(copy, "slots")
            name = f"vectors-{read_meta(copy, 'generation')}.f32"
        if not slots or _copy_start(folder / name, beside / name, slots * dimension * 4):
            return Copied(STORE, dimension)
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


def verify_backup(target: Path) -> Manifest:
    """Compare every file with the manifest, and a copy of the index with its own checksums."""
    manifest = check_files(target)
    check_store(manifest, STORE, target)
    with tempfile.TemporaryDirectory(prefix=".verify-", dir=target.parent) as scratch:
        _place(target, manifest, Path(scratch))
        with closing(EmbeddedStore(Path(scratch), manifest.dimension)) as store:
            if found := store.inspect(thoroughly=True):
                raise StoreDamaged(f"{target} holds a damaged index ({found[0].detail}); take another backup")
    return manifest


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
        make_durable(beside)
        with closing(_connect(beside)) as copy:
            copy.pragma("journal_mode", "wal")
        beside.replace(final)
        sync(home)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    editions.activate(number)
    for edition in before:
        editions.remove(edition)
    return manifest
