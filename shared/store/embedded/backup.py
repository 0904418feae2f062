"""Backs up and restores a folder: one state of the database and its vectors, even while other processes write to it."""

import shutil
from contextlib import closing
from pathlib import Path

import apsw

from codequarry.shared.errors import OldFormat, StoreDamaged, UsageError
from codequarry.shared.store.backups import (
    EMBEDDED,
    Manifest,
    ObserveBackup,
    Step,
    check_files,
    check_store,
    file_digests,
    ignore,
    make_durable,
    new_backup,
    read_manifest,
    scratch_folder,
    sync,
    write_manifest,
)
from codequarry.shared.store.editions import FIRST
from codequarry.shared.store.embedded.checksums import checksum_vfs
from codequarry.shared.store.embedded.database import BUSY_SECONDS
from codequarry.shared.store.embedded.editions import FOLDER, EmbeddedEditions
from codequarry.shared.store.embedded.folder_format import check_format, is_old
from codequarry.shared.store.embedded.schema import DATABASE, read_meta
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.timestamps import now

# A purge may replace the vector file between the two copies; then both are repeated.
_ATTEMPTS = 5
_READ_AT_ONCE = 1 << 20
_PAGES_AT_ONCE = 4_096


def write_backup(folder: Path, target: Path, observe: ObserveBackup = ignore) -> Manifest:
    """Copy the index in ``folder`` to ``target``; raise UsageError if ``target`` exists and is not empty."""
    with new_backup(target) as beside:
        dimension = _copy(folder, beside, observe)
        manifest = Manifest(EMBEDDED, dimension, file_digests(beside), created_at=now("seconds"))
        write_manifest(beside, manifest)
    return manifest


def _copy(folder: Path, beside: Path, observe: ObserveBackup) -> int:
    for _ in range(_ATTEMPTS):
        with closing(_connect(beside)) as copy, closing(_source(folder)) as source:
            _copy_database(source, copy, observe)
            dimension, slots = read_meta(copy, "dimension"), read_meta(copy, "slots")
            name = f"vectors-{read_meta(copy, 'generation')}.f32"
        if not slots or _copy_start(folder / name, beside / name, slots * dimension * 4, observe):
            return dimension
    raise StoreDamaged(f"the index's {name} is missing; run codequarry fsck --repair to replace its vectors")


def _copy_database(source: apsw.Connection, copy: apsw.Connection, observe: ObserveBackup) -> None:
    # The read transaction makes all steps see one state while other processes write.
    source.execute("BEGIN")
    source.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    size = source.pragma("page_size")
    with copy.backup("main", source, "main") as running:
        while not running.done:
            running.step(_PAGES_AT_ONCE)
            done = running.page_count - running.remaining
            observe(Step("copying the database", done * size, running.page_count * size))
    source.execute("COMMIT")
    copy.pragma("journal_mode", "delete")


def _source(folder: Path) -> apsw.Connection:
    source = _connect(folder, apsw.SQLITE_OPEN_READWRITE)
    source.set_busy_timeout(BUSY_SECONDS * 1000)
    if is_old(source):
        raise OldFormat("an older release wrote the index; run codequarry migrate --schema before the backup")
    check_format(source)
    return source


def _connect(folder: Path, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> apsw.Connection:
    return apsw.Connection(str(folder / DATABASE), flags, checksum_vfs())


def _copy_start(path: Path, copy: Path, size: int, observe: ObserveBackup) -> bool:
    """Copy the first ``size`` bytes (later bytes belong to later transactions); return False if there is no file."""
    left = size
    try:
        with path.open("rb") as source, copy.open("wb") as out:
            while left and (part := source.read(min(left, _READ_AT_ONCE))):
                out.write(part)
                left -= len(part)
                observe(Step("copying vectors", size - left, size))
    except FileNotFoundError:
        return False
    if left:
        raise StoreDamaged(f"the index's {path.name} is too short; run codequarry fsck --repair to replace vectors")
    return True


def verify_backup(target: Path, observe: ObserveBackup = ignore) -> Manifest:
    """Compare every file with the manifest, and a copy of the index with its checksums."""
    manifest = read_manifest(target)
    check_store(target, manifest, EMBEDDED)
    check_files(target, manifest, observe)
    with scratch_folder(target.parent, ".codequarry-verify-") as scratch:
        _place(target, manifest, scratch, observe)
        with closing(EmbeddedStore(scratch, manifest.dimension)) as store:
            if found := store.inspect(thoroughly=True):
                raise StoreDamaged(f"{target} holds a damaged index ({found[0].detail}); take another backup")
    return manifest


def _place(target: Path, manifest: Manifest, folder: Path, observe: ObserveBackup) -> None:
    done, total = 0, sum(length for length, _ in manifest.files.values())
    for name, (length, _) in manifest.files.items():
        shutil.copyfile(target / name, folder / name)
        done += length
        observe(Step("copying", done, total))


def restore_backup(target: Path, home: Path, *, replace: bool = False, observe: ObserveBackup = ignore) -> Manifest:
    """Make the backup the active edition of a data folder; raise UsageError if it has an index, unless ``replace``.

    The backup is verified and copied first. Then the pointer moves in one step, and the old index is deleted.
    """
    editions = EmbeddedEditions(home)
    before = editions.present()
    if before and not replace:
        raise UsageError(f"{home} already has an index; use --replace to put the backup in its place")
    manifest = verify_backup(target, observe)
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    number = max(before, default=FIRST - 1) + 1
    with scratch_folder(home, ".restore-") as beside:
        _place(target, manifest, beside, observe)
        make_durable(beside)
        with closing(_connect(beside)) as copy:
            copy.pragma("journal_mode", "wal")
        beside.replace(home / (FOLDER if number == FIRST else f"{FOLDER}-{number}"))
        sync(home)
    editions.activate(number)
    for edition in before:
        editions.remove(edition)
    return manifest
