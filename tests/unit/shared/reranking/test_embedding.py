"""An embedding model as a re-ranker: it scores by cosine and embeds each text once."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from codequarry.shared.arrays import Matrix, Vector
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.reranking.embedding import EmbeddingReranker, RecentVectors
from codequarry.shared.settings.config import EmbeddingSettings

LONG = 60.0
QUERY = "how is a file read"
TEXTS = ["def read_file(path): ...", "def sort(items): ...", "class Colour: ..."]


class Counting:
    """The built-in model, recording the texts it embeds."""

    def __init__(self) -> None:
        self._embedder: Embedder = open_embedder(EmbeddingSettings(), Path("no-models"))
        self.texts: list[str] = []
        self.name, self.leaves_machine = self._embedder.name, self._embedder.leaves_machine

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.texts += texts
        return self._embedder.embed_documents(texts)

    def embed_query(self, text: str) -> Vector:
        return self._embedder.embed_query(text)

    def close(self) -> None:
        self._embedder.close()


@pytest.fixture(scope="module")
def counting() -> Counting:
    return Counting()


@pytest.fixture
def model(counting: Counting) -> EmbeddingReranker:
    counting.texts.clear()
    return EmbeddingReranker(counting)  # type: ignore[arg-type]  # the part of an embedder that it uses


def test_scores_are_cosines_with_the_query(model: EmbeddingReranker, counting: Counting) -> None:
    expected = counting.embed_documents(TEXTS) @ counting.embed_query(QUERY)
    scores = dict(model.score(QUERY, TEXTS, LONG))
    np.testing.assert_allclose([scores[index] for index in range(3)], expected, atol=1e-6)
    assert max(scores, key=scores.__getitem__) == 0


def test_a_text_is_embedded_once_for_all_queries(model: EmbeddingReranker, counting: Counting) -> None:
    first = dict(model.score(QUERY, [*TEXTS, TEXTS[0]], LONG))
    again = dict(model.score(QUERY, [TEXTS[0], "new"], LONG))
    dict(model.score("another question", TEXTS, LONG))
    assert counting.texts == [*TEXTS, "new"]
    assert first[0] == first[3] == again[0]


def test_known_texts_are_scored_first_then_the_others_in_order(model: EmbeddingReranker) -> None:
    dict(model.score(QUERY, TEXTS[2:], LONG))
    assert [index for index, _ in model.score(QUERY, TEXTS, LONG)] == [2, 0, 1]


def test_after_the_time_limit_only_known_texts_are_scored(model: EmbeddingReranker) -> None:
    dict(model.score(QUERY, TEXTS[:1], LONG))
    assert [index for index, _ in model.score(QUERY, TEXTS, 0.0)] == [0]


def test_it_has_the_name_and_location_of_its_model(model: EmbeddingReranker, counting: Counting) -> None:
    assert (model.name, model.leaves_machine) == (counting.name, False)


def test_the_least_recently_used_vectors_are_dropped() -> None:
    kept = RecentVectors(2)
    rows = np.eye(3, dtype=np.float32)
    kept.put({"a": rows[0], "b": rows[1]})
    kept.get(["a"])
    kept.put({"c": rows[2]})
    assert set(kept.get(["a", "b", "c"])) == {"a", "c"}
    rows[:] = 7
    np.testing.assert_array_equal(kept.get(["a"])["a"], [1, 0, 0])
