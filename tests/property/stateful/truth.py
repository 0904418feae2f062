"""The expected contents of the index: every version that can be read, compared with git after the scan rules."""

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from codequarry.shared.catalog.ledger import published_transactions, read_head
from codequarry.shared.model import INDEXED
from codequarry.shared.store.port import Store
from codequarry.shared.store.records import StoredRow
from codequarry.shared.versions.commit_log import changed_path, message_path, with_logs
from codequarry.shared.versions.head import Head, Place
from codequarry.shared.versions.snapshots import OPEN, log_snapshot, version_snapshot
from codequarry.shared.versions.transactions import TransactionRecord
from tests.property.stateful.origin import EXECUTABLE, LINK, REGULAR, SUBMODULE, BareOrigin
from tests.property.stateful.scene import MAX_BYTES, VARIANTS

IGNORE_FILE = ".codequarryignore"
Listing = dict[str, tuple[str, str]]


@dataclass(frozen=True)
class Expected:
    """The pairs of path and blob of one version: all of them, and those that the scan rules leave.

    The files ``unread`` of a working tree are too large to be indexed, so they are not hashed either.
    """

    everything: dict[str, str]
    indexed: dict[str, str]
    unread: frozenset[str] = frozenset()

    def shown(self, blobs: dict[str, str]) -> dict[str, str]:
        """Return paths with their blobs, as far as these are known."""
        return {path: "" if path in self.unread else blob for path, blob in blobs.items()}


def after_scan_rules(listing: Listing, contents: dict[str, bytes], variant: int) -> Expected:
    """Return the part of a listing that is indexed under a variant of the settings."""
    ignore = contents.get(IGNORE_FILE, b"").decode().splitlines() if _is_file(listing, IGNORE_FILE) else []
    indexed = {
        path: blob
        for path, (mode, blob) in listing.items()
        if mode in (REGULAR, EXECUTABLE)
        and not any(_matches(path, line) for line in ignore)
        and not (variant == 1 and len(contents[path]) > MAX_BYTES)
        and not (variant == 2 and path.startswith("docs/"))
    }
    return Expected({path: blob for path, (_, blob) in listing.items()}, indexed)


def of_commit(origin: BareOrigin, commit: str, variant: int) -> Expected:
    """Return the expected contents of a commit, by git's listing."""
    contents = {path: content for path, (_, content) in origin.trees[commit].items()}
    return after_scan_rules(origin.listing(commit), contents, variant)


def of_folder(folder: Path, committed: Listing, ignored: frozenset[str], variant: int) -> Expected:
    """Return the expected contents of a working tree, by its files and the submodules of its commit."""
    listing = {path: entry for path, entry in committed.items() if entry[0] == SUBMODULE}
    contents: dict[str, bytes] = {}
    for place in folder.rglob("*"):
        path = str(place.relative_to(folder))
        if path.startswith(".git/") or (place.is_dir() and not place.is_symlink()) or path in ignored:
            continue
        contents[path] = str(place.readlink()).encode() if place.is_symlink() else place.read_bytes()
        blob = hashlib.sha1(b"blob %d\0" % len(contents[path]) + contents[path]).hexdigest()
        listing[path] = (LINK if place.is_symlink() else REGULAR, blob)
    unread = {path for path, content in contents.items() if variant == 1 and len(content) > MAX_BYTES}
    return replace(after_scan_rules(listing, contents, variant), unread=frozenset(unread))


def _is_file(listing: Listing, path: str) -> bool:
    return path in listing and listing[path][0] in (REGULAR, EXECUTABLE)


def _matches(path: str, line: str) -> bool:
    return path == line or (line.endswith("/") and path.startswith(line)) or (line == "*.md" and path.endswith(".md"))


def askable(store: Store, head: Head, repo: str) -> list[TransactionRecord]:
    """Return every version of a repository that can be read."""
    return [record for timeline in head.of_repo(repo) for record in published_transactions(store, head, timeline)]


def check_version(store: Store, head: Head, record: TransactionRecord, expected: Expected) -> None:
    """Compare one version, path by path and row by row."""
    what = f"transaction {record.number} of timeline {record.timeline}, {record.ref} at {record.commit}"
    snapshot = version_snapshot(head, record)
    files = list(store.files(snapshot))
    doubled = [path for path, times in Counter(file.path for file in files).items() if times > 1]
    assert not doubled, f"{what} has {doubled} twice"
    assert expected.shown({file.path: file.blob for file in files}) == expected.shown(expected.everything), what
    assert {file.path: file.blob for file in files if file.verdict == INDEXED} == expected.indexed, what
    rows = {(file.path, file.blob): file.rows for file in files if file.rows}
    assert dict(store.row_counts(snapshot)) == rows, what


def check_log(store: Store, head: Head, record: TransactionRecord, origin: BareOrigin, variant: int) -> None:
    """Compare the commits of one version with its history, and what they changed with their trees."""
    what = f"the log of transaction {record.number} of timeline {record.timeline}, {record.ref} at {record.commit}"
    snapshot = log_snapshot(head, record)
    files = list(store.files(snapshot))
    doubled = [path for path, times in Counter(file.path for file in files).items() if times > 1]
    assert not doubled, f"{what} has {doubled} twice"
    messages = {file.blob for file in files if file.path == message_path(file.blob)}
    assert messages == {file.blob for file in files}, f"{what} has changes without a message"
    history = origin.history(record.commit)
    assert messages <= history, what
    limit = VARIANTS[variant].get("history", {}).get("commits")
    if not record.log_rules:
        assert not messages, f"{what} has commits, but could not be read or is switched off"
    elif limit is None:
        assert messages == history, what
    else:
        assert record.commit in messages, what
    for file in files:
        path = changed_path(file.path)
        assert not path or path in origin.changed(file.blob), what
    rows = {(file.path, file.blob): file.rows for file in files}
    assert dict(store.row_counts(snapshot)) == rows, what


def check_nothing_left(store: Store, repo: str) -> None:
    """Check that no row of a repository belongs to an aborted transaction."""
    head = read_head(store)
    for timeline in with_logs(head.of_repo(repo)):
        for stored in store.history(timeline):
            born = stored.row.born if isinstance(stored, StoredRow) else stored.record.born
            assert not {born, stored.died} & head.aborted, f"{stored} is left over from an aborted transaction"


def check_collected(store: Store, repo: str) -> None:
    """Check that every row is visible in some kept version or is still being written."""
    head = read_head(store)
    for timeline, state in head.timelines.items():
        if state.repo != repo:
            continue
        kept = {record.number for record in published_transactions(store, head, timeline)} | head.pinned(timeline)
        for stored in (stored for part in with_logs([timeline]) for stored in store.history(part)):
            born = stored.row.born if isinstance(stored, StoredRow) else stored.record.born
            died = OPEN if stored.died in head.hidden else stored.died
            seen = born in head.hidden or any(born <= number < died for number in kept)
            assert seen, f"no kept version sees {stored}; kept are {sorted(kept)} of timeline {timeline}"


def places(records: list[TransactionRecord]) -> set[Place]:
    """Return the places of these versions."""
    return {(record.timeline, record.number) for record in records}
