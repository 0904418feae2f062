"""Reads a dirty working tree as a version: its current files, whose bytes are kept as blobs in our mirror."""

import hashlib
from collections.abc import Callable, Iterable, Iterator

from codequarry.ingest.git.checkout import OpenCheckout, checkout_of
from codequarry.ingest.git.fetch import keep_head
from codequarry.ingest.git.file_tree import FileTree
from codequarry.ingest.git.hashing import blob_of
from codequarry.ingest.git.mirrors import ignore_message, open_access
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.origins import Origin
from codequarry.ingest.git.process import run_git
from codequarry.ingest.git.remote import Listing
from codequarry.ingest.git.trees import SUBMODULE, SYMLINK, TreeEntry, check_count
from codequarry.ingest.request.wanted_version import Wanted
from codequarry.ingest.source.source import FileSource, NoteFound, fetch_source, rules_of_tree, take_any
from codequarry.shared.paths import printable, raw
from codequarry.shared.repositories.followed_versions import settings_for
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.stop_request import check_stop
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.refs import Ref

# Bytes passed to git at once, all held in memory.
IMPORT_BYTES = 50_000_000
DIGEST_HEX = 16


def fetch_version(
    wanted: Wanted,
    settings: SettingsModel,
    store: DocumentStore,
    say: Callable[[str], None],
    found: NoteFound = take_any,
) -> FileSource | None:
    """Read the wanted working tree, or fetch the wanted version as ``fetch_source`` does (None if it is gone)."""
    if wanted.ref and wanted.ref.kind == "workspace":
        return read_workspace(wanted.origin, wanted.ref, settings, say)
    return fetch_source(wanted, settings, store, say, found)


def read_workspace(
    origin: Origin, ref: Ref, settings: SettingsModel, say: Callable[[str], None] = ignore_message
) -> FileSource:
    """Read a working tree: the files that are tracked or not ignored, with their current bytes.

    The version's commit is the checked-out commit. Blobs that the mirror lacks are written into it, so that a file that
    changes meanwhile is chunked as it was when it was hashed.
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

    A file larger than ``most_bytes`` is not indexed, so it is not hashed either: a sparse file of terabytes would take
    days. It keeps the blob from git's index as long as its size is unchanged.
    """
    tracked = list(checkout.tracked())
    for item in tracked:
        if item.mode == SUBMODULE:
            yield TreeEntry(printable(item.path), SUBMODULE, item.blob, 0)
    regular = {item.path: item for item in tracked if item.mode != SUBMODULE}
    unread = {item.blob for item in regular.values() if item.is_absent or tree.size(item.path) > most_bytes}
    sizes = _sizes(mirror, unread)
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
    found = []
    for entry in entries:
        check_stop()
        found.append(entry)
        check_count(len(found), most_paths)
    return found


def _kept(mirror: Mirror, tree: FileTree, entries: list[TreeEntry], most_bytes: int) -> Iterator[TreeEntry]:
    """Yield the entries, after writing readable blobs to the mirror; omit files that vanish or grow too large."""
    readable = {entry.blob for entry in entries if entry.mode not in (SYMLINK, SUBMODULE) and entry.size <= most_bytes}
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
    stream = b"".join(b"blob\ndata %d\n%s\n" % (len(data), data) for data in contents)
    if stream:
        command = (f"--git-dir={mirror.folder}", "fast-import", "--quiet")
        run_git(command, mirror.environment, data=stream, what="cannot store the files of the working tree")


def _sizes(mirror: Mirror, blobs: Iterable[str]) -> dict[str, int]:
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    if not asked:
        return {}
    command = (f"--git-dir={mirror.folder}", "cat-file", "--batch-check=%(objectname) %(objectsize)")
    answer = run_git(command, mirror.environment, data=asked, what="cannot look for blobs").decode()
    lines = (line.split() for line in answer.splitlines())
    return {blob: int(size) for blob, size in lines if size != "missing"}


def _state(entries: Iterable[TreeEntry]) -> str:
    """Return a suffix for the rules hash that is the same for working trees with the same files."""
    digest = hashlib.sha256(repr(sorted((entry.path, entry.mode, entry.blob) for entry in entries)).encode())
    return f"+{digest.hexdigest()[:DIGEST_HEX]}"
