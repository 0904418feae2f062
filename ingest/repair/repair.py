"""Rebuilds a damaged index beside its folder, from readable pages and from git, and replaces the folder at the end."""

import shutil
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from codequarry.ingest.chunking.version import CHUNKER_VERSION
from codequarry.ingest.fsck.storage import embedded_text_of
from codequarry.ingest.repair.catalog import mend_catalog
from codequarry.ingest.repair.note import NAME, RepairNote, read_note, state_of, write_note
from codequarry.ingest.repair.reconstruction import ReportLine, restore_lost
from codequarry.ingest.repair.report import RepairReport
from codequarry.ingest.request.index_request import ObserveRun, Workshop, ignore
from codequarry.ingest.run.mirror_entry import noted_entries
from codequarry.shared.embedding.cache import vector_key
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import ModelMismatch, StoreDamaged, StoreFull
from codequarry.shared.index.identity import check_identity, check_strides, claim_identity, read_identity
from codequarry.shared.index.opened_index import open_settings_model
from codequarry.shared.model import Chunk
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.backups import make_durable, sync
from codequarry.shared.store.embedded.editions import EmbeddedEditions
from codequarry.shared.store.embedded.folder_lock import exclusive_access
from codequarry.shared.store.embedded.salvage import Salvage, salvage
from codequarry.shared.store.embedded.store import EmbeddedStore

# Name of the new folder in the data folder, while it is being filled.
UNFINISHED = ".repair"
# A progress line about every five seconds.
ROWS_BETWEEN_LINES = 20_000


def repair_index(settings: SettingsModel, say: ReportLine, observe: ObserveRun = ignore) -> RepairReport:
    """Replace the damaged index with a rebuilt one; after an interruption at any point, the next call resumes.

    Raise StoreUnavailable while another process has the index open. The caller must have closed the index.
    """
    home = settings.home.expanduser()
    editions = EmbeddedEditions(home)
    active = editions.active()
    damaged, target = editions.folder(active), home / UNFINISHED
    with exclusive_access(damaged), closing(open_settings_model(settings)) as embedder:
        note, resumed = _salvaged(damaged, target, settings, embedder, say)
        with closing(EmbeddedStore(target, embedder.dimension)) as store:
            check_identity(store, embedder, settings.embedding.model)
            check_strides(store, embedder, settings.embedding)
            report = restore_lost(note, Workshop(store, embedder, settings), say, observe)
            if left := store.inspect(thoroughly=True):
                raise StoreDamaged(f"the rebuilt index is damaged too ({left[0].detail}); check the disk")
        kept = _put_in_place(editions, active, target, keep=bool(report.lost))
    return replace(report, resumed=resumed, kept_folder=kept)


def _salvaged(
    damaged: Path, target: Path, settings: SettingsModel, embedder: Embedder, say: ReportLine
) -> tuple[RepairNote, bool]:
    """Fill the new folder with what can be read, or resume an interrupted repair if nothing has changed since then."""
    source = state_of(damaged)
    note = read_note(target)
    if note and note.source == source:
        say("resuming an interrupted repair")
        return note, True
    shutil.rmtree(target, ignore_errors=True)
    size, free = sum(path.stat().st_size for path in damaged.iterdir()), shutil.disk_usage(damaged).free
    if free < size:
        raise StoreFull(f"a repair needs {size / 1e6:,.0f} MB beside {damaged}, but only {free / 1e6:,.0f} MB are free")
    say(f"reading {size / 1e6:,.1f} MB; intact data is written to a new folder")

    def key_of(chunk: Chunk) -> str:
        return vector_key(embedder.name, embedded_text_of(chunk, embedder))

    def advance(rows: int) -> None:
        if rows % ROWS_BETWEEN_LINES == 0:
            say(f"{rows:,} rows copied")

    found = salvage(damaged, target, embedder.dimension, key_of, advance)
    with closing(EmbeddedStore(target, embedder.dimension)) as store:
        _claim_model(store, found, embedder, settings)
        entries, may_lack = noted_entries(settings.home), found.may_lack_documents
        mended = mend_catalog(store, found.lost_documents, found.written, entries, may_lack=may_lack)
    note = RepairNote(source, found, mended)
    write_note(target, note)
    return note, False


def _claim_model(store: EmbeddedStore, found: Salvage, embedder: Embedder, settings: SettingsModel) -> None:
    """Record the index's model again if its record is lost; raise ModelMismatch if the settings have another model."""
    if read_identity(store) is None and found.vectors:
        if found.fits is False:
            raise ModelMismatch(
                f"the record of the index's model is lost, and {embedder.name} did not make its vectors: set "
                "embedding.model to the model that made the index and repair again"
            )
        claim_identity(store, embedder, settings.embedding, str(CHUNKER_VERSION))


def _put_in_place(editions: EmbeddedEditions, active: int, target: Path, *, keep: bool) -> str:
    """Make the new folder the index, in one step; return where the damaged folder is kept, or "" if it is deleted."""
    number = max([active, *editions.present()]) + 1
    final = editions.folder(number)
    make_durable(target)
    target.replace(final)
    sync(final.parent)
    editions.activate(number)
    sync(final.parent)
    (final / NAME).unlink()
    if not keep:
        editions.remove(active)
        return ""
    aside = target.with_name(f"damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}")
    editions.folder(active).replace(aside)
    return str(aside)


def drop_unfinished(settings: SettingsModel) -> None:
    """Delete the folder of an interrupted repair, no longer needed because a backup replaced the damaged index."""
    shutil.rmtree(settings.home.expanduser() / UNFINISHED, ignore_errors=True)
