"""Checks the store for damage, and embeds damaged vectors again."""

from collections.abc import Iterator, Sequence

from codequarry.ingest.chunking.lexical import embedded_text
from codequarry.ingest.fsck.files import Inconsistency
from codequarry.ingest.request.index_request import Workshop
from codequarry.ingest.transaction.writer import stride_windows
from codequarry.shared.arrays import Vector
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import StoreDamaged
from codequarry.shared.model import Chunk
from codequarry.shared.store.embedded.schema import REPAIR_DATABASE
from codequarry.shared.store.port import RepairsVectors, Store

# Texts embedded at a time; Ctrl-C takes effect between two batches.
BATCH_TEXTS = 256


def check_storage(store: Store) -> list[Inconsistency]:
    """Read the whole store, and return what is damaged."""
    found = store.inspect(thoroughly=True)
    return [Inconsistency("vectors" if item.kind == "vectors" else "storage", "", item.detail) for item in found]


def check_readable(problems: Sequence[Inconsistency]) -> None:
    """Raise StoreDamaged if more than vectors is damaged: the whole store must be rebuilt (``ingest/repair``)."""
    if damage := next((problem for problem in problems if problem.kind == "storage"), None):
        raise StoreDamaged(f"{damage.detail}; {REPAIR_DATABASE}")


def mend_vectors(workshop: Workshop) -> int:
    """Embed the texts of damaged vectors again, and return their number; the store may raise StoreError."""
    store = workshop.store
    if not isinstance(store, RepairsVectors):
        return 0
    made: dict[str, Vector] = {}
    for keys, texts in _batches(store.lost_vectors(), workshop.embedder):
        made |= dict(zip(keys, workshop.embedder.embed_documents(texts), strict=True))
    store.replace_vectors(made)
    return len(made)


def _batches(lost: dict[str, Chunk], embedder: Embedder) -> Iterator[tuple[list[str], list[str]]]:
    keys = list(lost)
    for start in range(0, len(keys), BATCH_TEXTS):
        batch = keys[start : start + BATCH_TEXTS]
        yield batch, [embedded_text_of(lost[key], embedder) for key in batch]


def embedded_text_of(chunk: Chunk, embedder: Embedder) -> str:
    """Return the text that was embedded for a chunk, or for one stride of it."""
    text = embedded_text(chunk)
    if chunk.stride_info is None:
        return text
    return stride_windows(text, embedder)[chunk.stride_info.stride_index].text
