"""`codequarry models` for users and for programs."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codequarry.cli.main import run
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.errors import EmbeddingError
from codequarry.shared.known_models import EMBEDDERS, RERANKERS
from codequarry.shared.settings.config import EmbeddingSettings

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty data folder, and change to a folder without settings."""
    monkeypatch.setenv("CODEQUARRY_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def call(home: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def models_of(out: str) -> dict[str, dict[str, Any]]:
    return {model["name"]: model for model in json.loads(out)["models"]}


def test_every_known_model_is_listed_with_its_shape(call: Call) -> None:
    code, out, err = call("models")
    assert code == 0
    for known in (*EMBEDDERS, *RERANKERS):
        assert known.name in out
    assert "built in, in use" in out
    assert "'search_query: ' / 'search_document: '" in out
    assert "input_type query / input_type document" in out
    assert out.count("known, not yet served") == 3
    assert "minilm: codequarry models install minilm" in err


def test_the_json_has_everything_in_the_table(call: Call, home: Path) -> None:
    code, out, _ = call("models", "--json")
    assert code == 0
    models = models_of(out)
    assert list(models) == [known.name for known in EMBEDDERS]
    nomic = models["nomic-embed-text-v1.5"]
    assert (nomic["dimension"], nomic["window"], nomic["document_prefix"]) == (768, 8192, "search_document: ")
    assert nomic["state"] == "missing"
    assert nomic["how"].endswith(f"into {home / 'models' / 'nomic-embed-text-v1.5'}")
    assert [name for name, model in models.items() if model["in_use"]] == ["codequarry-1"]
    assert [model["name"] for model in json.loads(out)["rerankers"]] == [known.name for known in RERANKERS]


def test_a_model_placed_by_hand_is_listed_as_ready(call: Call, home: Path) -> None:
    for name in ("bge-small-en-v1.5", "mine"):
        folder = home / "models" / name
        folder.mkdir(parents=True)
        (folder / "model.onnx").touch()
        (folder / "tokenizer.json").touch()
    (home / "models" / "mine" / "codequarry-model.json").write_text('{"max_tokens": 1024, "query_prefix": "q: "}')
    models = models_of(call("models", "--json")[1])
    assert models["bge-small-en-v1.5"]["state"] == "ready"
    assert (models["mine"]["window"], models["mine"]["query_prefix"], models["mine"]["dimension"]) == (
        1024,
        "q: ",
        None,
    )
    assert "mine" in call("models")[1]
    shutil.rmtree(home)


def test_a_token_table_placed_by_hand_is_listed_as_ready(
    call: Call, home: Path, place_table: Callable[[Path, int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    place_table(home / "models" / "ours", 32)
    monkeypatch.setenv("CODEQUARRY_EMBEDDING__MODEL", "ours")
    ours = models_of(call("models", "--json")[1])["ours"]
    assert (ours["dimension"], ours["window"], ours["state"], ours["in_use"]) == (32, None, "ready", True)
    assert "folder, ready, in use" in call("models")[1]


def test_an_api_with_its_key_is_ready_and_the_key_is_not_shown(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEQUARRY_EMBEDDING__MODEL", "voyage-code-3")
    monkeypatch.setenv("CODEQUARRY_EMBEDDING__API_KEY", "sk-secret")
    _, out, err = call("models", "--json")
    voyage = models_of(out)["voyage-code-3"]
    assert (voyage["in_use"], voyage["state"]) == (True, "ready")
    assert "sk-secret" not in out + err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("word2vec", "error: unknown embedding model 'word2vec'; known: codequarry-1"),
        ("codequarry-1", "error: 'codequarry-1' is built in; there is nothing to install"),
        ("wordllama", "error: embedding model 'wordllama' was removed: set [embedding] model = \"codequarry-1\""),
        ("jina-code", "error: 'jina-embeddings-v2-base-code' cannot be installed by this command; put model.onnx"),
    ],
)
def test_installing_a_model_that_cannot_be_installed_is_wrong_usage(call: Call, name: str, said: str) -> None:
    code, out, err = call("models", "install", name)
    assert (code, out) == (2, "")
    assert err.startswith(said)
    assert err.count("\n") == 1


def test_a_damaged_table_is_listed_as_damaged_and_hides_no_other_model(
    call: Call, home: Path, place_table: Callable[[Path, int], Path]
) -> None:
    folder = place_table(home / "models" / "mine", 64)
    (folder / "scales.npy").write_bytes(b"")
    code, out, _ = call("models", "--json")
    listed = models_of(out)
    assert code == 0 and listed["codequarry-1"]["state"] == "ready"
    assert (listed["mine"]["state"], listed["mine"]["dimension"]) == ("damaged", None)
    assert "is damaged" in listed["mine"]["how"]


def test_a_table_with_a_missing_file_names_it(call: Call, home: Path, place_table: Callable[[Path, int], Path]) -> None:
    folder = place_table(home / "models" / "mine", 64)
    (folder / "vocabulary.txt").unlink()
    with pytest.raises(EmbeddingError, match=r"mine is not an embedding model: it has no vocabulary.txt$"):
        open_embedder(EmbeddingSettings(model="mine"), home / "models")
