"""Compares a published version with its commit in git, checks its repository, and repairs both."""

import random
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from codequarry.ingest.files.lister import ListingOrder
from codequarry.ingest.files.listing import list_files
from codequarry.ingest.files.read_file import ReadingRules
from codequarry.ingest.files.reading_order import ReadingOrder
from codequarry.ingest.files.reading_pool import open_readers, reading_processes
from codequarry.ingest.files.scan import FileTask, PathRules
from codequarry.ingest.fsck.catalog import check_catalog, drop_unrestorable_commits, mend_catalog
from codequarry.ingest.fsck.commit_log import check_log, note_incomplete
from codequarry.ingest.fsck.files import Inconsistency, check_files, is_readable
from codequarry.ingest.fsck.storage import check_readable, check_storage, mend_vectors
from codequarry.ingest.fsck.texts import check_skipped, check_text
from codequarry.ingest.garbage_collection.collector import collect_history
from codequarry.ingest.git.blob_reader import BlobReader
from codequarry.ingest.git.mirror_cache import mirror_in_use
from codequarry.ingest.git.mirrors import open_access
from codequarry.ingest.git.objects import Mirror
from codequarry.ingest.git.origins import origin_of_record
from codequarry.ingest.request.index_request import IndexReport, IndexRequest, ObserveRun, Workshop, ignore
from codequarry.ingest.request.progress import Watch
from codequarry.ingest.run.pipeline import index_repository
from codequarry.ingest.source.source import rules_of_commit
from codequarry.ingest.source.workspace import read_workspace
from codequarry.ingest.transaction.placement import current_timeline
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import Repository, read_repository
from codequarry.shared.errors import GitError, NotIndexed, UsageError
from codequarry.shared.model import INDEXED, FileRecord, Snapshot
from codequarry.shared.repositories.followed_versions import settings_for
from codequarry.shared.repositories.mirror_folders import mirror_folder
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import DocumentStore, RowReader
from codequarry.shared.versions.refs import Ref
from codequarry.shared.versions.snapshots import version_snapshot
from codequarry.shared.versions.transactions import TransactionRecord

# Number of files whose text is compared unless all are requested; they are picked at random in each run.
SAMPLED_FILES = 200


@dataclass(frozen=True, slots=True)
class FsckReport:
    """A version's problems; ``files`` paths were compared, ``texts`` by text, and verdicts only if ``same_rules``."""

    record: TransactionRecord
    files: int
    texts: int
    same_rules: bool
    problems: tuple[Inconsistency, ...]

    @property
    def wrong_paths(self) -> frozenset[str]:
        """The paths of files with a problem."""
        return frozenset(problem.path for problem in self.problems if problem.path)


@dataclass(frozen=True, slots=True)
class Version:
    """The files of a version, according to git and the settings."""

    mirror: Mirror
    rules: PathRules
    tasks: dict[str, FileTask]


def check_version(
    record: TransactionRecord, workshop: Workshop, observe: ObserveRun = ignore, *, full_text: bool = False
) -> FsckReport:
    """Compare a version with its commit; raise GitError if the mirror lacks it, NotIndexed if the version is gone."""
    repository = _repository(workshop.store, record.repo)
    with mirror_in_use(mirror_folder(origin_of_record(repository.origin), workshop.settings.home)):
        return _check_version(record, repository, workshop, observe, full_text=full_text)


def _check_version(
    record: TransactionRecord, repository: Repository, workshop: Workshop, observe: ObserveRun, *, full_text: bool
) -> FsckReport:
    store = workshop.store
    watch = Watch(store, observe, record.repo, saves=False)
    watch.say("listing")
    version = read_version(record, repository, workshop)
    store.refresh()
    watch.say("inspecting")
    problems = [*check_storage(store), *check_catalog(store, record.repo)]
    snapshot = version_snapshot(read_head(store), record)
    records = list(store.files(snapshot))
    same_rules = record.rules.startswith(version.rules.digest)
    watch.say("comparing")
    problems += check_files(version.tasks.values(), records, store.row_counts(snapshot), same_rules=same_rules)
    problems += check_log(store, read_head(store), record, version.mirror)
    read = _to_read(version, records, same_rules=same_rules, everything=full_text)
    watch.expect(len(read))
    problems += _check_texts(version, [file for file in read if file.verdict == INDEXED], store, snapshot, watch)
    problems += _check_skipped(version, [file for file in read if file.verdict != INDEXED], workshop.settings, watch)
    _check_kept(store, record)
    paths = version.tasks.keys() | {file.path for file in records}
    return FsckReport(record, len(paths), len(read), same_rules, tuple(problems))


