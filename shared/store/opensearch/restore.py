"""A backup becomes the index: written to a new edition, counted, and then made the active one in one step.

A crash before that step leaves the index that was there, and an edition without a head document, which the next restore
or ``codequarry migrate`` deletes; a crash after it leaves the old edition, which they delete as well.
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

# Documents that are held in memory at a time: rows of some 10 kB with their vectors as numbers.
_AT_ONCE = 1_000


def restore_backup(
    target: Path, settings: OpenSearchSettings, *, replace: bool = False, observe: ObserveBackup = ignore
) -> Manifest:
    """Make the backup the active edition; UsageError if there is an index and ``replace`` is not set."""
    with closing(OpenSearchEditions(settings)) as editions:
        check_store(target, read_manifest(target), OPENSEARCH)
        active = editions.active()
        if _documents(editions, settings, active) and not replace:
            raise UsageError(f"the index '{settings.index}' holds something; --replace puts the backup in its place")
        manifest = verify_backup(target, observe)
        _remove_left(editions, settings, active)
        # Never the first one, which would be active from its start.
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
    """Return how many documents the catalog of an edition holds."""
    dimension = editions.dimension(edition)
    if dimension is None:
        return 0
    with closing(OpenSearchStore(settings, dimension, edition)) as store:
        return _count(store.indices, store.indices.catalog)


def _remove_left(editions: OpenSearchEditions, settings: OpenSearchSettings, active: int) -> None:
    """Delete what a restore that was killed has left: newer editions without any document in their catalog."""
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
                raise StoreError(f"{name} has {found} documents of {manifest.documents[part.file]}; restore once more")


def _item(part: BackupPart, indices: Indices, line: BackupLine) -> BulkItem:
    source: dict[str, Any] = dict(line["source"])
    if part.kind == CHUNKS:
        source["embedding"] = decode_vector(source["vector"]).tolist()
    return BulkItem(part.index(indices), line["id"], source, line["routing"])


def _count(indices: Indices, name: str) -> int:
    with indices.connection.translated():
        indices.client.indices.refresh(index=name)
        return int(indices.client.count(index=name)["count"])
