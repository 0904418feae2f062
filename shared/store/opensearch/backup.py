"""A copy of an edition's four indices as files of documents, while processes go on writing, and back.

A cluster need not have a snapshot repository for that. The copy is one state because of the order in which it is taken:
the catalog as it is at one moment, then the rows as they are a moment later. What the head document of that catalog
shows was written before it, and is deleted only after a grace period. What is newer than its counter belongs to later
transactions; it is left out when the backup is restored, and what those had retired is alive again (rules 3 and 9).
"""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from opensearchpy import OpenSearch
from opensearchpy.exceptions import TransportError

from codequarry.opensearch.bodies import CATALOG, CHUNKS, FILES, KINDS, VECTORS, edition_alias_of
from codequarry.shared.errors import NotIndexed, StoreDamaged, StoreUnavailable, UsageError
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.editions import FIRST
from codequarry.shared.store.manifest import Copied, Manifest, check_files, check_store, make_backup
from codequarry.shared.store.opensearch.bulk import Item, create_all, raise_if_rejected
from codequarry.shared.store.opensearch.connection import connect, patiently, translated
from codequarry.shared.store.opensearch.editions import OpenSearchEditions
from codequarry.shared.store.opensearch.indices import Indices
from codequarry.shared.store.opensearch.rows import decode_vector
from codequarry.shared.versions.head import MOVE
from codequarry.shared.versions.ledger import HEAD_KEY
from codequarry.shared.versions.snapshots import OPEN

STORE = "opensearch"
# Rows with text, tokens and vector are some 8 kB each.
DOCUMENTS_AT_ONCE = 500
# So long the cluster keeps an index as it was while the ones before it are copied.
KEPT = "6h"
# Hardly larger than by more effort, in a third of the time.
COMPRESSION = 1
# The catalog first: see above.
ORDER = (CATALOG, CHUNKS, FILES, VECTORS)
_ROWS = (CHUNKS, FILES)

Document = dict[str, Any]
Observe = Callable[[str, int], None]
"""Is told what is copied and how many documents of it are done."""


def write_backup(settings: OpenSearchSettings, target: Path, observe: Observe) -> Manifest:
    """Copy the active edition to the new folder ``target``.

    UsageError if that exists and is not empty, NotIndexed if there is no index.
    """
    with closing(OpenSearchEditions(settings)) as editions, closing(connect(settings)) as client:
        edition = editions.active()
        dimension = editions.dimension(edition)
        if edition not in editions.present() or dimension is None:
            raise NotIndexed(f"there is no index '{settings.index}'; codequarry index makes one")
        names = {kind: edition_alias_of(kind, settings, edition) for kind in KINDS}
        return make_backup(target, lambda beside: _copy(client, settings, names, dimension, beside, observe))


def _copy(
    client: OpenSearch,
    settings: OpenSearchSettings,
    names: Mapping[str, str],
    dimension: int,
    folder: Path,
    observe: Observe,
) -> Copied:
    frozen: dict[str, dict[str, Any]] = {}
    for kinds in ((CATALOG,), (CHUNKS, FILES, VECTORS)):
        # Every write that returned is in the copy.
        patiently(settings, partial(client.indices.refresh, index=",".join(names[kind] for kind in kinds)))
        frozen |= {kind: _freeze(client, settings, names[kind]) for kind in kinds}
    written = {}
    for kind in ORDER:
        name = _file_of(kind)
        with gzip.open(folder / name, "wt", COMPRESSION, encoding="utf-8") as file:
            written[name] = 0
            for hits in _pages(client, settings, frozen[kind]):
                file.writelines(json.dumps(_line(hit), ensure_ascii=False) + "\n" for hit in hits)
                written[name] += len(hits)
                observe(f"copying {kind}", written[name])
    return Copied(STORE, dimension, written)


def _file_of(kind: str) -> str:
    return f"{kind}.jsonl.gz"


def _freeze(client: OpenSearch, settings: OpenSearchSettings, name: str) -> dict[str, Any]:
    """Return the first page of an index as it is now; those that follow are of the same state."""
    # The vector that is searched is made again from the one that is kept.
    body = {"size": DOCUMENTS_AT_ONCE, "sort": ["_doc"], "_source": {"excludes": ["embedding"]}}
    return patiently(settings, lambda: client.search(index=name, body=body, params={"scroll": KEPT}))


def _pages(client: OpenSearch, settings: OpenSearchSettings, answer: dict[str, Any]) -> Iterator[list[Document]]:
    scroll = answer["_scroll_id"]
    try:
        while hits := _whole(answer):
            yield hits
            scroll = answer["_scroll_id"]
            # Not sent again where it fails: the page after the lost one would come.
            with translated(settings):
                answer = client.scroll(body={"scroll_id": scroll, "scroll": KEPT})
    finally:
        with suppress(TransportError):
            client.clear_scroll(scroll_id=scroll)


