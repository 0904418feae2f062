"""The end of a migration: stop writers for a moment, copy the rest, and point the old edition to the new one."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from codequarry.ingest.migration.copier import Copier
from codequarry.ingest.migration.note import NOTE_KEY, MigrationHeartbeat
from codequarry.ingest.transaction.chores import BATCHES, UNDO, note_purge
from codequarry.ingest.transaction.retention import SWEPT
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.catalog.repositories import PROGRESS_PREFIX
from codequarry.shared.errors import CodequarryError, Conflict
from codequarry.shared.index.identity import IDENTITY_KEY
from codequarry.shared.jobs.job_list import JOB_PREFIX, job_in
from codequarry.shared.jobs.lifecycle import given_back
from codequarry.shared.store.port import DocumentStore
from codequarry.shared.store.records import Document
from codequarry.shared.timestamps import now
from codequarry.shared.versions.head import HEAD_KEY, Head
from codequarry.shared.versions.moves import hold_timelines, release_timelines, successor, switch_edition

# Documents that every edition has its own copy of.
_OWN = frozenset({HEAD_KEY, IDENTITY_KEY, NOTE_KEY})
# Documents of transactions that are not carried over, and notes of what the old edition has deleted.
_LEFT_BEHIND = (PROGRESS_PREFIX, UNDO, SWEPT, BATCHES)
# How often the switch is tried: the hold may be lost because this process stalled.
MAX_ATTEMPTS = 5


def switch(old: DocumentStore, new: DocumentStore, copier: Copier, pulse: MigrationHeartbeat, edition: int) -> None:
    """Move the index to ``edition`` by one write to the old head document."""
    for _ in range(MAX_ATTEMPTS):
        try:
            _switch(old, new, copier, pulse, edition)
        except Conflict:
            copier.catch_up(read_head(old))
            continue
        return
    raise Conflict(f"other processes kept writing during {MAX_ATTEMPTS} attempts to switch; run the command again")


def copy_documents(old: DocumentStore, new: DocumentStore) -> None:
    """Make the catalog of the new edition equal to the old edition's."""
    wanted = {document.key: migrated_body(document) for document in old.list_documents("") if _is_carried(document.key)}
    present = {document.key: document for document in new.list_documents("") if document.key not in _OWN}
    for key, body in wanted.items():
        known = present.get(key)
        if known is None or known.body != body:
            new.write_document(key, body, known.version if known else None)
    for key in present.keys() - wanted.keys():
        new.delete_document(key)


def migrated_body(document: Document) -> Mapping[str, Any]:
    """Return a document's body for the new edition; a running job is requeued, because its worker can't publish."""
    if document.key.startswith(JOB_PREFIX):
        job = job_in(document)
        if job is not None and job.state == "running":
            return asdict(given_back(job, job.holder))
    return document.body


def _is_carried(key: str) -> bool:
    return key not in _OWN and not key.startswith(_LEFT_BEHIND)


def _switch(old: DocumentStore, new: DocumentStore, copier: Copier, pulse: MigrationHeartbeat, edition: int) -> None:
    holder, model = pulse.note.holder, pulse.note.setting
    change_head(old, lambda head: (hold_timelines(head, holder, edition, model), None), holder)
    pulse.holds = True
    try:
        head = read_head(old)
        copier.catch_up(head)
        copy_documents(old, new)
        for timeline in copier.vanished(head):
            note_purge(new, timeline)
        _begin_with(new, successor(head))
        pulse.check()
        change_head(old, lambda newest: (switch_edition(newest, holder, head, now("seconds")), None), holder)
    except BaseException:
        # Best effort: if this fails, writers continue once the heartbeat stops.
        with suppress(CodequarryError):
            change_head(old, lambda newest: (release_timelines(newest, holder), None), holder)
        raise
    finally:
        pulse.holds = False


def _begin_with(new: DocumentStore, head: Head) -> None:
    change_head(new, lambda _: (head, None))
