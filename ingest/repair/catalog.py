"""The catalog of a repaired index: what is left of it made consistent, and what of it is lost for good."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from codequarry.ingest.garbage_collection.unmasked_rows import NOTE as UNMASKED
from codequarry.ingest.migration.switch import carried
from codequarry.ingest.removal.interrupted_removal import REMOVAL_PREFIX
from codequarry.ingest.transaction.chores import BATCHES, CHORES
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
from codequarry.shared.versions.head import HEAD_KEY, Head, Place
from codequarry.shared.versions.moves import successor
from codequarry.shared.versions.transactions import (
    TRANSACTION_PREFIX,
    drop_name,
    drop_timeline,
    forget,
    transactions_prefix,
)

# What belongs to transactions that nobody works on any more.
_OF_RUNS = (PROGRESS_PREFIX, BATCHES)
# What belongs to timelines that are no more, where the head document is lost.
_OF_TIMELINES = (TRANSACTION_PREFIX, SUMMARY_PREFIX, CHORES, SWEEP, SWEPT)
_NO_ORIGIN = "where it comes from is lost: codequarry index ORIGIN indexes it again"
_NO_HISTORY = "the head document is lost: only the newest commits of the versions that are still known are searchable"
_NO_RECORD = "what is known of the newest commit of its default branch is lost: older ones can't be searched any more"


@dataclass(frozen=True, slots=True)
class Lost:
    """Something that can't be made again, by its kind and name; ``paths`` are files that are known to be missing."""

    kind: str
    name: str
    detail: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Anew:
    """A version that is indexed again; ``ref`` is its key, empty for the default branch."""

    repo: str
    ref: str
    full: bool = False


@dataclass(frozen=True, slots=True)
class MendedCatalog:
    """What is left to do after the catalog was mended, and what of it is lost."""

    anew: tuple[Anew, ...] = ()
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
    """Make head document, transactions and rows agree, with nothing open; ``written`` are the transactions with rows.

    ``entries`` are records of repositories that are known from elsewhere; the catalog ``may_lack`` documents whose
    names are lost too. What readers could not see before is deleted. The vectors of deleted rows stay in the cache.
    """
    document = store.read_document(HEAD_KEY)
    _restore_repositories(store, Head.from_json(document.body) if document else None, lost_documents, entries)
    if document is None:
        mended = _without_head(store, lost_documents, written)
    else:
        mended = _with_head(store, Head.from_json(document.body), lost_documents, written)
    for one in store.list_documents(""):
        if one.key.startswith(_OF_RUNS):
            store.delete_document(one.key)
        elif one.key.startswith(JOB_PREFIX):
            store.write_document(one.key, carried(one), one.version)
    unknown = _unknown(store, entries) if may_lack and document is None else ()
    return replace(mended, lost=(*mended.lost, *unknown, *_lost_entries(lost_documents)))


def _unknown(store: DocumentStore, entries: Sequence[Repository]) -> Iterator[Lost]:
    """Name the repositories with a mirror here where nothing tells any more whether the catalog had them."""
    for entry in entries:
        if read_repository(store, entry.name) is None:
            yield Lost("repository", entry.name, f"codequarry index {entry.origin} indexes it again")


def _restore_repositories(
    store: DocumentStore, head: Head | None, lost_documents: Sequence[str], entries: Sequence[Repository]
) -> None:
    """Write lost records again of repositories that the head document has, or that the catalog had by name."""
    for entry in entries:
        if head:
            name = next((state.repo for state in head.timelines.values() if state.repo_id == entry.id), None)
        else:
            name = entry.name if REPOSITORY_PREFIX + entry.name in lost_documents else None
        if name and entry.id and read_repository(store, name) is None:
            save_repository(store, replace(entry, name=name))


def _with_head(store: Store, head: Head, lost_documents: Sequence[str], written: Sequence[Place]) -> MendedCatalog:
    for number, timeline in head.open.items():
        store.undo(timeline, number)
    head = successor(head)
    lost = [*_lost_states(head, lost_documents)]
    for repo in sorted({state.repo for state in head.timelines.values()}):
        if read_repository(store, repo) is None:
            head = forget(head, repo)
            lost.append(Lost("repository", repo, _NO_ORIGIN))
    head, anew = _without_unknown(store, head)
    lost += [Lost("history", one.repo, _NO_RECORD) for one in anew if one.full and _has_older(store, head, one.repo)]
    for timeline, number in written:
        if timeline not in head.timelines or number in head.hidden:
            store.undo(timeline, number)
    _write_head(store, head)
    known = [place for place in map(_summarised, lost_documents) if place and place[0] in head.timelines]
    return MendedCatalog(tuple(anew), tuple(lost), tuple(known))


