"""Makes what is left of a damaged catalog consistent, and lists what is lost for good."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from codequarry.ingest.garbage_collection.unmasked_rows import NOTE as UNMASKED
from codequarry.ingest.migration.switch import migrated_body
from codequarry.ingest.removal.interrupted_removal import REMOVAL_PREFIX
from codequarry.ingest.transaction.chores import BATCHES, CHORES, undo_rows
from codequarry.ingest.transaction.retention import SWEEP, SWEPT
from codequarry.shared.access.key_list import KEY_PREFIX
from codequarry.shared.catalog.ledger import read_transaction
from codequarry.shared.catalog.repositories import (
    PROGRESS_PREFIX,
    REF_PREFIX,
    REPOSITORY_PREFIX,
    SUMMARY_PREFIX,
    Repository,
    list_ref_heads,
    list_repositories,
    read_repository,
    save_repository,
)
from codequarry.shared.jobs.job_list import ENDED_PREFIX, JOB_PREFIX
from codequarry.shared.store.port import DocumentStore, Store
from codequarry.shared.versions.commit_log import with_logs
from codequarry.shared.versions.head import HEAD_KEY, Head, Place
from codequarry.shared.versions.moves import successor
from codequarry.shared.versions.transactions import (
    TRANSACTION_PREFIX,
    drop_name,
    drop_timeline,
    forget,
    transactions_prefix,
)

# Documents of runs, all of which have ended.
_OF_RUNS = (PROGRESS_PREFIX, BATCHES)
# Documents of timelines, deleted if the head document is lost.
_OF_TIMELINES = (TRANSACTION_PREFIX, SUMMARY_PREFIX, CHORES, SWEEP, SWEPT)
_NO_ORIGIN = "its origin is lost: run codequarry index ORIGIN to index it again"
_NO_HISTORY = "the head document is lost: only the newest commit of each version that is still known is searchable"
_NO_RECORD = "the record of its default branch's newest commit is lost: older commits are no longer searchable"


@dataclass(frozen=True, slots=True)
class Lost:
    """Something that can't be restored, by kind and name; ``paths`` are files known to be missing."""

    kind: str
    name: str
    detail: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VersionToReindex:
    """A version to index again; ``ref`` is its key, empty for the default branch."""

    repo: str
    ref: str
    full: bool = False


@dataclass(frozen=True, slots=True)
class MendedCatalog:
    """What remains to be done after the catalog's repair, and what is lost."""

    anew: tuple[VersionToReindex, ...] = ()
    lost: tuple[Lost, ...] = ()
    summaries: tuple[Place, ...] = ()


def mend_catalog(
    store: Store,
    lost_documents: Sequence[str],
    written: Sequence[Place],
    entries: Sequence[Repository] = (),
    *,
    may_lack: bool = False,
) -> MendedCatalog:
    """Make head document, transactions and rows agree, with no transaction open; ``written`` transactions have rows.

    ``entries`` are repository records kept outside the catalog. With ``may_lack``, documents whose keys are lost too
    may be missing. What readers could not see is deleted; the vectors of deleted rows stay in the cache.
    """
    document = store.read_document(HEAD_KEY)
    _restore_repositories(store, Head.from_json(document.body) if document else None, lost_documents, entries)
    if document is None:
        mended = _without_head(store, lost_documents, written)
    else:
        mended = _with_head(store, Head.from_json(document.body), lost_documents, written)
    for kept in store.list_documents(""):
        if kept.key.startswith(_OF_RUNS):
            store.delete_document(kept.key)
        elif kept.key.startswith(JOB_PREFIX):
            store.write_document(kept.key, migrated_body(kept), kept.version)
    unknown = _unknown(store, entries) if may_lack and document is None else ()
    return replace(mended, lost=(*mended.lost, *unknown, *_lost_entries(lost_documents)))


def _unknown(store: DocumentStore, entries: Sequence[Repository]) -> Iterator[Lost]:
    """Yield the repositories that have a mirror here and that the catalog may have contained."""
    for entry in entries:
        if read_repository(store, entry.name) is None:
            yield Lost("repository", entry.name, f"run codequarry index {entry.origin} to index it again")


def _restore_repositories(
    store: DocumentStore, head: Head | None, lost_documents: Sequence[str], entries: Sequence[Repository]
) -> None:
    """Restore the lost records of repositories that the head document has or that lost documents name."""
    for entry in entries:
        if head:
            name = next((state.repo for state in head.timelines.values() if state.repo_id == entry.id), None)
        else:
            name = entry.name if REPOSITORY_PREFIX + entry.name in lost_documents else None
        if name and entry.id and read_repository(store, name) is None:
            save_repository(store, replace(entry, name=name))


