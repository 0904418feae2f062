import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codequarry.shared.embedding import factory
from codequarry.shared.embedding.factory import FOLDER, open_built_in, open_embedder
from codequarry.shared.embedding.onnx import OnnxEmbedder
from codequarry.shared.embedding.openai_compatible import OpenAICompatibleEmbedder
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.embedding.table_embedder import TableEmbedder
from codequarry.shared.errors import EmbeddingError, UnknownName, UsageError
from codequarry.shared.known_models import DEFAULT, EMBEDDERS, RERANKERS, find_model
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
def test_a_built_in_model_of_an_earlier_release_names_its_replacement(
    name: str, settings: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        open_embedder(EmbeddingSettings(model=name, **settings), tmp_path)
    assert str(caught.value) == (
        f"embedding model '{name}' was removed: set [embedding] model = \"codequarry-1\", the built-in model; on "
        f"an index made with '{name}', run `codequarry migrate --model codequarry-1`"
    )


def test_a_token_table_is_opened_by_its_path_or_name(place_table: Callable[[Path, int], Path], tmp_path: Path) -> None:
    folder = place_table(tmp_path / "models" / "mine", 32)
    by_path = open_embedder(EmbeddingSettings(model=str(folder)), tmp_path / "nowhere")
    by_name = open_embedder(EmbeddingSettings(model="mine"), tmp_path / "models")
    assert by_path.name == by_name.name
    assert by_path.name.startswith("mine-")
    assert (by_path.dimension, by_path.embed_query("x").shape) == (32, (32,))


def test_a_missing_model_names_the_command_that_installs_it(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="run `codequarry models install minilm`"):
        open_embedder(EmbeddingSettings(model="MiniLM"), tmp_path)


def test_a_model_without_installer_names_its_files_and_folder(tmp_path: Path) -> None:
    with pytest.raises(
        EmbeddingError, match=r"put model.onnx and tokenizer.json of BAAI/bge-small-en-v1.5 into"
    ) as caught:
        open_embedder(EmbeddingSettings(model="bge-small"), tmp_path)
    assert str(tmp_path / "bge-small-en-v1.5") in str(caught.value)


def test_a_model_folder_is_opened_by_its_path_or_name(make_tiny_model: Callable[..., Any], tmp_path: Path) -> None:
    tiny = make_tiny_model("mine")
    by_path = open_embedder(EmbeddingSettings(model=str(tiny.folder)), tmp_path / "nowhere")
    by_name = open_embedder(EmbeddingSettings(model="mine"), tmp_path / "models")
    assert isinstance(by_path, OnnxEmbedder)
    assert by_path.name == by_name.name
    assert by_path.name.startswith("mine-")


def test_a_known_model_in_its_folder_has_its_known_shape(make_tiny_model: Callable[..., Any], tmp_path: Path) -> None:
    make_tiny_model("bge-small-en-v1.5")
    embedder = open_embedder(EmbeddingSettings(model="BAAI/bge-small-en-v1.5"), tmp_path / "models")
    assert (embedder.dimension, embedder.max_tokens) == (384, 512)


def test_a_folder_without_model_files_names_the_missing_file(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").touch()
    with pytest.raises(EmbeddingError, match=r"is not an embedding model: it has no tokenizer.json"):
        open_embedder(EmbeddingSettings(model=str(tmp_path)), tmp_path / "models")


@pytest.mark.parametrize("model", ["text-embedding-3-small", "text-embedding-3-large", "voyage-code-3"])
def test_an_api_model_needs_a_key_or_a_server(model: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"set CODEQUARRY_EMBEDDING__API_KEY, or set .embedding. base_url"):
        open_embedder(EmbeddingSettings(model=model), tmp_path)
    embedder = open_embedder(EmbeddingSettings(model=model, api_key="sk-secret"), tmp_path)
    assert isinstance(embedder, OpenAICompatibleEmbedder)
    assert embedder.name.startswith(model)


def test_any_model_name_goes_to_a_server(tmp_path: Path) -> None:
    embedder = open_embedder(EmbeddingSettings(model="whatever", base_url="http://127.0.0.1:9/v1"), tmp_path)
    assert embedder.name == "whatever"


def test_a_server_for_the_built_in_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="base_url is set, but model = 'codequarry-1' runs on this machine"):
        open_embedder(EmbeddingSettings(base_url="http://127.0.0.1:9/v1"), tmp_path)


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_a_missing_package_names_the_extra(
    package: str, make_tiny_model: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(EmbeddingError, match=rf"needs {package}; run `pip install 'codequarry\[onnx\]'`"):
        open_embedder(EmbeddingSettings(model=str(make_tiny_model().folder)), tmp_path)


def test_the_table_of_models_is_complete() -> None:
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


def test_names_and_aliases_of_models_are_unique() -> None:
    names = [name.casefold() for model in EMBEDDERS for name in (model.name, *model.aliases)]
    assert len(names) == len(set(names))


# The files come with every installation, and every process maps them.
MOST_BYTES = 10_000_000
CODE = {
    "json": "def load_config(path):\n    with open(path) as file:\n        return json.load(file)",
    "server": "class Server:\n    def listen(self, port):\n        self.socket.bind(('', port))\n",
    "cache": "func (c *LRU) Evict() {\n\tc.items.Remove(c.items.Back())\n}",
    "retry": "async function retry(attempt) {\n  await sleep(2 ** attempt * 1000);\n}",
    "sort": "fn quicksort<T: Ord>(items: &mut [T]) { let pivot = partition(items); }",
}
QUESTIONS = {
    "parse json file": "json",
    "start an HTTP server on a port": "server",
    "remove the oldest entry of the cache": "cache",
    "wait longer after every failed attempt": "retry",
    "sort a list": "sort",
}


@pytest.fixture(scope="module")
def model() -> Embedder:
    return open_built_in(EmbeddingSettings())


def test_the_built_in_model_is_small() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= MOST_BYTES


def test_the_built_in_model_has_its_known_shape(model: Embedder) -> None:
    known = find_model(DEFAULT)
    assert known and (known.dimension, known.window) == (model.dimension, model.max_tokens) == (256, None)
    assert model.name.startswith("codequarry-1-")
    assert not model.leaves_machine


@pytest.mark.parametrize(("question", "answer"), QUESTIONS.items())
def test_a_question_is_nearest_to_its_code(model: Embedder, question: str, answer: str) -> None:
    similarity = model.embed_documents(list(CODE.values())) @ model.embed_query(question)
    assert list(CODE)[int(np.argmax(similarity))] == answer


def test_every_letter_and_digit_has_a_vector(model: Embedder) -> None:
    """Every word can be searched for, however rare it is."""
    lengths = np.linalg.norm(model.embed_documents(list("abcdefghijklmnopqrstuvwxyz0123456789")), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)
    assert model.embed_query("xqzvjkwy") @ model.embed_query("xqzvjkwyq") > 0.5


def test_names_are_split_into_words(model: Embedder) -> None:
    first, second = model.embed_documents(["getUserById", "get_user_by_id"])
    np.testing.assert_array_equal(first, second)


def test_missing_files_ask_for_a_new_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "FOLDER", tmp_path / "gone")
    with pytest.raises(EmbeddingError, match=r"rows.npy is missing\); reinstall codequarry"):
        open_embedder(EmbeddingSettings(), tmp_path).embed_query("x")


def test_other_dimensions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="dimensions = 64: 'codequarry-1' has 256; unset it"):
        open_embedder(EmbeddingSettings(dimensions=64), tmp_path)


def test_embedding_imports_no_heavy_package_and_leaves_the_root_logger_alone() -> None:
    code = (
        "import logging, sys\n"
        "from pathlib import Path\n"
        "from codequarry.shared.settings.config import EmbeddingSettings\n"
        "from codequarry.shared.embedding.factory import open_embedder\n"
        "open_embedder(EmbeddingSettings(), Path('.')).embed_query('x')\n"
        "assert not logging.getLogger().handlers\n"
        "assert not {'tokenizers', 'onnxruntime', 'openai', 'scipy', 'requests'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
