"""Logical backups of an OpenSearch index: a compressed JSON Lines file for each kind of index.

They need no snapshot repository in the cluster, and omit the graph's vectors, because rows hold a second copy of them.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codequarry.shared.errors import NotIndexed, StoreDamaged, UsageError
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.backups import (
    OPENSEARCH,
    Manifest,
    ObserveBackup,
    Step,
    check_files,
    check_store,
    file_digests,
    ignore,
    new_backup,
    read_manifest,
    write_manifest,
)
from codequarry.shared.store.opensearch.clauses import EngineClause
from codequarry.shared.store.opensearch.editions import OpenSearchEditions
from codequarry.shared.store.opensearch.frozen_index import Frozen, frozen
from codequarry.shared.store.opensearch.index_bodies import CATALOG, CHUNKS, FILES, VECTORS
from codequarry.shared.store.opensearch.indices import Indices
from codequarry.shared.store.opensearch.inventory import FILE_ORDER, ROW_ORDER, ROWS_PER_PAGE
from codequarry.shared.store.opensearch.mapping_version import SCHEMA
from codequarry.shared.store.opensearch.store import OpenSearchStore
from codequarry.shared.timestamps import now

# Halves the size and keeps pace with OpenSearch's pages; maximum compression takes four times as long.
_COMPRESSION = 3
_EVERYTHING: EngineClause = {"match_all": {}}
_FLOAT_BYTES = 4
# Each line of a file is a document with its id, routing (usually None) and source.
BackupLine = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BackupPart:
    """How one kind of index is backed up."""

    kind: str
    sort: Sequence[str]
    page: int
    without: Sequence[str] = ()
    is_versioned: bool = False

    @property
    def file(self) -> str:
        """The name of the part's file in a backup."""
        return f"{self.kind}.jsonl.gz"

    def index(self, indices: Indices) -> str:
        """Return the alias of the index."""
        name: str = getattr(indices, self.kind)
        return name


# In restore order: the catalog comes last, because an edition without a catalog is ignored.
PARTS = (
    BackupPart(CHUNKS, ROW_ORDER, ROWS_PER_PAGE, ("embedding",), is_versioned=True),
    BackupPart(FILES, FILE_ORDER, 5_000, is_versioned=True),
    BackupPart(VECTORS, ["key"], 1_000),
    BackupPart(CATALOG, ["key"], 200),
)


def write_backup(settings: OpenSearchSettings, target: Path, observe: ObserveBackup = ignore) -> Manifest:
    """Copy the index, even while it is in use, to the new folder ``target``; raise NotIndexed if there is no index."""
    with closing(OpenSearchEditions(settings)) as editions:
        edition = editions.active()
        dimension = editions.dimension(edition)
        if dimension is None or edition not in editions.present():
            raise NotIndexed(f"there is no index '{settings.index}'; create it with codequarry index")
        with new_backup(target) as beside, closing(OpenSearchStore(settings, dimension, edition)) as store:
            # Create any index that is missing after a crash, because the points in time need all four.
            store.indices.ensure()
            documents = _copy(store, beside, observe)
            files = file_digests(beside)
            manifest = Manifest(OPENSEARCH, dimension, files, documents, SCHEMA, now("seconds"))
            write_manifest(beside, manifest)
    return manifest


def _copy(store: OpenSearchStore, folder: Path, observe: ObserveBackup) -> dict[str, int]:
    """Write a file for each kind of index, and return the number of documents in each file."""
    with frozen(store) as state:
        total = sum(state.points.count(part.index(store.indices), _query(part, state)) for part in PARTS)
        written: dict[str, int] = {}
        done = 0
        for part in PARTS:
            written[part.file] = 0
            with gzip.open(folder / part.file, "wt", _COMPRESSION, encoding="ascii") as out:
                for hit in _hits(part, store.indices, state):
                    done += 1
                    line = _line(part, state, hit)
                    if line is not None:
                        out.write(json.dumps(line, separators=(",", ":")) + "\n")
                        written[part.file] += 1
                    if not done % part.page:
                        observe(Step(f"copying {part.kind}", done, total, "documents"))
    return written


def _query(part: BackupPart, state: Frozen) -> EngineClause:
    return state.visible if part.is_versioned else _EVERYTHING


def _hits(part: BackupPart, indices: Indices, state: Frozen) -> Iterator[Any]:
    return state.points.hits(part.index(indices), _query(part, state), part.sort, part.page, part.without)


def _line(part: BackupPart, state: Frozen, hit: Mapping[str, Any]) -> BackupLine | None:
    source = state.row(hit["_source"]) if part.is_versioned else hit["_source"]
    return None if source is None else {"id": hit["_id"], "routing": hit.get("_routing"), "source": source}


def verify_backup(target: Path, observe: ObserveBackup = ignore) -> Manifest:
    """Check each file's size and hash, and the form and number of its lines; raise StoreDamaged if any is wrong."""
    manifest = read_manifest(target)
    check_store(target, manifest, OPENSEARCH)
    if manifest.schema > SCHEMA:
        raise UsageError(f"a newer version of Codequarry wrote {target}; restore it with that version")
    check_files(target, manifest, observe)
    done, total = 0, sum(manifest.documents.values())
    for part in PARTS:
        count = 0
        for line in read_lines(target, part):
            _check_line(target, part, line, manifest.dimension)
            count += 1
            if not count % part.page:
                observe(Step(f"reading {part.kind}", done + count, total, "documents"))
        if count != manifest.documents.get(part.file):
            raise StoreDamaged(f"{target / part.file} has the wrong number of documents; use another backup")
        done += count
    return manifest


def read_lines(target: Path, part: BackupPart) -> Iterator[BackupLine]:
    """Yield the documents of a file; raise StoreDamaged if it can't be read."""
    try:
        with gzip.open(target / part.file, "rt", encoding="ascii") as file:
            for line in file:
                yield json.loads(line)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise StoreDamaged(f"{target / part.file} can't be read ({error}); use another backup") from None


def _check_line(target: Path, part: BackupPart, line: BackupLine, dimension: int) -> None:
    try:
        source = line["source"]
        encoded = source["vector"] if part.kind in (CHUNKS, VECTORS) else None
        is_whole = isinstance(line["id"], str) and (
            encoded is None or len(encoded) == 4 * -(-dimension * _FLOAT_BYTES // 3)
        )
    except (KeyError, TypeError):
        is_whole = False
    if not is_whole:
        raise StoreDamaged(f"{target / part.file} has a line with an invalid {part.kind} document; use another backup")
