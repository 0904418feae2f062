"""Moves an index to another model: fills a new edition from the stored text and switches to it when complete.

Readers and writers use the old edition until so little is left to copy that writers can wait for it (rule 17).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from codequarry.ingest.migration.copier import Copier
from codequarry.ingest.migration.leftovers import remove_left_editions
from codequarry.ingest.migration.note import (
    NOTE_KEY,
    MigrationHeartbeat,
    MigrationNote,
    await_end,
    claim_note,
    read_note,
)
from codequarry.ingest.migration.switch import copy_documents, switch
from codequarry.ingest.request.index_request import ObserveRun, ignore
from codequarry.ingest.transaction.holder import new_holder, retire_holder
from codequarry.shared.catalog.ledger import published_transactions, read_head
from codequarry.shared.catalog.repositories import Progress
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.embedding.strides import described_strides
from codequarry.shared.index.identity import Identity, claim_identity, has_strides, read_identity
from codequarry.shared.index.opened_index import open_active, open_settings_model
from codequarry.shared.repositories.model_permission import check_all_may_leave
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.editions import Editions
from codequarry.shared.store.factory import editions_of
from codequarry.shared.store.port import Store
from codequarry.shared.timestamps import now
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.moves import published

# If a pass copied no more rows and records than this, the last pass is made while writers wait, for a second or two.
LAST_PASS_ROWS = 2_000
# After this many passes, writers wait even if they publish faster than a pass copies.
MAX_PASSES = 10


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """What a migration did; ``moved`` is False if the index is empty or already has the model.

    ``files`` and ``chunks`` include retired versions that are still searchable. ``refused`` has (path, reason).
    """

    model: str
    name: str
    dimension: int
    previous: str
    edition: int
    moved: bool
    files: int = 0
    chunks: int = 0
    embedded: int = 0
    reused_embeddings: int = 0
    tokens: int = 0
    seconds: float = 0.0
    resumed: bool = False
    refused: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Work:
    editions: Editions
    old: Store
    new: Store
    edition: int
    embedder: Embedder
    note: MigrationNote
    observe: ObserveRun
    resumed: bool
    permit: Callable[[], None]


@dataclass(frozen=True, slots=True)
class _Plan:
    settings: SettingsModel
    editions: Editions
    active: int
    old: Store
    identity: Identity
    embedder: Embedder
    observe: ObserveRun

    @property
    def wait(self) -> float:
        """Seconds to wait for another migration that may have died."""
        return self.settings.indexing.lease_seconds


def with_model(settings: SettingsModel, model: str) -> SettingsModel:
    """Return the settings with a different embedding model."""
    return settings.model_copy(update={"embedding": settings.embedding.model_copy(update={"model": model})})


def migrate(settings: SettingsModel, model: str, observe: ObserveRun = ignore) -> MigrationReport:
    """Move the index to ``model``. After an interruption at any point, the next call resumes."""
    settings = with_model(settings, model)
    with closing(editions_of(settings)) as editions, closing(open_settings_model(settings)) as embedder:
        remove_left_editions(editions, settings.retention.grace_seconds)
        active, old = open_active(editions)
        nothing = MigrationReport(model, embedder.name, embedder.dimension, "", active, moved=False)
        if old is None:
            return nothing
        with closing(old):
            identity = read_identity(old)
            if identity is None:
                return nothing
            is_same = (identity.model, identity.dimension) == (embedder.name, embedder.dimension)
            if is_same and has_strides(identity, embedder, settings.embedding):
                return replace(nothing, previous=identity.model)
            check_all_may_leave(settings, old, embedder)
            with _claimed(_Plan(settings, editions, active, old, identity, embedder, observe)) as work:
                return _move(work, identity.model)


@contextmanager
def _claimed(plan: _Plan) -> Iterator[_Work]:
    """Open the edition to fill: a new one, or the edition of an interrupted migration to the same model."""
    holder = new_holder()
    strides = described_strides(plan.embedder.max_tokens, plan.settings.embedding)
    note = MigrationNote(
        plan.embedder.name, plan.settings.embedding.model, holder, now("seconds"), now("seconds"), strides=strides
    )

    def say(phase: str) -> None:
        plan.observe(_progress(replace(note, phase=phase)))

    try:
        edition = _destination(plan, strides, say)
        with closing(plan.editions.open(edition, plan.embedder.dimension)) as new:
            claimed, resumed = claim_note(new, note, plan.wait, say)
            claim_identity(new, plan.embedder, plan.settings.embedding, plan.identity.chunker)

            def permit() -> None:
                check_all_may_leave(plan.settings, plan.old, plan.embedder)

            yield _Work(plan.editions, plan.old, new, edition, plan.embedder, claimed, plan.observe, resumed, permit)
    finally:
        retire_holder(holder)


def _destination(plan: _Plan, strides: str, say: Callable[[str], None]) -> int:
    """Return the edition to fill; delete what an unfinished migration to another model or other strides left behind."""
    wanted = (plan.embedder.name, plan.embedder.dimension, strides)
    present = plan.editions.present()
    for edition in (number for number in present if number > plan.active):
        dimension = plan.editions.dimension(edition)
        if dimension is not None:
            with closing(plan.editions.open(edition, dimension)) as store:
                left = read_note(store)
                if left and (left.model, dimension, left.strides) == wanted:
                    return edition
                await_end(store, plan.wait, say)
        plan.editions.remove(edition)
    return max(present, default=plan.active) + 1


def _move(work: _Work, previous: str) -> MigrationReport:
    started = time.monotonic()
    with MigrationHeartbeat(work.old, work.new, work.note) as pulse:
        until = {int(timeline): number for timeline, number in work.note.copied.items()}
        pulse.update(files_total=_file_versions(work.old, read_head(work.old), until), files_done=0, chunks_done=0)

        def advance(files: int, chunks: int) -> None:
            pulse.check()
            note = pulse.note
            changes = {"files_done": note.files_done + files, "chunks_done": note.chunks_done + chunks}
            work.observe(_progress(pulse.update(**changes)))

        copier = Copier(work.old, work.new, work.embedder, until, advance, work.permit)
        copier.takes_vectors = previous == work.embedder.name
        _fill(work, copier, pulse)
        work.observe(_progress(pulse.update(phase="switching")))
        switch(work.old, work.new, copier, pulse, work.edition)
        work.editions.activate(work.edition)
    work.new.delete_document(NOTE_KEY)
    copied = copier.copied
    return MigrationReport(
        model=work.note.setting,
        name=work.embedder.name,
        dimension=work.embedder.dimension,
        previous=previous,
        edition=work.edition,
        moved=True,
        files=copied.files,
        chunks=copied.chunks,
        embedded=copied.embedded,
        reused_embeddings=copied.reused,
        tokens=copied.tokens,
        seconds=time.monotonic() - started,
        resumed=work.resumed,
        refused=tuple(sorted({(path, reason) for (_, _, path), reason in copied.refused.items()})),
    )


def _fill(work: _Work, copier: Copier, pulse: MigrationHeartbeat) -> None:
    for number in range(MAX_PASSES):
        work.observe(_progress(pulse.update(phase="catching up" if number else "copying")))
        found = copier.catch_up(read_head(work.old))
        pulse.update(copied={str(timeline): until for timeline, until in copier.until.items()})
        pulse.save()
        pulse.check()
        copy_documents(work.old, work.new)
        if found <= LAST_PASS_ROWS:
            return


def _file_versions(store: Store, head: Head, until: dict[int, int]) -> int:
    """Return the approximate number of file versions to copy: the paths that the transactions changed."""
    return sum(
        record.changed_paths
        for timeline in published(head)
        for record in published_transactions(store, head, timeline)
        if record.number > until.get(timeline, -1)
    )


def _progress(note: MigrationNote) -> Progress:
    done = min(note.files_done, note.files_total)
    return Progress(
        f"to {note.setting}", note.phase, "", done, note.files_total, note.chunks_done, note.started_at, now("seconds")
    )