def repair_version(report: FsckReport, workshop: Workshop, observe: ObserveRun = ignore) -> IndexReport | None:
    """Repair what a check found, in one step for readers; return the report of the run that rewrote paths, or None.

    Raise UsageError if files of an older commit are wrong, or if git can't repair the problem.
    """
    store, record = workshop.store, report.record
    head = read_head(store)
    state = head.timelines[record.timeline]
    repository = _repository(store, record.repo)
    is_current = record.timeline == current_timeline(head, record.repo, state.ref) and not state.former
    _check_repairable(report, is_newest=is_current and record.number == state.published)
    if any(problem.kind == "vectors" for problem in report.problems):
        mend_vectors(workshop)
    mend_catalog(store, record.repo, state.ref, workshop.settings.indexing.grace_seconds)
    done = None
    kinds = {problem.kind for problem in report.problems}
    if "log" in kinds:
        note_incomplete(store, record, log=True)
    if report.wrong_paths or kinds & {"open", "base", "log"}:
        ref = Ref.of_key(state.ref) if state.ref else None
        request = IndexRequest(repository.origin, ref, forced=report.wrong_paths)
        done = index_repository(request, workshop, observe)
    drop_unrestorable_commits(store, record.repo)
    collect_history(store, workshop.settings.retention, [record.repo])
    return done


def _check_repairable(report: FsckReport, *, is_newest: bool) -> None:
    if any(problem.kind == "counter" for problem in report.problems):
        raise UsageError(
            "the head document is older than the rows, so no transaction can repair them: restore both from the same "
            "backup, or index again into an empty store"
        )
    check_readable(report.problems)
    if (report.wrong_paths or any(problem.kind == "log" for problem in report.problems)) and not is_newest:
        raise UsageError(
            f"{report.record.commit} is not the newest commit of {report.record.ref}, and older commits never change; "
            "repair the newest commit, and index this commit again with codequarry index ORIGIN --commit SHA"
        )


def read_version(record: TransactionRecord, repository: Repository, workshop: Workshop) -> Version:
    """List the files of a version according to the settings and its ignore file."""
    key = read_head(workshop.store).timelines[record.timeline].ref
    if key and (ref := Ref.of_key(key)).kind == "workspace":
        return _read_working_tree(record, ref, repository, workshop.settings)
    return _read_commit(record, repository, workshop.settings)


def _read_working_tree(record: TransactionRecord, ref: Ref, repository: Repository, settings: SettingsModel) -> Version:
    source = read_workspace(origin_of_record(repository.origin), ref, settings)
    if not record.rules.endswith(source.state) or record.commit != source.commit:
        raise GitError(
            f"{ref.value} has changed since it was indexed, and only this folder has its files: "
            f"run codequarry index --workspace {ref.value}, then check again"
        )
    return Version(source.mirror, source.rules, {task.path: task for task in source.tasks})


def _read_commit(record: TransactionRecord, repository: Repository, settings: SettingsModel) -> Version:
    origin = origin_of_record(repository.origin)
    settings = settings_for(settings, origin.url, origin.host)
    mirror = open_access(origin, settings.git, settings.home).mirror
    if mirror.commit_of(record.commit) is None:
        raise GitError(
            f"{mirror.folder} lacks commit {record.commit} of {record.repo}: "
            f"codequarry index {repository.origin} fetches the newest commit"
        )
    rules = rules_of_commit(settings, mirror, record.commit)
    limits = settings.indexing
    order = ListingOrder(mirror.folder, mirror.environment, record.commit, rules, limits.max_paths)
    return Version(mirror, rules, {task.path: task for task in list_files(order, limits)})


def _to_read(
    version: Version, records: Sequence[FileRecord], *, same_rules: bool, everything: bool
) -> list[FileRecord]:
    """Return the records whose blob is worth reading, or a random sample of them."""
    readable = [
        record
        for record in records
        if is_readable(record, version.tasks.get(record.path)) and (same_rules or record.verdict == INDEXED)
    ]
    if everything or len(readable) <= SAMPLED_FILES:
        return readable
    return random.sample(readable, SAMPLED_FILES)


def _check_texts(
    version: Version, records: Sequence[FileRecord], store: RowReader, snapshot: Snapshot, watch: Watch
) -> list[Inconsistency]:
    problems: list[Inconsistency] = []
    with BlobReader(version.mirror) as blobs:
        for record in records:
            chunks = store.chunks(snapshot, record.path, record.repo)
            text = [chunk for chunk in chunks if not chunk.is_summary]
            problems += check_text(record, blobs.read(record.blob), text)
            watch.advance(1, len(chunks))
    return problems


def _check_skipped(
    version: Version, records: Sequence[FileRecord], settings: SettingsModel, watch: Watch
) -> list[Inconsistency]:
    """Judge again the files that were skipped for their content, in child processes as a run does."""
    problems: list[Inconsistency] = []
    by_path = {record.path: record for record in records}
    tasks = [version.tasks[path] for path in by_path]
    rules = ReadingRules.of(records[0].repo if records else "", settings, version.rules.secrets)
    assignment = ReadingOrder(version.mirror, rules, settings.indexing.process_memory_bytes)
    with closing(open_readers(assignment, reading_processes(tasks, settings.indexing))) as readers:
        for file in readers.read(tasks):
            problems += check_skipped(by_path[file.task.path], file)
            watch.advance(1, 0)
    return problems


def _check_kept(store: DocumentStore, record: TransactionRecord) -> None:
    """Raise NotIndexed if the version was collected during the comparison."""
    state = read_head(store).timelines.get(record.timeline)
    if state is None or record.number < state.floor:
        raise NotIndexed(f"{record.repo} at {record.commit} was dropped by the retention rules during the check")


def _repository(store: DocumentStore, name: str) -> Repository:
    repository = read_repository(store, name)
    if repository is None:
        raise NotIndexed(f"'{name}' is not indexed")
    return repository
