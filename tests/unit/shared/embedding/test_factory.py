import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.embedding.known import EMBEDDERS, RERANKERS, find_model
from codequarry.shared.embedding.onnx import OnnxEmbedder
from codequarry.shared.embedding.openai_compatible import OpenAICompatibleEmbedder
from codequarry.shared.embedding.table_embedder import TableEmbedder
from codequarry.shared.errors import EmbeddingError, UnknownName, UsageError
from codequarry.shared.settings.config import EmbeddingSettings


def test_the_default_is_built_in_and_needs_no_folder(tmp_path: Path) -> None:
    embedder = open_embedder(EmbeddingSettings(), tmp_path / "nowhere")
    assert isinstance(embedder, TableEmbedder)
    assert embedder.name.startswith("codequarry-1-")
    assert embedder.dimension == 256


def test_an_unknown_model_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="unknown embedding model 'word2vec'; known: codequarry-1, minilm, nomic"):
        open_embedder(EmbeddingSettings(model="word2vec"), tmp_path)


@pytest.mark.parametrize("settings", [{}, {"base_url": "http://127.0.0.1:9/v1"}], ids=["here", "at a server"])
@pytest.mark.parametrize("name", ["wordllama", "WordLlama", "dleemiller/word-llama-l2-supercat"])
def test_a_built_in_model_of_an_earlier_release_says_in_a_line_what_to_do(
    name: str, settings: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        open_embedder(EmbeddingSettings(model=name, **settings), tmp_path)
    assert str(caught.value) == (
        f"embedding model '{name}' is gone: set [embedding] model = \"codequarry-1\", the built-in one, and move "
        f"an index that '{name}' made by `codequarry migrate --model codequarry-1`"
    )


def test_a_token_table_is_a_model_by_its_path_and_by_its_name(
    place_table: Callable[[Path, int], Path], tmp_path: Path
) -> None:
    folder = place_table(tmp_path / "models" / "mine", 32)
    by_path = open_embedder(EmbeddingSettings(model=str(folder)), tmp_path / "nowhere")
    by_name = open_embedder(EmbeddingSettings(model="mine"), tmp_path / "models")
    assert by_path.name == by_name.name
    assert by_path.name.startswith("mine-")
    assert (by_path.dimension, by_path.embed_query("x").shape) == (32, (32,))


def test_a_model_that_is_not_installed_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="run `codequarry models install minilm`"):
        open_embedder(EmbeddingSettings(model="MiniLM"), tmp_path)


def test_a_model_to_be_placed_names_files_and_folder(tmp_path: Path) -> None:
    with pytest.raises(
        EmbeddingError, match=r"put model.onnx and tokenizer.json of BAAI/bge-small-en-v1.5 into"
    ) as caught:
        open_embedder(EmbeddingSettings(model="bge-small"), tmp_path)
    assert str(tmp_path / "bge-small-en-v1.5") in str(caught.value)


def test_a_folder_is_a_model_by_its_path_and_by_its_name(make_tiny_model: Callable[..., Any], tmp_path: Path) -> None:
    tiny = make_tiny_model("mine")
    by_path = open_embedder(EmbeddingSettings(model=str(tiny.folder)), tmp_path / "nowhere")
    by_name = open_embedder(EmbeddingSettings(model="mine"), tmp_path / "models")
    assert isinstance(by_path, OnnxEmbedder)
    assert by_path.name == by_name.name
    assert by_path.name.startswith("mine-")


def test_a_known_model_in_its_folder_has_its_own_shape(make_tiny_model: Callable[..., Any], tmp_path: Path) -> None:
    make_tiny_model("bge-small-en-v1.5")
    embedder = open_embedder(EmbeddingSettings(model="BAAI/bge-small-en-v1.5"), tmp_path / "models")
    assert (embedder.dimension, embedder.max_tokens) == (384, 512)


def test_a_folder_without_the_files_says_which(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").touch()
    with pytest.raises(EmbeddingError, match=r"is no embedding model: it has no tokenizer.json"):
        open_embedder(EmbeddingSettings(model=str(tmp_path)), tmp_path / "models")


@pytest.mark.parametrize("model", ["text-embedding-3-small", "text-embedding-3-large", "voyage-code-3"])
def test_an_api_model_needs_a_key_or_a_server(model: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"set CODEQUARRY_EMBEDDING__API_KEY, or .embedding. base_url"):
        open_embedder(EmbeddingSettings(model=model), tmp_path)
    embedder = open_embedder(EmbeddingSettings(model=model, api_key="sk-secret"), tmp_path)
    assert isinstance(embedder, OpenAICompatibleEmbedder)
    assert embedder.name.startswith(model)


def test_any_model_name_goes_to_a_server(tmp_path: Path) -> None:
    embedder = open_embedder(EmbeddingSettings(model="whatever", base_url="http://127.0.0.1:9/v1"), tmp_path)
    assert embedder.name == "whatever"


def test_a_server_for_the_built_in_model_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="base_url is set, but model = 'codequarry-1' runs on this machine"):
        open_embedder(EmbeddingSettings(base_url="http://127.0.0.1:9/v1"), tmp_path)


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_without_what_the_extra_brings_it_is_named(
    package: str, make_tiny_model: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(EmbeddingError, match=rf"needs {package}; run `pip install 'codequarry\[onnx\]'`"):
        open_embedder(EmbeddingSettings(model=str(make_tiny_model().folder)), tmp_path)


def test_the_table_of_models_is_whole() -> None:
    assert {model.name for model in EMBEDDERS} >= {
        "codequarry-1",
        "minilm",
        "nomic-embed-text-v1.5",
        "jina-embeddings-v2-base-code",
        "bge-small-en-v1.5",
        "text-embedding-3-small",
        "text-embedding-3-large",
        "voyage-code-3",
    }
    assert len(RERANKERS) == 3
    for model in EMBEDDERS:
        assert find_model(model.name.upper()) is model
        assert (model.api is not None) == (model.source == "api")
        assert (model.jar is not None) == (model.source == "install")
        assert model.source != "folder" or model.repository


def test_no_two_models_answer_to_one_name() -> None:
    names = [one.casefold() for model in EMBEDDERS for one in (model.name, *model.aliases)]
    assert len(names) == len(set(names))
