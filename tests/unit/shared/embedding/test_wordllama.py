import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codequarry.shared.embedding import wordllama
from codequarry.shared.embedding.wordllama import WordLlamaEmbedder
from codequarry.shared.errors import EmbeddingError, UsageError
from codequarry.shared.settings.config import EmbeddingSettings

TEXTS = [
    "def read_lines(path):\n    with open(path) as file:\n        return file.readlines()",
    "class LruCache:\n    def evict(self): ...",
    "你好 мир é",
    "x",
]


@pytest.fixture(scope="module")
def model() -> WordLlamaEmbedder:
    return WordLlamaEmbedder(EmbeddingSettings())


def library() -> Any:
    """Load the model by the library's own way."""
    from wordllama import WordLlama

    return WordLlama.load(cache_dir=Path(sys.modules["wordllama"].__file__ or "").parent, disable_download=True)


def test_the_vectors_are_those_of_the_library(model: WordLlamaEmbedder) -> None:
    expected = library().embed(TEXTS, norm=True)
    np.testing.assert_allclose(model.embed_documents(TEXTS), expected, atol=1e-6)
    np.testing.assert_allclose(model.embed_query(TEXTS[0]), expected[0], atol=1e-6)


def test_a_text_longer_than_a_block_of_tokens_is_read_to_its_end(model: WordLlamaEmbedder) -> None:
    text = "first part " * 6000 + "and another end " * 3000
    np.testing.assert_allclose(model.embed_query(text), library().embed([text], norm=True)[0], atol=1e-4)


def test_vectors_have_length_one_and_do_not_depend_on_the_batch(model: WordLlamaEmbedder) -> None:
    many = model.embed_documents(TEXTS * 200)
    assert many.shape == (800, 256)
    assert many.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(many, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(many[:4], many[-4:])


def test_an_empty_text_is_zeros_and_no_texts_are_no_rows(model: WordLlamaEmbedder) -> None:
    assert not model.embed_documents([""]).any()
    assert model.embed_documents([]).shape == (0, 256)


def test_a_lone_surrogate_does_not_end_a_search(model: WordLlamaEmbedder) -> None:
    assert np.isfinite(model.embed_query("find \ud800 this")).all()


def test_a_question_is_nearer_to_its_code_than_to_other_code(model: WordLlamaEmbedder) -> None:
    similarity = model.embed_documents(TEXTS[:2]) @ model.embed_query("read all lines of a file")
    assert similarity[0] > similarity[1] + 0.1


def test_several_threads_load_once_and_agree() -> None:
    model = WordLlamaEmbedder(EmbeddingSettings())
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(model.embed_documents(TEXTS * 50))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    for rows in found:
        np.testing.assert_array_equal(rows, found[0])


def test_the_name_has_the_dimension_and_changes_with_the_document_prefix(model: WordLlamaEmbedder) -> None:
    assert model.name.startswith("wordllama-l2-256-")
    assert WordLlamaEmbedder(EmbeddingSettings(query_prefix="q: ")).name == model.name
    assert WordLlamaEmbedder(EmbeddingSettings(document_prefix="d: ")).name != model.name


def test_a_smaller_dimension_is_the_beginning_of_the_larger(model: WordLlamaEmbedder) -> None:
    small = WordLlamaEmbedder(EmbeddingSettings(dimensions=64))
    head = model.embed_query(TEXTS[0])[:64]
    assert small.dimension == 64
    np.testing.assert_allclose(small.embed_query(TEXTS[0]), head / np.linalg.norm(head), atol=1e-5)
    with pytest.raises(UsageError, match="dimensions = 100: wordllama has 64, 128, 256"):
        WordLlamaEmbedder(EmbeddingSettings(dimensions=100))


def test_prefixes_are_put_before_the_texts(model: WordLlamaEmbedder) -> None:
    prefixed = WordLlamaEmbedder(EmbeddingSettings(query_prefix="query: ", document_prefix="text: "))
    np.testing.assert_array_equal(prefixed.embed_query("x"), model.embed_query("query: x"))
    np.testing.assert_array_equal(prefixed.embed_documents(["x"]), model.embed_documents(["text: x"]))


def test_any_length_is_one_window_unless_a_context_window_is_set(model: WordLlamaEmbedder) -> None:
    text = "word " * 500
    assert model.max_tokens is None
    assert [window.text for window in model.windows(text)] == [text]
    narrow = WordLlamaEmbedder(EmbeddingSettings(context_window=64, document_prefix="text: "))
    assert narrow.max_tokens == 64
    windows = narrow.windows(text)
    assert len(windows) > 5
    assert all(window.end_token - window.start_token <= 56 for window in windows)


def test_it_can_be_used_again_after_being_closed(model: WordLlamaEmbedder) -> None:
    before = model.embed_query("x")
    model.close()
    np.testing.assert_array_equal(model.embed_query("x"), before)


def test_missing_files_name_the_command_that_brings_them_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordllama, "WEIGHTS", "weights/none.safetensors")
    with pytest.raises(EmbeddingError, match="run `pip install --force-reinstall wordllama`"):
        WordLlamaEmbedder(EmbeddingSettings()).embed_query("x")


def test_embedding_leaves_the_root_logger_and_the_slow_package_alone() -> None:
    """Importing `wordllama` itself would configure logging for the whole program."""
    code = (
        "import logging, sys\n"
        "from pathlib import Path\n"
        "from codequarry.shared.settings.config import EmbeddingSettings\n"
        "from codequarry.shared.embedding.factory import open_embedder\n"
        "open_embedder(EmbeddingSettings(), Path('.')).embed_query('x')\n"
        "assert not logging.getLogger().handlers\n"
        "assert not {'wordllama', 'requests', 'openai', 'onnxruntime'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
