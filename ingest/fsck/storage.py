"""What is stored against what was written, and new vectors for damaged ones."""

from collections.abc import Iterator, Sequence

from codequarry.ingest.chunking.lexical import embedded_text
from codequarry.ingest.fsck.files import Inconsistency
from codequarry.ingest.request.index_request import Workshop
from codequarry.ingest.transaction.writer import stride_windows
from codequarry.shared.arrays import Vector
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import StoreDamaged
from codequarry.shared.model import Chunk
from codequarry.shared.store.embedded.schema import MEND_DATABASE
from codequarry.shared.store.port import MendsVectors, Store

# Texts embedded at a time, between two looks at Ctrl-C.
BATCH_TEXTS = 256


def check_storage(store: Store) -> list[Inconsistency]:
    """Return what of the whole store is damaged; all of it is read."""
    found = store.inspect(thoroughly=True)
    return [Inconsistency("vectors" if one.kind == "vectors" else "storage", "", one.detail) for one in found]


def check_readable(problems: Sequence[Inconsistency]) -> None:
    """Raise StoreDamaged if more than vectors is damaged: then the whole store is made again (``ingest/repair``)."""
    if damage := next((problem for problem in problems if problem.kind == "storage"), None):
        raise StoreDamaged(f"{damage.detail}; {MEND_DATABASE}")


def mend_vectors(workshop: Workshop) -> int:
    """Embed the texts of damaged vectors again, and return how many that were; StoreError as the store raises it."""
    store = workshop.store
    if not isinstance(store, MendsVectors):
        return 0
    made: dict[str, Vector] = {}
    for keys, texts in _batches(store.lost_vectors(), workshop.embedder):
        made |= dict(zip(keys, workshop.embedder.embed_documents(texts), strict=True))
    store.replace_vectors(made)
    return len(made)


def _batches(lost: dict[str, Chunk], embedder: Embedder) -> Iterator[tuple[list[str], list[str]]]:
    keys = list(lost)
    for start in range(0, len(keys), BATCH_TEXTS):
        some = keys[start : start + BATCH_TEXTS]
        yield some, [embedded_of(lost[key], embedder) for key in some]


def embedded_of(chunk: Chunk, embedder: Embedder) -> str:
    """Return what was embedded of a chunk, or of the stride of it that its row stands for."""
    text = embedded_text(chunk)
    if chunk.stride_info is None:
        return text
    return stride_windows(text, embedder)[chunk.stride_info.stride_index].text
