"""What any good built-in model fulfils; none of its numbers."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from codequarry.shared.embedding import built_in
from codequarry.shared.embedding.built_in import FOLDER, open_built_in
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.embedding.known import DEFAULT, find_model
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import EmbeddingError, UsageError
from codequarry.shared.settings.config import EmbeddingSettings

# What comes with every installation, and is mapped by every process.
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


def test_its_files_are_small() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= MOST_BYTES


def test_its_shape_is_the_one_that_is_told(model: Embedder) -> None:
    known = find_model(DEFAULT)
    assert known and (known.dimension, known.window) == (model.dimension, model.max_tokens) == (256, None)
    assert model.name.startswith("codequarry-1-")
    assert not model.leaves_machine


@pytest.mark.parametrize(("question", "answer"), QUESTIONS.items())
def test_a_question_is_nearest_to_its_code(model: Embedder, question: str, answer: str) -> None:
    similarity = model.embed_documents(list(CODE.values())) @ model.embed_query(question)
    assert list(CODE)[int(np.argmax(similarity))] == answer


def test_every_letter_and_digit_says_something(model: Embedder) -> None:
    """No word is so rare that nothing of it can be looked for."""
    lengths = np.linalg.norm(model.embed_documents(list("abcdefghijklmnopqrstuvwxyz0123456789")), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)
    assert model.embed_query("xqzvjkwy") @ model.embed_query("xqzvjkwyq") > 0.5


def test_names_are_read_by_their_words(model: Embedder) -> None:
    one, other = model.embed_documents(["getUserById", "get_user_by_id"])
    np.testing.assert_array_equal(one, other)


def test_missing_files_name_the_command_that_brings_them_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(built_in, "FOLDER", tmp_path / "gone")
    with pytest.raises(EmbeddingError, match=r"rows.npy is missing\); install codequarry again"):
        open_embedder(EmbeddingSettings(), tmp_path).embed_query("x")


def test_other_dimensions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="dimensions = 64: 'codequarry-1' has 256; unset it"):
        open_embedder(EmbeddingSettings(dimensions=64), tmp_path)


def test_embedding_takes_no_heavy_package_and_leaves_the_root_logger_alone() -> None:
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
