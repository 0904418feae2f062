"""A dirty working tree as a version: its files as they are, their bytes kept as blobs of our own mirror."""

import hashlib
from collections.abc import Callable, Iterable, Iterator

from codequarry.ingest.git.checkout import OpenCheckout, checkout_of
from codequarry.ingest.git.fetch import keep_head
from codequarry.ingest.git.file_tree import FileTree
from codequarry.ingest.git.hashing import blob_of
from codequarry.ingest.git.mirrors import open_access, ignore_message
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.origins import Origin
from codequarry.ingest.git.paths import printable, raw
from codequarry.ingest.git.process import run_git
from codequarry.ingest.git.remote import Listing
from codequarry.ingest.git.trees import SUBMODULE, SYMLINK, TreeEntry, check_count
from codequarry.ingest.request.wanted_version import Wanted
from codequarry.ingest.source.source import FileSource, NoteFound, fetch_source, rules_of_tree, take_any
from codequarry.shared.repositories.followed_versions import settings_for
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.stop_request import check_stop
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.refs import Ref

# What is handed to git at once, in bytes: it is all in memory.
IMPORT_BYTES = 50_000_000
DIGEST_HEX = 16


def fetch_version(
    wanted: Wanted,
    settings: SettingsModel,
    store: DocumentStore,
    say: Callable[[str], None],
    found: NoteFound = take_any,
) -> FileSource | None:
    """Bring what is wanted onto this machine; None where its origin has it no more but the index has.

    ``say`` tells what is waited for, ``found`` is as in ``fetch_source``.
    """
    if wanted.ref and wanted.ref.kind == "workspace":
        return read_workspace(wanted.origin, wanted.ref, settings, say)
    return fetch_source(wanted, settings, store, say, found)


def read_workspace(
    origin: Origin, ref: Ref, settings: SettingsModel, say: Callable[[str], None] = ignore_message
) -> FileSource:
    """Read a working tree: what is tracked or not ignored, with the bytes that are there now.

    The commit of the version is the one that is checked out. Blobs that the mirror lacks are written into it, so that
    a file that changes meanwhile is chunked as it was when its blob was named.
    """
    settings = settings_for(settings, origin.url, origin.host)
    checkout = checkout_of(ref, settings)
    access = open_access(origin, settings.git, settings.home, say)
    most_bytes = settings.scan.max_file_bytes
    with checkout.opened(access.mirror.folder) as opened, access.locked() as lock:
        commit = opened.commit()
        access.make(commit)
        keep_head(access, lock, checkout.repository, ref)
        with FileTree(checkout.folder) as tree:
            listed = _counted(_entries(opened, tree, access.mirror, commit, most_bytes), settings.indexing.max_paths)
        with FileTree(checkout.folder) as tree:
            entries = tuple(_kept(access.mirror, tree, listed, most_bytes))
    rules = rules_of_tree(settings, access.mirror, {entry.path: entry for entry in entries}.get)
    limits = settings.indexing
    return FileSource(origin, access.mirror, ref, ref.key, commit, rules, limits, Listing(), entries, _state(entries))


def _entries(
    checkout: OpenCheckout, tree: FileTree, mirror: Mirror, commit: str, most_bytes: int
) -> Iterator[TreeEntry]:
    """Yield every file, link and submodule of the working tree with the blob that git would give it.

    A file of more than ``most_bytes``, which nobody will read, is not read for its blob either: it keeps that of the
    index as long as it has the same size. A sparse file of terabytes would take days.
    """
    tracked = list(checkout.tracked())
    for one in tracked:
        if one.mode == SUBMODULE:
            yield TreeEntry(printable(one.path), SUBMODULE, one.blob, 0)
    regular = {one.path: one for one in tracked if one.mode != SUBMODULE}
    sizes = _sizes(mirror, {one.blob for one in regular.values() if one.is_absent or tree.size(one.path) > most_bytes})
    for path in [*regular, *checkout.untracked()]:
        mode = tree.mode(path)
        known = regular.get(path)
        if mode and (size := tree.size(path)) > most_bytes:
            is_as_known = known is not None and sizes.get(known.blob) == size
            blob = known.blob if known and is_as_known else blob_of(b"%d bytes" % size, commit)
            yield TreeEntry(printable(path), mode, blob, size)
        elif mode and (hashed := tree.blob(path, mode, commit)):
            yield TreeEntry(printable(path), mode, *hashed)
        elif known and known.is_absent and known.blob in sizes:
            yield TreeEntry(printable(path), known.mode, known.blob, sizes[known.blob])


def _counted(entries: Iterable[TreeEntry], most_paths: int) -> list[TreeEntry]:
    """Return the entries; LimitExceeded as soon as there are too many."""
    found = []
    for entry in entries:
        check_stop()
        found.append(entry)
        check_count(len(found), most_paths)
    return found


def _kept(mirror: Mirror, tree: FileTree, entries: list[TreeEntry], most_bytes: int) -> Iterator[TreeEntry]:
    """Yield the entries with the blobs that may be read in the mirror.

    A file that goes away or grows too large meanwhile is left out.
    """
    readable = {one.blob for one in entries if one.mode not in (SYMLINK, SUBMODULE) and one.size <= most_bytes}
    missing = readable - _sizes(mirror, readable).keys()
    batch: list[bytes] = []
    for entry in entries:
        if entry.blob not in missing or entry.mode in (SYMLINK, SUBMODULE):
            yield entry
            continue
        check_stop()
        data = tree.read(raw(entry.path), most_bytes)
        if data is None:
            continue
        batch.append(data)
        if sum(map(len, batch)) >= IMPORT_BYTES:
            _import(mirror, batch)
            batch = []
        yield TreeEntry(entry.path, entry.mode, blob_of(data, entry.blob), len(data))
    _import(mirror, batch)


def _import(mirror: Mirror, contents: Iterable[bytes]) -> None:
    """Write blobs into the mirror."""
    stream = b"".join(b"blob\ndata %d\n%s\n" % (len(data), data) for data in contents)
    if stream:
        command = (f"--git-dir={mirror.folder}", "fast-import", "--quiet")
        run_git(command, mirror.environment, data=stream, what="cannot keep the files of the working tree")


def _sizes(mirror: Mirror, blobs: Iterable[str]) -> dict[str, int]:
    """Return the sizes of those blobs that the mirror has."""
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    if not asked:
        return {}
    command = (f"--git-dir={mirror.folder}", "cat-file", "--batch-check=%(objectname) %(objectsize)")
    answer = run_git(command, mirror.environment, data=asked, what="cannot look for blobs").decode()
    lines = (line.split() for line in answer.splitlines())
    return {blob: int(size) for blob, size in lines if size != "missing"}


def _state(entries: Iterable[TreeEntry]) -> str:
    """Return what is the same for two working trees with the same files, with the sign that sets it off."""
    digest = hashlib.sha256(repr(sorted((one.path, one.mode, one.blob) for one in entries)).encode())
    return f"+{digest.hexdigest()[:DIGEST_HEX]}"