def _with_head(store: Store, head: Head, lost_documents: Sequence[str], written: Sequence[Place]) -> MendedCatalog:
    for number, timeline in head.open.items():
        undo_rows(store, timeline, number)
    head = successor(head)
    lost = [*_lost_states(head, lost_documents)]
    for repo in sorted({state.repo for state in head.timelines.values()}):
        if read_repository(store, repo) is None:
            head = forget(head, repo)
            lost.append(Lost("repository", repo, _NO_ORIGIN))
    head, anew = _without_unknown(store, head)
    full = [version.repo for version in anew if version.full]
    lost += [Lost("history", repo, _NO_RECORD) for repo in full if _has_older(store, head, repo)]
    known_timelines = frozenset(with_logs(head.timelines))
    for timeline, number in written:
        if timeline not in known_timelines or number in head.hidden:
            store.undo(timeline, number)
    _write_head(store, head)
    known = [place for place in map(_summarised, lost_documents) if place and place[0] in head.timelines]
    return MendedCatalog(tuple(anew), tuple(lost), tuple(known))


def _has_older(store: DocumentStore, head: Head, repo: str) -> bool:
    """Return whether older commits of a default branch are still known; indexing it again drops them."""
    return bool(store.list_documents(transactions_prefix(head.defaults[repo])))


def _without_unknown(store: DocumentStore, head: Head) -> tuple[Head, list[VersionToReindex]]:
    """Drop from the head document versions whose commit or base lost its record; return the versions to index again."""
    anew: list[VersionToReindex] = []
    for timeline, state in head.timelines.items():
        needed = {(timeline, state.published), *state.pins}
        if all(read_transaction(store, *place) for place in needed):
            continue
        if head.defaults.get(state.repo) == timeline:
            # The default branch stays in the head document until it is indexed again.
            anew.append(VersionToReindex(state.repo, "", full=True))
            continue
        if state.ref:
            anew.append(VersionToReindex(state.repo, state.ref))
        head = drop_name(head, timeline) if head.pinned(timeline) else drop_timeline(head, timeline)
    return head, anew


def _without_head(store: Store, lost_documents: Sequence[str], written: Sequence[Place]) -> MendedCatalog:
    """Start with an empty head document that counts on from the highest number, and index every known version again."""
    repositories = list_repositories(store)
    named = (key.removeprefix(REPOSITORY_PREFIX) for key in lost_documents if key.startswith(REPOSITORY_PREFIX))
    gone = [name for name in named if read_repository(store, name) is None]
    transactions = [_place(document.key) for document in store.list_documents(TRANSACTION_PREFIX)]
    numbers = [store.newest_number(), *(number for place in (*transactions, *written) for number in place)]
    for timeline, number in written:
        store.undo(timeline, number)
    for prefix in _OF_TIMELINES:
        for document in store.list_documents(prefix):
            store.delete_document(document.key)
    if max(numbers):
        _write_head(store, Head(counter=max(numbers)))
    # The keys of lost documents name versions too.
    lost_refs = (key.removeprefix(REF_PREFIX).partition("\n") for key in lost_documents if key.startswith(REF_PREFIX))
    versions = {(ref.repo, ref.ref) for ref in list_ref_heads(store)} | {(repo, ref) for repo, _, ref in lost_refs}
    names = {repository.name for repository in repositories}
    anew = [VersionToReindex(name, "") for name in sorted(names)]
    anew += [VersionToReindex(repo, ref) for repo, ref in sorted(versions) if ref and repo in names]
    had_any = max(numbers) or HEAD_KEY in lost_documents
    lost = [Lost("history", repository.name, _NO_HISTORY) for repository in repositories if had_any]
    return MendedCatalog(tuple(anew), (*lost, *(Lost("repository", name, _NO_ORIGIN) for name in gone)))


def _write_head(store: DocumentStore, head: Head) -> None:
    known = store.read_document(HEAD_KEY)
    store.write_document(HEAD_KEY, head.to_json(), known.version if known else None)


def _lost_states(head: Head, lost_documents: Sequence[str]) -> Iterator[Lost]:
    """Yield the older commits whose records are lost; the newest commit of a version is indexed again."""
    for key in lost_documents:
        if not key.startswith(TRANSACTION_PREFIX):
            continue
        timeline, number = _place(key)
        state = head.timelines.get(timeline)
        kept = state and (state.floor <= number < state.published or number in head.pinned(timeline))
        if state and kept and number not in head.hidden:
            yield Lost("commit", state.repo, f"an older commit (transaction {number}) is no longer searchable")


def _lost_entries(lost_documents: Sequence[str]) -> Iterator[Lost]:
    for key in lost_documents:
        if key.startswith(KEY_PREFIX):
            detail = "this API key and its grants are lost: run codequarry keys create to make a new key"
            yield Lost("key", key.removeprefix(KEY_PREFIX), detail)
        elif key.startswith((JOB_PREFIX, ENDED_PREFIX)):
            yield Lost("job", key.partition(":")[2], "its request or result is lost: request it again")
        elif key.startswith((UNMASKED, REMOVAL_PREFIX)):
            yield Lost("note", key, "the noted work won't finish by itself: index or remove the repository again")


def _summarised(key: str) -> Place | None:
    return _place(key) if key.startswith(SUMMARY_PREFIX) else None


def _place(key: str) -> Place:
    _, timeline, number = key.split(":")
    return int(timeline), int(number)
