"""The embedding cache: the same text is never given twice to the same model, whatever repository, branch or run."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codequarry.shared.arrays import Vector
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.embedding.tokens import estimate_tokens
from codequarry.shared.errors import TextsRejected
from codequarry.shared.store.port import VectorCache
from codequarry.shared.telemetry.metrics import count_embeddings, embedding_timed


@dataclass(frozen=True, slots=True)
class CachedEmbeddings:
    """``keys`` has one key a text, in order; ``vectors`` one vector a key.

    Of the texts ``embedded`` were given to the model, ``reused`` were in the cache or earlier among the texts;
    ``tokens`` estimates what the model read.
    """

    keys: tuple[str, ...]
    vectors: Mapping[str, Vector]
    reused: int
    embedded: int
    tokens: int


def vector_key(model_name: str, text: str) -> str:
    """Return the cache's key of a text as this model embeds it: 64 hex digits."""
    digest = hashlib.sha256(model_name.encode())
    digest.update(b"\0")
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def embed_with_cache(texts: Sequence[str], embedder: Embedder, store: VectorCache) -> CachedEmbeddings:
    """Return the vectors of ``texts``, embedding only what the cache lacks.

    New vectors go to the cache batch by batch, so that an interrupted run does not pay for them again. Texts that the
    model refuses raise TextsRejected, with their indices in ``texts`` and the vectors that this call made of others,
    after all others are in the cache.
    """
    keys = tuple(vector_key(embedder.name, text) for text in texts)
    first = {key: index for index, key in reversed(list(enumerate(keys)))}
    vectors = store.cached_vectors(first)
    missing = sorted(index for key, index in first.items() if key not in vectors)
    refused: dict[str, str] = {}
    size = embedder.preferred_batch
    for start in range(0, len(missing), size):
        batch = missing[start : start + size]
        made = _embed([texts[index] for index in batch], [keys[index] for index in batch], embedder, refused)
        store.cache_vectors(made)
        vectors.update(made)
    if refused:
        fresh = {index: vectors[keys[index]] for index in missing if keys[index] in vectors}
        raise TextsRejected({index: refused[key] for index, key in enumerate(keys) if key in refused}, fresh)
    tokens = sum(estimate_tokens(embedder, texts[index]) for index in missing)
    count_embeddings(len(missing), len(keys) - len(missing), tokens)
    return CachedEmbeddings(keys, vectors, len(keys) - len(missing), len(missing), tokens)


def _embed(texts: Sequence[str], keys: Sequence[str], embedder: Embedder, refused: dict[str, str]) -> dict[str, Vector]:
    """Embed one batch; put the texts that the model refuses into ``refused`` and return the others' vectors."""
    try:
        with embedding_timed("chunks"):
            made = embedder.embed_documents(texts)
        return dict(zip(keys, made, strict=True))
    except TextsRejected as error:
        refused.update((keys[index], reason) for index, reason in error.reasons.items())
        return {keys[index]: vector for index, vector in error.vectors.items()}
