"""From the settings to a re-ranker. Opening is cheap; weights load at the first use."""

from pathlib import Path

from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.embedding.table_embedder import TableEmbedder
from codequarry.shared.errors import UsageError
from codequarry.shared.known_models import EMBEDDERS, RERANKERS, find_model, is_removed_model
from codequarry.shared.reranking.embedding import EmbeddingReranker
from codequarry.shared.reranking.port import Reranker
from codequarry.shared.settings.config import EmbeddingSettings
from codequarry.shared.settings.reranking import RerankingSettings


def open_reranker(settings: RerankingSettings, models_folder: Path) -> Reranker:
    """Return the re-ranker that the settings name.

    Raise UnknownName for a model that is neither known nor a folder, EmbeddingError for one that is not installed,
    UsageError for one that can't re-rank.
    """
    name = settings.model
    if any(name.casefold() in (one.name.casefold(), one.repository.casefold()) for one in RERANKERS):
        raise UsageError(f"[reranking] model = '{name}' is a cross-encoder, which is not served yet; {_instead()}")
    if is_removed_model(name):
        raise UsageError(f"[reranking] model = '{name}' is gone; {_instead()}")
    known = find_model(name)
    if known and known.source in ("built in", "api"):
        raise UsageError(f"[reranking] model = '{name}' is no ONNX model of this machine; {_instead()}")
    embedder = open_embedder(EmbeddingSettings(model=name), models_folder)
    if isinstance(embedder, TableEmbedder):
        raise UsageError(f"[reranking] model = '{name}' is a token table, which knows words alone; {_instead()}")
    return EmbeddingReranker(embedder)


def _instead() -> str:
    return f"set one of {', '.join(one.name for one in EMBEDDERS if one.source in ('install', 'folder'))}, or a folder"
