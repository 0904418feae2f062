"""Records the newest commits that a fetch saw of a repository's versions; answers derive their freshness from them."""

from contextlib import suppress
from datetime import UTC, datetime

from codequarry.ingest.git.ancestry import count_behind
from codequarry.ingest.source.source import FileSource, note_fetched
from codequarry.ingest.transaction.run_report import Run
from codequarry.ingest.transaction.seen_heads import note_listing, published_commit
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import RefHead, Repository, read_ref_head, save_ref_head
from codequarry.shared.errors import StoreError
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.telemetry.metrics import observe_lag
from codequarry.shared.timestamps import now


def note_fetch(run: Run) -> None:
    """Write the newest commit of the fetched version, and of the other versions that the origin was asked about.

    A first import may call this only once it holds the lease: of two such imports, only one gets the default branch.
    """
    store = run.workshop.store
    if not run.source.key:
        note_fetched(run.repository, store)
    _note_seen(store, run.repository, run.source)


def observe_published(run: Run) -> None:
    """Record the time from when a commit was first seen until this run published it."""
    seen_at = [run.request.seen_at] if run.request.seen_at else []
    with suppress(StoreError):  # the run has published; only the measurement is lost
        known = read_ref_head(run.workshop.store, run.repository.name, run.source.key, run.repository.id)
        if known and known.commit == run.source.commit and known.seen_at:
            seen_at.append(known.seen_at)
    if seen_at:
        seen = min(map(datetime.fromisoformat, seen_at))
        observe_lag((datetime.now(UTC) - seen).total_seconds(), first=run.is_first)


def _note_seen(store: DocumentStore, repository: Repository, source: FileSource) -> None:
    head, repo, repo_id = read_head(store), repository.name, repository.id
    # Until a new default branch is published, its commits say nothing about the published default branch.
    if source.key or head.default_branch(repo) in ("", source.ref.value):
        published = published_commit(head, repo, source.key)
        behind = count_behind(source.mirror, source.commit, published)
        asked_at = source.listing.asked_at or now("seconds")
        save_ref_head(store, RefHead(repo, source.key, source.commit, asked_at, published, behind, repo_id=repo_id))
    note_listing(store, repository, source.listing, source.key, source.mirror)
