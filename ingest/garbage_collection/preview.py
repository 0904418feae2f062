"""A preview of what a collection would cut and how much space it would free; nothing is changed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from codequarry.ingest.garbage_collection.collector import apply_cut, plan_cuts
from codequarry.ingest.garbage_collection.sweeps import utc_now
from codequarry.ingest.transaction.retention import HistoryCut, TimelineExtent
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.settings.index import RetentionSettings
from codequarry.shared.store.port import RowReader, Store
from codequarry.shared.store.records import StoredFile, StoredRow
from codequarry.shared.versions.commit_log import with_logs
from codequarry.shared.versions.head import Head

# A vector consists of 32-bit numbers; a chunk's text is stored verbatim and as words.
BYTES_PER_NUMBER = 4
COPIES_OF_TEXT = 2


@dataclass(frozen=True, slots=True)
class CollectionPreview:
    """``rows`` chunk rows and ``files`` file records would be deleted; ``bytes`` is an estimate."""

    cuts: tuple[HistoryCut, ...]
    rows: int
    files: int
    bytes: int


def preview_collection(
    store: Store, settings: RetentionSettings, repos: Iterable[str], dimension: int, *, now: datetime | None = None
) -> CollectionPreview:
    """Return what collecting ``repos`` would delete, including earlier collections' leftovers; read all their rows."""
    head, time = read_head(store), now or utc_now()
    names = list(repos)
    cuts = [cut for repo in names for cut in plan_cuts(store, head, settings, repo, list(head.of_repo(repo)), time)]
    after = head
    for cut in cuts:
        after = apply_cut(after, cut)
    rows = files = size = 0
    for item in _freed(store, head, after, names):
        if isinstance(item, StoredFile):
            files += 1
            continue
        rows += 1
        size += BYTES_PER_NUMBER * dimension
        size += COPIES_OF_TEXT * len(item.row.chunk.text.encode("utf-8", "surrogatepass"))
    return CollectionPreview(tuple(cuts), rows, files, size)


def _freed(store: RowReader, head: Head, after: Head, repos: Iterable[str]) -> Iterator[StoredRow | StoredFile]:
    for timeline in (key for repo in repos for key in head.of_repo(repo)):
        stored = chain.from_iterable(map(store.history, with_logs([timeline])))
        if timeline not in after.timelines:
            yield from stored
        elif after.timelines[timeline].floor:
            extent = TimelineExtent.of(after, timeline)
            for item in stored:
                if item.died not in head.aborted and extent.frees(item.born, item.died):
                    yield item
