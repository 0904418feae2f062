"""Reads the missing files of kept commits from git and writes them into the transactions that had them.

No process reads the index during the repair, so what these transactions published is restored, not changed (rule 2).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from codequarry.ingest.files.read_file import ReadingRules
from codequarry.ingest.files.reading_order import ReadingOrder
from codequarry.ingest.files.reading_pool import open_readers, reading_processes
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.fsck.versions import Version, read_version
from codequarry.ingest.git.mirror_cache import mirror_in_use
from codequarry.ingest.git.origins import origin_of_record
from codequarry.ingest.history.file_histories import DatingReaders, FileHistories
from codequarry.ingest.request.index_request import IndexRequest, Workshop
from codequarry.ingest.request.progress import Watch
from codequarry.ingest.source.source import fetch_commit
from codequarry.ingest.transaction.lease import Held
from codequarry.ingest.transaction.plan import skips
from codequarry.ingest.transaction.writer import Writer
from codequarry.ingest.transaction.written import Written
from codequarry.shared.catalog.ledger import read_head, read_transaction
from codequarry.shared.catalog.repositories import Repository, Summary, save_summary
from codequarry.shared.model import INDEXED, FileRecord, Filters
from codequarry.shared.repositories.followed_versions import settings_for, with_permitted_commentary
from codequarry.shared.repositories.mirror_folders import mirror_folder
from codequarry.shared.repositories.model_permission import check_model_allowed
from codequarry.shared.secret_counts import SecretCounts
from codequarry.shared.store.port import DocumentStore, RowReader, Store
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.snapshots import version_snapshot
from codequarry.shared.versions.transactions import TransactionRecord, transactions_prefix


@dataclass(frozen=True, slots=True)
class Gaps:
    """The files of a version that the index lacks, and the paths to retire, by transaction number."""

    missing: tuple[FileTask, ...]
    ended: Mapping[int, set[str]]


class NoLease:
    """Stands in for a lease when no other process can write."""

    def check(self) -> None:
        """Do nothing: no process can take over."""


def kept_records(store: DocumentStore, head: Head) -> list[TransactionRecord]:
    """Return every transaction that is searchable or the base of an overlay; full timelines first, by age."""
    found: list[TransactionRecord] = []
    for timeline, state in head.timelines.items():
        pinned = head.pinned(timeline)
        keys = (document.key for document in store.list_documents(transactions_prefix(timeline)))
        for number in (int(key.rpartition(":")[2]) for key in keys):
            is_kept = state.floor <= number <= state.published or number in pinned
            if is_kept and number not in head.hidden and (record := read_transaction(store, timeline, number)):
                found.append(record)
    return sorted(found, key=lambda record: (record.base is not None, record.number))


def fill_gaps(
    record: TransactionRecord, repository: Repository, workshop: Workshop, watch: Watch, *, fetching: bool
) -> Written:
    """Write a version's missing files, after a fetch if ``fetching``; raise GitError if the commit is lost."""
    store, settings = workshop.store, workshop.settings
    origin = origin_of_record(repository.origin)
    with mirror_in_use(mirror_folder(origin, settings.home)):
        if fetching:
            fetch_commit(origin, record.commit, settings, guarded=repository.guarded)
        version = read_version(record, repository, workshop)
        head = read_head(store)
        gaps = _find_gaps(record, version, store, head)
        for number, paths in sorted(gaps.ended.items()):
            store.retire(record.timeline, number, paths, head.hidden)
        return _write(gaps.missing, record, repository, version, workshop, watch)


def _find_gaps(record: TransactionRecord, version: Version, store: RowReader, head: Head) -> Gaps:
    found: dict[str, list[FileRecord]] = defaultdict(list)
    for file in store.files(version_snapshot(head, record)):
        found[file.path].append(file)
    tasks = version.tasks.items()
    right = {path: file for path, task in tasks for file in found.get(path, ()) if file.blob == task.blob}
    missing = tuple(task for path, task in tasks if path not in right)
    ended: dict[int, set[str]] = defaultdict(set)
    for path, records in found.items():
        for file in records:
            if file.timeline == record.timeline and file is not right.get(path):
                # The file ends where the commit's intact file version begins, or else at this commit.
                following = right.get(path)
                is_own = following is not None and following.timeline == record.timeline
                ended[following.born if following and is_own else record.number].add(path)
    return Gaps(missing, ended)


def _write(
    tasks: Sequence[FileTask],
    record: TransactionRecord,
    repository: Repository,
    version: Version,
    workshop: Workshop,
    watch: Watch,
) -> Written:
    if not tasks:
        return Written()
    settings = settings_for(workshop.settings, repository.origin, origin_of_record(repository.origin).host)
    check_model_allowed(settings, repository.name, repository.origin, workshop.embedder)
    watch.repo, watch.ref, watch.commit = repository.name, record.ref, record.commit
    watch.expect(len(tasks))
    held = Held(record.timeline, record.number, "", new=False)
    workshop = replace(workshop, settings=with_permitted_commentary(workshop.settings, repository.origin))
    writer = Writer(repository.name, held, workshop, NoLease(), IndexRequest(repository.origin))
    rules = ReadingRules.of(repository.name, settings, version.rules.secrets)
    assignment = ReadingOrder(version.mirror, rules, settings.indexing.process_memory_bytes)
    with closing(open_readers(assignment, reading_processes(tasks, settings.indexing))) as readers:
        histories = FileHistories(version.mirror, record.commit, rules, [task.path for task in tasks])
        written = writer.write(DatingReaders(readers, histories).read(tasks), watch)
    written.history_problem = histories.problem
    return written


def summarise(record: TransactionRecord, store: Store) -> None:
    """Recount the live files and chunks of a transaction."""
    snapshot = version_snapshot(read_head(store), record)
    records = list(store.files(snapshot))
    verdicts = Counter(file.verdict for file in records)
    secrets = SecretCounts.of_details(file.detail for file in records if file.verdict == INDEXED)
    chunks = store.count(snapshot, Filters())
    save_summary(
        store,
        Summary(
            record.timeline, record.number, verdicts[INDEXED], chunks, skips(verdicts), secrets.by_rule, secrets.files
        ),
    )
