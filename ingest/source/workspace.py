"""Reads a dirty working tree as a version: its current files, whose bytes are kept as blobs in our mirror."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from codequarry.ingest.git.checkout import OpenCheckout, checkout_of
from codequarry.ingest.git.conversion import Converter
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
from codequarry.shared.paths import printable
from codequarry.shared.repositories.followed_versions import settings_for
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.stop_request import check_stop
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.versions.refs import Ref

# Bytes and files passed to git at once, all held in memory.
IMPORT_BYTES = 50_000_000
IMPORT_FILES = 20_000
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
    """Read a working tree: the files that are tracked or not ignored, as `git add` would store them now.

    The version's commit is the checked-out commit. Blobs that the mirror lacks are written into it, so that a file that
    changes meanwhile is chunked as it was when it was read.
    """
    settings = settings_for(settings, origin.url, origin.host)
    checkout = checkout_of(ref, settings)
    access = open_access(origin, settings.git, settings.home, say)
    with checkout.opened(access.mirror.folder) as opened, access.locked() as lock, FileTree(checkout.folder) as tree:
        commit = opened.commit()
        access.make(commit)
        keep_head(access, lock, checkout.repository, ref)
        converter = Converter(tree, opened.environment, commit)
        reader = _Reader(opened, tree, access.mirror, converter, commit, settings.scan.max_file_bytes)
        entries = tuple(_counted(reader.entries(), settings.indexing.max_paths))
    rules = rules_of_tree(settings, access.mirror, {entry.path: entry for entry in entries}.get)
    limits = settings.indexing
    return FileSource(origin, access.mirror, ref, ref.key, commit, rules, limits, Listing(), entries, _state(entries))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the working tree of a checkout whose checked-out commit is ``commit``."""

    checkout: OpenCheckout
    tree: FileTree
    mirror: Mirror
    converter: Converter
    commit: str
    most_bytes: int

    def entries(self) -> Iterator[TreeEntry]:
        """Yield every file, link and submodule of the working tree with the blob that git would give it.

        A file that git knows to be unchanged has the blob of git's index and is not read, like most files. Others are
        read once; their blobs are in the mirror before they are yielded.
        """
        tracked = {item.path: item for item in self.checkout.tracked()}
        modified = self.checkout.modified()
        sizes = _sizes(self.mirror, {item.blob for item in tracked.values() if item.mode != SUBMODULE})
        files: list[bytes] = []
        for path, item in tracked.items():
            is_unchanged = path not in modified and not item.is_absent
            if item.mode == SUBMODULE:
                yield TreeEntry(printable(path), SUBMODULE, item.blob, 0)
            elif item.blob in sizes and (is_unchanged or (item.is_absent and self.tree.mode(path) is None)):
                yield TreeEntry(printable(path), item.mode, item.blob, sizes[item.blob])
            else:
                files.append(path)
        known = {path: item.blob for path, item in tracked.items() if item.mode != SUBMODULE}
        yield from self._read([*files, *self.checkout.untracked()], known, sizes)

    def _read(
        self, paths: Iterable[bytes], known: Mapping[bytes, str], sizes: Mapping[str, int]
    ) -> Iterator[TreeEntry]:
        """Yield the files and links that exist at paths.

        A file larger than ``most_bytes`` is not indexed, so it is not read either: a sparse file of terabytes would
        take days. It keeps the blob from git's index (``known``) as long as its size is unchanged.
        """
        batch: dict[bytes, tuple[str, bytes]] = {}
        number_of_bytes = 0
        for path in paths:
            check_stop()
            mode = self.tree.mode(path)
            if mode == SYMLINK:
                if (target := self.tree.link(path)) is not None:
                    yield TreeEntry(printable(path), mode, blob_of(target, self.commit), len(target))
            elif mode and (size := self.tree.size(path)) > self.most_bytes:
                is_as_known = path in known and sizes.get(known[path]) == size
                blob = known[path] if is_as_known else blob_of(b"%d bytes" % size, self.commit)
                yield TreeEntry(printable(path), mode, blob, size)
            elif mode and (data := self.tree.read(path, self.most_bytes)) is not None:
                batch[path] = mode, data
                number_of_bytes += len(data)
            if number_of_bytes >= IMPORT_BYTES or len(batch) >= IMPORT_FILES:
                yield from self._stored(batch)
                batch, number_of_bytes = {}, 0
        yield from self._stored(batch)

    def _stored(self, files: Mapping[bytes, tuple[str, bytes]]) -> list[TreeEntry]:
        """Return the entries of files, given by path with mode and bytes, and store their blobs in the mirror."""
        if not files:
            return []
        contents = self.converter.stored({path: data for path, (_, data) in files.items()})
        blobs = {path: blob_of(data, self.commit) for path, data in contents.items()}
        missing = {blobs[path]: data for path, data in contents.items()}
        for blob in _sizes(self.mirror, missing):
            del missing[blob]
        _import(self.mirror, missing.values())
        return [TreeEntry(printable(path), mode, blobs[path], len(contents[path])) for path, (mode, _) in files.items()]


def _counted(entries: Iterable[TreeEntry], most_paths: int) -> Iterator[TreeEntry]:
    for number, entry in enumerate(entries, start=1):
        check_stop()
        check_count(number, most_paths)
        yield entry


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
