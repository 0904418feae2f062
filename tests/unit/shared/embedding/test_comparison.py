"""Comparing two texts with any model."""

import pytest

from codequarry.shared.embedding.comparison import compare, explains
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.settings.config import EmbeddingSettings


@pytest.fixture
def tiny(make_tiny_model):
    """Return a tiny ONNX model and a function that opens it."""
    model = make_tiny_model()
    opened = []

    def opener(**settings):
        opened.append(open_embedder(EmbeddingSettings(model=str(model.folder), **settings), model.folder))
        return opened[-1]

    yield model, opener
    for embedder in opened:
        embedder.close()


def test_a_model_without_token_sums_gives_only_the_cosine(tiny):
    model, opener = tiny
    found = compare(opener(), "read file", "sort list", 5)
    expected = model.mean("[CLS]", "read", "file", "[SEP]") @ model.mean("[CLS]", "sort", "list", "[SEP]")
    assert found.similarity == pytest.approx(float(expected), abs=1e-5)
    assert (found.windows, found.query_cut, found.explanation) == (1, False, None)
    assert not explains(opener())


def test_each_text_gets_the_prefix_of_its_side(tiny):
    model, opener = tiny
    found = compare(opener(query_prefix="query : ", document_prefix="passage : "), "read", "read", 5)
    query = model.mean("[CLS]", "query", ":", "read", "[SEP]")
    expected = query @ model.mean("[CLS]", "passage", ":", "read", "[SEP]")
    assert found.similarity == pytest.approx(float(expected), abs=1e-5)


def test_the_nearest_part_of_a_long_document_counts(tiny):
    _, opener = tiny
    embedder = opener(context_window=16)
    found = compare(embedder, "sort list", "read file " * 20 + "sort list " * 20, 5)
    parts = [window.text for window in embedder.windows("read file " * 20 + "sort list " * 20)]
    assert found.windows == len(parts) > 1
    cosines = embedder.embed_documents(parts) @ embedder.embed_query("sort list")
    assert found.similarity == pytest.approx(float(cosines.max()), abs=1e-6)
    assert found.window == int(cosines.argmax()) > 0
    assert compare(embedder, "sort list " * 20, "read", 5).query_cut
