from pathlib import Path

import pytest

from codequarry.shared.errors import CodequarryError, EmbeddingError, UnknownName, UsageError
from codequarry.shared.known_models import DEFAULT, TABLE_FILES
from codequarry.shared.reranking.factory import open_reranker
from codequarry.shared.settings.reranking import RerankingSettings


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        ("minilm", EmbeddingError, "is not installed; run `codequarry models install minilm`"),
        ("bge-small-en-v1.5", EmbeddingError, "put model.onnx and tokenizer.json"),
        ("bge-reranker-base", UsageError, "is a cross-encoder, which is not supported yet; set one of minilm, "),
        ("Jina-Reranker-v1-turbo-en", UsageError, "is a cross-encoder"),
        (DEFAULT, UsageError, "is not an ONNX model on this machine; set one of minilm, "),
        ("voyage-code-3", UsageError, "is not an ONNX model on this machine"),
        ("wordllama", UsageError, r"\[reranking\] model = 'wordllama' no longer exists; set one of minilm, "),
        ("no-such-model", UnknownName, "unknown embedding model 'no-such-model'"),
    ],
)
def test_an_unsuitable_model_is_refused_with_suitable_ones(
    tmp_path: Path, model: str, error: type[CodequarryError], message: str
) -> None:
    with pytest.raises(error, match=message):
        open_reranker(RerankingSettings(model=model), tmp_path)


def test_a_token_table_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.mkdir()
    for name in TABLE_FILES:
        (table / name).touch()
    with pytest.raises(UsageError, match="is a token table, which only knows words; set one of minilm, "):
        open_reranker(RerankingSettings(model=str(table)), tmp_path)
