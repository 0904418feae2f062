"""Files of kept commits that the index lacks, read from git again and written into the transactions that had them.

Nobody reads the index meanwhile, so what these transactions published is put back, not changed (rule 2).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from codequarry.ingest.files.reader import ReadingRules
from codequarry.ingest.files.reading_pool import open_readers, reading_processes
from codequarry.ingest.files.reading_process import ReadingOrder
from codequarry.ingest.files.scan import FileTask
from codequarry.ingest.fsck.versions import Version, read_version
from codequarry.ingest.git.mirror_cache import mirror_in_use
from codequarry.ingest.git.mirrors import mirror_folder
from codequarry.ingest.git.origins import origin_of_record
from codequarry.ingest.request.index_request import IndexRequest, Workshop
from codequarry.ingest.request.progress import Watch
from codequarry.ingest.source.source import fetch_commit
from codequarry.ingest.transaction.lease import Held
from codequarry.ingest.transaction.plan import skips
from codequarry.ingest.transaction.writer import Writer, Written
from codequarry.shared.catalog.ledger import read_head, read_transaction
from codequarry.shared.catalog.repositories import Repository, Summary, save_summary
from codequarry.shared.model import INDEXED, FileRecord, Filters
from codequarry.shared.repositories.followed_versions import settings_for
from codequarry.shared.repositories.model_permission import check_model_place
from codequarry.shared.secret_counts import SecretCounts
from codequarry.shared.store.port import DocumentStore, RowReader, Store
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.snapshots import version_snapshot
from codequarry.shared.versions.transactions import TransactionRecord, transactions_prefix

# Behind the rules of a commit of which files are missing: no import has such rules.
INCOMPLETE = "!"


@dataclass(frozen=True, slots=True)
class Gaps:
    """What the index lacks of a version, and at which numbers paths end that it shows and the version has not."""

    missing: tuple[FileTask, ...]
    ended: Mapping[int, set[str]]


class NoLease:
    """Takes the place of a lease where no other process can write."""

    def check(self) -> None:
        """Do nothing: nobody can take over."""


def kept_records(store: DocumentStore, head: Head) -> list[TransactionRecord]:
    """Return every transaction that somebody may ask for, or that an overlay lies on: those of bases first, by age."""
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
    """Write what the index lacks of the version that a transaction published, and return how much that was.

    GitError where neither this machine nor, if that is asked, the origin has its commit.
    """
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
    """Compare a commit with what the index shows of it.

    What was written for an older commit ends where a version of the file that was not lost begins, or here.
    """
    found: dict[str, list[FileRecord]] = defaultdict(list)
    for one in store.files(version_snapshot(head, record)):
        found[one.path].append(one)
    right = {path: one for path, task in version.tasks.items() for one in found.get(path, ()) if one.blob == task.blob}
    missing = tuple(task for path, task in version.tasks.items() if path not in right)
    ended: dict[int, set[str]] = defaultdict(set)
    for path, records in found.items():
        for one in records:
            if one.timeline == record.timeline and one is not right.get(path):
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
    check_model_place(settings, repository.name, repository.origin, workshop.embedder)
    watch.repo, watch.ref, watch.commit = repository.name, record.ref, record.commit
    watch.expect(len(tasks))
    held = Held(record.timeline, record.number, "", new=False)
    writer = Writer(repository.name, held, workshop, NoLease(), IndexRequest(repository.origin))
    rules = ReadingRules.of(repository.name, settings, version.rules.secrets)
    assignment = ReadingOrder(version.mirror, rules, settings.indexing.process_memory_bytes)
    with closing(open_readers(assignment, reading_processes(tasks, settings.indexing))) as readers:
        return writer.write(readers.read(tasks), watch)


def note_incomplete(store: DocumentStore, record: TransactionRecord) -> None:
    """Let the next import of a version compare all files, as when rules have changed, although its commit is known."""
    document = store.read_document(record.key)
    if document and not record.rules.endswith(INCOMPLETE):
        body = {**document.body, "rules": record.rules + INCOMPLETE}
        store.write_document(record.key, body, document.version)


def summarise(record: TransactionRecord, store: Store) -> None:
    """Count again what a transaction left live."""
    snapshot = version_snapshot(read_head(store), record)
    records = list(store.files(snapshot))
    verdicts = Counter(one.verdict for one in records)
    secrets = SecretCounts.of_details(one.detail for one in records if one.verdict == INDEXED)
    chunks = store.count(snapshot, Filters())
    save_summary(
        store,
        Summary(
            record.timeline, record.number, verdicts[INDEXED], chunks, skips(verdicts), secrets.by_rule, secrets.files
        ),
    )