def _has_older(store: DocumentStore, head: Head, repo: str) -> bool:
    """Return whether older commits of a default branch are still known, which go when it is indexed again."""
    return bool(store.list_documents(transactions_prefix(head.defaults[repo])))


def _without_unknown(store: DocumentStore, head: Head) -> tuple[Head, list[Anew]]:
    """Take versions out of the head document whose commit, or the state that they lie on, is known by number alone.

    They are indexed anew. The default branch stays as it is until that is done.
    """
    anew: list[Anew] = []
    for timeline, state in head.timelines.items():
        needed = {(timeline, state.published), *state.pins}
        if all(read_transaction(store, *place) for place in needed):
            continue
        if head.defaults.get(state.repo) == timeline:
            anew.append(Anew(state.repo, "", full=True))
            continue
        if state.ref:
            anew.append(Anew(state.repo, state.ref))
        head = drop_name(head, timeline) if head.pinned(timeline) else drop_timeline(head, timeline)
    return head, anew


def _without_head(store: Store, lost_documents: Sequence[str], written: Sequence[Place]) -> MendedCatalog:
    """Begin with an empty head document that counts on from the highest number, and all known versions to index."""
    repositories = list_repositories(store)
    named = (key.removeprefix(REPOSITORY_PREFIX) for key in lost_documents if key.startswith(REPOSITORY_PREFIX))
    gone = [name for name in named if read_repository(store, name) is None]
    transactions = [_place(one.key) for one in store.list_documents(TRANSACTION_PREFIX)]
    numbers = [store.newest_number(), *(number for place in (*transactions, *written) for number in place)]
    for timeline, number in written:
        store.undo(timeline, number)
    for prefix in _OF_TIMELINES:
        for one in store.list_documents(prefix):
            store.delete_document(one.key)
    if max(numbers):
        _write_head(store, Head(counter=max(numbers)))
    # The keys of documents that are lost name versions too.
    lost_refs = (key.removeprefix(REF_PREFIX).partition("\n") for key in lost_documents if key.startswith(REF_PREFIX))
    versions = {(one.repo, one.ref) for one in list_ref_heads(store)} | {(repo, ref) for repo, _, ref in lost_refs}
    names = {one.name for one in repositories}
    anew = [Anew(name, "") for name in sorted(names)]
    anew += [Anew(repo, ref) for repo, ref in sorted(versions) if ref and repo in names]
    had_any = max(numbers) or HEAD_KEY in lost_documents
    lost = [Lost("history", one.name, _NO_HISTORY) for one in repositories if had_any]
    return MendedCatalog(tuple(anew), (*lost, *(Lost("repository", name, _NO_ORIGIN) for name in gone)))


def _write_head(store: DocumentStore, head: Head) -> None:
    known = store.read_document(HEAD_KEY)
    store.write_document(HEAD_KEY, head.to_json(), known.version if known else None)


def _lost_states(head: Head, lost_documents: Sequence[str]) -> Iterator[Lost]:
    """Name the older commits whose records are lost; the newest one of a version is indexed anew."""
    for key in lost_documents:
        if not key.startswith(TRANSACTION_PREFIX):
            continue
        timeline, number = _place(key)
        state = head.timelines.get(timeline)
        kept = state and (state.floor <= number < state.published or number in head.pinned(timeline))
        if state and kept and number not in head.hidden:
            yield Lost("commit", state.repo, f"an older commit (transaction {number}) can't be searched any more")


def _lost_entries(lost_documents: Sequence[str]) -> Iterator[Lost]:
    for key in lost_documents:
        if key.startswith(KEY_PREFIX):
            detail = "this API key and its grants are lost: codequarry keys create makes another one"
            yield Lost("key", key.removeprefix(KEY_PREFIX), detail)
        elif key.startswith((JOB_PREFIX, ENDED_PREFIX)):
            yield Lost("job", key.partition(":")[2], "what it was to do, or did, is lost: ask for it again")
        elif key.startswith((UNMASKED, REMOVAL_PREFIX)):
            yield Lost("note", key, "what it noted is not finished by itself: index or remove the repository once more")


def _summarised(key: str) -> Place | None:
    return _place(key) if key.startswith(SUMMARY_PREFIX) else None


def _place(key: str) -> Place:
    _, timeline, number = key.split(":")
    return int(timeline), int(number)
