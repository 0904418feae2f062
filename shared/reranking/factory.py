"""Opens the re-ranker that the settings name. Opening is cheap; weights load at first use."""

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
    """Return the re-ranker; raise UnknownName, EmbeddingError if not installed, or UsageError if it cannot re-rank."""
    name = settings.model
    if any(name.casefold() in (model.name.casefold(), model.repository.casefold()) for model in RERANKERS):
        raise UsageError(f"[reranking] model = '{name}' is a cross-encoder, which is not supported yet; {_instead()}")
    if is_removed_model(name):
        raise UsageError(f"[reranking] model = '{name}' no longer exists; {_instead()}")
    known = find_model(name)
    if known and known.source in ("built in", "api"):
        raise UsageError(f"[reranking] model = '{name}' is not an ONNX model on this machine; {_instead()}")
    embedder = open_embedder(EmbeddingSettings(model=name), models_folder)
    if isinstance(embedder, TableEmbedder):
        raise UsageError(f"[reranking] model = '{name}' is a token table, which only knows words; {_instead()}")
    return EmbeddingReranker(embedder)


def _instead() -> str:
    names = ", ".join(model.name for model in EMBEDDERS if model.source in ("install", "folder"))
    return f"set one of {names}, or a folder"
