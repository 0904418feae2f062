"""Restores what can't be read: vectors from texts, files and whole versions from git."""

from collections.abc import Callable

from codequarry.ingest.fsck.commit_log import note_incomplete
from codequarry.ingest.fsck.storage import embedded_text_of, mend_vectors
from codequarry.ingest.repair.catalog import Lost, VersionToReindex
from codequarry.ingest.repair.files import fill_gaps, kept_records, summarise
from codequarry.ingest.repair.note import RepairNote
from codequarry.ingest.repair.report import RepairReport
from codequarry.ingest.request.index_request import IndexRequest, ObserveRun, Workshop
from codequarry.ingest.request.progress import Watch
from codequarry.ingest.run.pipeline import index_repository
from codequarry.ingest.transaction.written import Written
from codequarry.shared.catalog.ledger import read_head, read_transaction
from codequarry.shared.catalog.repositories import read_repository
from codequarry.shared.embedding.tokens import estimate_tokens
from codequarry.shared.errors import CodequarryError, Interrupted, NotAtOrigin, Stopped, StoreError
from codequarry.shared.repositories.model_permission import check_all_may_leave
from codequarry.shared.store.port import RepairsVectors
from codequarry.shared.versions.commit_log import log_timeline
from codequarry.shared.versions.refs import Ref

# These errors end the repair itself.
FATAL_ERRORS = (Interrupted, Stopped, StoreError)

ReportLine = Callable[[str], None]


def restore_lost(note: RepairNote, workshop: Workshop, say: ReportLine, observe: ObserveRun) -> RepairReport:
    """Fill the gaps of a new folder, and report what was done and what is lost."""
    found, mended = note.salvage, note.mended
    say(
        f"{found.damaged_pages:,} of {found.pages:,} pages are damaged; {found.files:,} file versions are complete, "
        f"{len(found.incomplete):,} are known to be incomplete"
    )
    lost = list(mended.lost)
    if found.may_lack_documents:
        lost.append(Lost("catalog", "", "keys, grants or jobs may be lost without a trace: check that all are present"))
    embedded, tokens = _mend_vectors(workshop, say) if found.lost_vectors else (0, 0)
    written = Written()
    if found.incomplete or found.may_lack_rows:
        lost += _fill_all_gaps(note, workshop, written, say, observe)
    again = [_index_again(version, workshop, written, lost, observe) for version in mended.anew]
    for place in mended.summaries:
        if record := read_transaction(workshop.store, *place):
            summarise(record, workshop.store)
    return RepairReport(
        pages=found.pages,
        damaged_pages=found.damaged_pages,
        files=found.files,
        rows=found.rows,
        vectors=found.vectors,
        files_again=written.files,
        chunks_again=written.chunks,
        versions_again=tuple(filter(None, again)),
        embedded=written.embedded + embedded,
        reused_embeddings=written.reused,
        tokens=written.tokens + tokens,
        lost=tuple(lost),
    )


def _mend_vectors(workshop: Workshop, say: ReportLine) -> tuple[int, int]:
    """Embed the texts of lost vectors again; return the numbers of texts and of tokens."""
    store, embedder = workshop.store, workshop.embedder
    assert isinstance(store, RepairsVectors)
    texts = [embedded_text_of(chunk, embedder) for chunk in store.lost_vectors().values()]
    tokens = sum(estimate_tokens(embedder, text) for text in texts)
    if texts:
        say(f"{len(texts):,} vectors are lost; embedding their texts again, about {tokens:,} tokens")
        check_all_may_leave(workshop.settings, store, embedder)
    return mend_vectors(workshop), tokens


def _fill_all_gaps(
    note: RepairNote, workshop: Workshop, written: Written, say: ReportLine, observe: ObserveRun
) -> list[Lost]:
    """Restore from git the files that kept commits may lack; return what could not be restored."""
    store, lost = workshop.store, []
    unreachable: set[str] = set()
    paths: dict[int, list[str]] = {}
    for timeline, path in note.salvage.incomplete:
        paths.setdefault(timeline, []).append(path)
    records = kept_records(store, read_head(store))
    # The next import of the version writes its log again; older commits keep what is left of it.
    without_log = [record for record in records if note.salvage.may_lack_rows or log_timeline(record.timeline) in paths]
    for record in without_log:
        note_incomplete(store, record, log=True)
    if without_log:
        repos = ", ".join(sorted({record.repo for record in without_log}))
        say(f"searches for commits may lack some until the next codequarry index of {repos}")
    if not note.salvage.may_lack_rows:
        records = [record for record in records if record.timeline in paths]
    say(f"{len(records):,} kept commits are compared with git; missing files are read from there")
    for record in records:
        watch = Watch(store, observe, record.repo, saves=False)
        watch.say("comparing")
        repository = read_repository(store, record.repo)
        assert repository, "timelines without a repository in the catalog were dropped"
        try:
            fetching = record.repo not in unreachable
            written.add(fill_gaps(record, repository, workshop, watch, fetching=fetching))
        except FATAL_ERRORS:
            raise
        except CodequarryError as error:
            # Ask an unreachable origin only once: each attempt may take minutes.
            if not isinstance(error, NotAtOrigin):
                unreachable.add(record.repo)
            note_incomplete(store, record)
            detail = f"{record.ref} at {record.commit}: files are lost or may be lost: {error}"
            lost.append(Lost("files", record.repo, detail, tuple(sorted(set(paths.get(record.timeline, ()))))))
    if written.history_problem:
        say(written.history_problem)
    return lost


def _index_again(
    version: VersionToReindex, workshop: Workshop, written: Written, lost: list[Lost], observe: ObserveRun
) -> str:
    """Index a version of which only the name is left; return its display name, or "" on failure."""
    repository = read_repository(workshop.store, version.repo)
    ref = Ref.of_key(version.ref) if version.ref else None
    name = f"{version.repo} {ref.name if ref else 'default branch'}"
    try:
        if repository is None:
            return ""
        request = IndexRequest(repository.origin, ref, version.repo, full=version.full)
        done = index_repository(request, workshop, observe)
    except FATAL_ERRORS:
        raise
    except CodequarryError as error:
        lost.append(Lost("version", name, f"indexing it again failed: {error}"))
        return ""
    written.add(Written(done.files_changed, 0, done.chunks_written, done.embedded, done.reused_embeddings, done.tokens))
    return name