def _whole(answer: Mapping[str, Any]) -> list[Document]:
    if answer["timed_out"] or answer["_shards"]["failed"]:
        raise StoreUnavailable("a shard of OpenSearch did not answer while the backup was made; try again")
    hits: list[Document] = answer["hits"]["hits"]
    return hits


def _line(hit: Mapping[str, Any]) -> Document:
    routing = {"routing": hit["_routing"]} if "_routing" in hit else {}
    return {"id": hit["_id"], **routing, "source": hit["_source"]}


def verify_backup(target: Path, observe: Observe) -> Manifest:
    """Compare every file with the manifest, and read every document."""
    manifest = check_files(target)
    check_store(manifest, STORE, target)
    if not list(_documents(target, CATALOG, observe)):
        raise StoreDamaged(f"{target} holds an empty index; take another backup")
    for kind in ORDER:
        count = sum(1 for _ in _documents(target, kind, observe))
        if count != manifest.documents.get(_file_of(kind)):
            raise StoreDamaged(f"{target / _file_of(kind)} holds {count:,} documents, another number than it had")
    return manifest


def _documents(target: Path, kind: str, observe: Observe) -> Iterator[Document]:
    path = target / _file_of(kind)
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                document: Document = json.loads(line)
                yield document
                if not number % DOCUMENTS_AT_ONCE:
                    observe(f"reading {kind}", number)
    except (OSError, EOFError, ValueError) as error:
        raise StoreDamaged(f"{path} can't be read ({error}); take another backup") from None


def restore_backup(settings: OpenSearchSettings, target: Path, observe: Observe, *, replace: bool = False) -> Manifest:
    """Make a backup the active edition; UsageError if there is an index and ``replace`` is not set.

    It is verified first and written to a new edition. The index that is there goes on being used until the aliases
    are moved, all of them in one step, and is deleted afterwards.
    """
    with closing(OpenSearchEditions(settings)) as editions:
        before = editions.present()
        if editions.active() in before and not replace:
            raise UsageError(f"there is an index '{settings.index}'; --replace puts the backup in its place")
        manifest = verify_backup(target, observe)
        # Never the first one, on which the aliases stand from the moment that it is made.
        edition = max(before, default=FIRST) + 1
        # An interrupted restore may have left a part of it.
        editions.remove(edition)
        try:
            _fill(settings, manifest, edition, target, observe)
        except BaseException:
            editions.remove(edition)
            raise
        editions.activate(edition)
        for other in before:
            editions.remove(other)
    return manifest


def _fill(settings: OpenSearchSettings, manifest: Manifest, edition: int, target: Path, observe: Observe) -> None:
    with closing(connect(settings)) as client:
        indices = Indices(client, settings, manifest.dimension, edition)
        indices.ensure()
        counter = _counter(target)
        # The catalog last: an edition without one counts as none.
        for kind in reversed(ORDER):
            name = edition_alias_of(kind, settings, edition)
            written = 0
            wanted = (one for one in _documents(target, kind, observe) if _belongs(one["source"], kind, counter))
            items = (
                Item(name, one["id"], _restored(one["source"], kind, counter), one.get("routing")) for one in wanted
            )
            while part := list(islice(items, DOCUMENTS_AT_ONCE)):
                raise_if_rejected(create_all(client, settings, part))
                written += len(part)
                observe(f"restoring {kind}", written)
            patiently(settings, partial(client.indices.refresh, index=name))


def _counter(target: Path) -> int:
    """Return the newest number that the catalog of a backup knows."""
    sources = (one["source"] for one in _documents(target, CATALOG, _say_nothing))
    return next((int(source["body"]["counter"]) for source in sources if source["key"] == HEAD_KEY), 0)


def _say_nothing(_: str, __: int) -> None:
    """Tell nobody."""


def _belongs(source: Mapping[str, Any], kind: str, counter: int) -> bool:
    """Return whether a document is of the state that the catalog knows."""
    return kind not in _ROWS or source["born"] <= counter


def _restored(source: Document, kind: str, counter: int) -> Document:
    """Return a document as it is written again."""
    if kind in _ROWS and source["died"] > counter:
        source["died"] = OPEN
    if kind == CHUNKS:
        source["embedding"] = decode_vector(source["vector"]).tolist()
    if kind == CATALOG and source["key"] == HEAD_KEY:
        # A migration that had begun was filling an edition that is not in the backup.
        source["body"].pop(MOVE, None)
    return source
