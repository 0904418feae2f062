"""Estimates a migration from the stored text; only a sample is embedded."""

import random
import sys
import time
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codequarry.ingest.chunking.lexical import embedded_text
from codequarry.ingest.migration.migrate import with_model
from codequarry.ingest.run.estimate import SECONDS_PER_ROW, TIMED_TEXTS, seconds_per_token
from codequarry.ingest.transaction.copy_extent import CopyExtent
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.embedding.tokens import count_tokens
from codequarry.shared.index.identity import has_strides, read_identity
from codequarry.shared.index.opened_index import open_active, open_settings_model
from codequarry.shared.repositories.model_permission import check_all_may_leave
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import editions_of
from codequarry.shared.store.records import StoredFile
from codequarry.shared.versions.commit_log import with_logs
from codequarry.shared.versions.moves import published

if TYPE_CHECKING:
    from codequarry.shared.embedding.port import Embedder
    from codequarry.shared.store.port import Store


@dataclass(frozen=True, slots=True)
class MigrationEstimate:
    """What a migration would do; ``tokens`` counts a text once, ``cost`` needs [embedding] price_per_million_tokens."""

    model: str
    name: str
    dimension: int
    previous: str
    files: int = 0
    chunks: int = 0
    texts: int = 0
    tokens: int = 0
    seconds: float = 0.0
    cost: float | None = None


def estimate_migration(settings: SettingsModel, model: str) -> MigrationEstimate:
    """Estimate moving the index to ``model``. Nothing is written; a sample of texts is embedded to measure the time."""
    settings = with_model(settings, model)
    with closing(editions_of(settings)) as editions, closing(open_settings_model(settings)) as embedder:
        _, old = open_active(editions)
        if old is None:
            return MigrationEstimate(model, embedder.name, embedder.dimension, "")
        with closing(old):
            identity = read_identity(old)
            previous = identity.model if identity else ""
            is_same = identity is None or has_strides(identity, embedder, settings.embedding)
            if not previous or (previous == embedder.name and is_same):
                return MigrationEstimate(model, embedder.name, embedder.dimension, previous)
            check_all_may_leave(settings, old, embedder)
            return _estimate(
                old, embedder, settings, MigrationEstimate(model, embedder.name, embedder.dimension, previous)
            )


@dataclass
class _Count:
    files: int = 0
    chunks: int = 0
    texts: int = 0
    tokens: int = 0
    seconds: float = 0.0


def _estimate(
    old: "Store", embedder: "Embedder", settings: SettingsModel, found: MigrationEstimate
) -> MigrationEstimate:
    count, sample = _counted(old, embedder, only_long=found.previous == embedder.name)
    waiting, working = seconds_per_token(sample, embedder)
    storing = count.chunks * SECONDS_PER_ROW.get(old.name, SECONDS_PER_ROW["embedded"])
    price = settings.embedding.price_per_million_tokens
    return replace(
        found,
        files=count.files,
        chunks=count.chunks,
        texts=count.texts,
        tokens=count.tokens,
        seconds=count.seconds + max(waiting, working) * count.tokens + storing,
        cost=None if price is None else price * count.tokens / 1_000_000,
    )


def _counted(old: "Store", embedder: "Embedder", *, only_long: bool) -> tuple[_Count, list[str]]:
    """Count what is copied, and embedded: with ``only_long``, only chunks that had or get strides."""
    count, seen = _Count(), set[int]()
    sample: list[str] = []
    # A fixed seed, so that estimates differ only between machines.
    chance = random.Random(0)
    started = time.monotonic()
    head = read_head(old)
    for timeline in published(head):
        extent = CopyExtent.of(head, timeline, -1)
        for stored in (stored for part in with_logs([timeline]) for stored in old.history(part)):
            if isinstance(stored, StoredFile):
                count.files += extent.has(stored.record.born, stored.died)
                continue
            stride = stored.row.chunk.stride_info
            if (stride and stride.stride_index) or not extent.has(stored.row.born, stored.died):
                continue
            count.chunks += 1
            text = embedded_text(stored.row.chunk)
            if only_long and not stride and count_tokens(text) <= (embedder.max_tokens or sys.maxsize):
                continue
            if hash(text) in seen:
                continue
            seen.add(hash(text))
            count.texts += 1
            count.tokens += _tokens_read(embedder, text)
            if len(sample) < TIMED_TEXTS:
                sample.append(text)
            elif (place := chance.randrange(count.texts)) < TIMED_TEXTS:
                sample[place] = text
    count.seconds = time.monotonic() - started
    return count, sample


def _tokens_read(embedder: "Embedder", text: str) -> int:
    """Estimate how many tokens the model reads for a text; strides overlap by an eighth of a window."""
    tokens = count_tokens(text)
    strided = embedder.max_tokens is not None and tokens > embedder.max_tokens
    return tokens * 8 // 7 if strided else tokens
