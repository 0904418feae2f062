"""Restores a backup to a new edition, counts the documents, and then makes the edition active in one step.

A crash before that step leaves the index unchanged and the new edition without a head document; a later crash leaves
the old edition behind. Either way, the next restore or ``codequarry migrate`` deletes the leftover edition.
"""

from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from codequarry.shared.errors import StoreError, UsageError
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.backups import (
    OPENSEARCH,
    Manifest,
    ObserveBackup,
    Step,
    check_store,
    ignore,
    read_manifest,
)
from codequarry.shared.store.editions import FIRST
from codequarry.shared.store.opensearch.backup import PARTS, BackupLine, BackupPart, read_lines, verify_backup
from codequarry.shared.store.opensearch.bulk import BulkItem, create_all, raise_if_rejected
from codequarry.shared.store.opensearch.editions import OpenSearchEditions
from codequarry.shared.store.opensearch.index_bodies import CHUNKS
from codequarry.shared.store.opensearch.indices import Indices
from codequarry.shared.store.opensearch.rows import decode_vector
from codequarry.shared.store.opensearch.store import OpenSearchStore

# Documents held in memory at a time; rows take about 10 kB each with their vectors as numbers.
_AT_ONCE = 1_000


def restore_backup(
    target: Path, settings: OpenSearchSettings, *, replace: bool = False, observe: ObserveBackup = ignore
) -> Manifest:
    """Make a backup the active edition; raise UsageError if the index is not empty and ``replace`` is not set."""
    with closing(OpenSearchEditions(settings)) as editions:
        check_store(target, read_manifest(target), OPENSEARCH)
        active = editions.active()
        if _documents(editions, settings, active) and not replace:
            raise UsageError(f"the index '{settings.index}' is not empty; use --replace to replace it with the backup")
        manifest = verify_backup(target, observe)
        _remove_leftovers(editions, settings, active)
        # Never the first edition, which would be active from the start.
        number = max(editions.present(), default=FIRST) + 1
        try:
            _fill(OpenSearchStore(settings, manifest.dimension, number), target, manifest, observe)
        except BaseException:
            with suppress(StoreError):
                editions.remove(number)
            raise
        editions.activate(number)
        for edition in editions.present():
            if edition != number:
                editions.remove(edition)
    return manifest


def _documents(editions: OpenSearchEditions, settings: OpenSearchSettings, edition: int) -> int:
    """Return the number of documents in an edition's catalog."""
    dimension = editions.dimension(edition)
    if dimension is None:
        return 0
    with closing(OpenSearchStore(settings, dimension, edition)) as store:
        return _count(store.indices, store.indices.catalog)


def _remove_leftovers(editions: OpenSearchEditions, settings: OpenSearchSettings, active: int) -> None:
    """Delete editions left by a killed restore: they are newer than the active edition and have no documents."""
    for edition in editions.present():
        if edition > active and not _documents(editions, settings, edition):
            editions.remove(edition)


def _fill(store: OpenSearchStore, target: Path, manifest: Manifest, observe: ObserveBackup) -> None:
    with closing(store):
        store.indices.ensure()
        done, total = 0, sum(manifest.documents.values())
        for part in PARTS:
            lines = read_lines(target, part)
            while items := [_item(part, store.indices, line) for line in islice(lines, _AT_ONCE)]:
                raise_if_rejected(create_all(store.connection, items))
                done += len(items)
                observe(Step(f"writing {part.kind}", done, total, "documents"))
        for name, part in ((part.index(store.indices), part) for part in PARTS):
            found = _count(store.indices, name)
            if found != manifest.documents[part.file]:
                raise StoreError(f"{name} has {found} of {manifest.documents[part.file]} documents; restore again")


def _item(part: BackupPart, indices: Indices, line: BackupLine) -> BulkItem:
    source: dict[str, Any] = dict(line["source"])
    if part.kind == CHUNKS:
        source["embedding"] = decode_vector(source["vector"]).tolist()
    return BulkItem(part.index(indices), line["id"], source, line["routing"])


def _count(indices: Indices, name: str) -> int:
    with indices.connection.translated():
        indices.client.indices.refresh(index=name)
        return int(indices.client.count(index=name)["count"])
