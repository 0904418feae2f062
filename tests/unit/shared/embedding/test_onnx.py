import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codequarry.shared.embedding.folder import read_folder
from codequarry.shared.embedding.onnx import OnnxEmbedder
from codequarry.shared.embedding.onnx_session import pooled
from codequarry.shared.errors import EmbeddingError, UsageError
from codequarry.shared.settings.config import EmbeddingSettings

MakeModel = Callable[..., Any]


def opened(folder: Path, **settings: Any) -> OnnxEmbedder:
    return OnnxEmbedder(read_folder(folder), EmbeddingSettings(model=str(folder), **settings))


def test_each_text_is_the_mean_of_its_own_tokens(make_tiny_model: MakeModel) -> None:
    tiny = make_tiny_model()
    rows = opened(tiny.folder).embed_documents(["read file", "sort", "read line of file fast"])
    expected = [
        tiny.mean("[CLS]", "read", "file", "[SEP]"),
        tiny.mean("[CLS]", "sort", "[SEP]"),
        tiny.mean("[CLS]", "read", "line", "[UNK]", "file", "fast", "[SEP]"),
    ]
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, expected, atol=1e-6)


def test_cls_pooling_takes_the_first_token(make_tiny_model: MakeModel) -> None:
    tiny = make_tiny_model(pooling="cls")
    np.testing.assert_allclose(opened(tiny.folder).embed_query("read file"), tiny.mean("[CLS]"), atol=1e-6)


def test_a_graph_that_pools_is_not_pooled_again(make_tiny_model: MakeModel) -> None:
    tiny = make_tiny_model(pooled=True)
    expected = tiny.mean("[CLS]", "read", "file", "[SEP]")
    np.testing.assert_allclose(opened(tiny.folder).embed_query("read file"), expected, atol=1e-6)


def test_a_graph_gets_only_the_inputs_it_has(make_tiny_model: MakeModel) -> None:
    tiny = make_tiny_model(inputs=("input_ids",))
    np.testing.assert_allclose(opened(tiny.folder).embed_query("x"), tiny.mean("[CLS]", "[UNK]", "[SEP]"), atol=1e-6)


def test_prefixes_come_from_the_folder_unless_settings_override_them(make_tiny_model: MakeModel) -> None:
    tiny = make_tiny_model(query_prefix="query: ", document_prefix="passage: ")
    embedder = opened(tiny.folder)
    query = tiny.mean("[CLS]", "query", ":", "sort", "[SEP]")
    np.testing.assert_allclose(embedder.embed_query("sort"), query, atol=1e-6)
    document = tiny.mean("[CLS]", "passage", ":", "sort", "[SEP]")
    np.testing.assert_allclose(embedder.embed_documents(["sort"])[0], document, atol=1e-6)
    plain = opened(tiny.folder, document_prefix="")
    np.testing.assert_allclose(plain.embed_documents(["sort"])[0], tiny.mean("[CLS]", "sort", "[SEP]"), atol=1e-6)
    assert plain.name != embedder.name


def test_a_query_longer_than_the_window_is_the_mean_of_all_its_windows(make_tiny_model: MakeModel) -> None:
    tiny = make_tiny_model(max_tokens=16)
    embedder = opened(tiny.folder)
    text = "read " * 14 + "sort " * 50
    windows = [window.text for window in embedder.windows(text)]
    mean = embedder.embed_documents(windows).mean(axis=0)
    assert len(windows) > 4
    np.testing.assert_allclose(embedder.embed_query(text), mean / np.linalg.norm(mean), atol=1e-6)


def test_windows_leave_room_for_prefix_and_special_tokens(make_tiny_model: MakeModel) -> None:
    tiny = make_tiny_model(max_tokens=16, document_prefix="passage: ")
    embedder = opened(tiny.folder)
    assert [window.text for window in embedder.windows("read " * 12)] == ["read " * 12]
    text = " ".join(["read"] * 12 + ["sort"] * 12)
    windows = embedder.windows(text)
    assert [(window.start_token, window.end_token) for window in windows] == [(0, 12), (10, 22), (20, 24)]
    assert windows[0].text == "read " * 12
    assert windows[1].text == "read read " + "sort " * 10
    assert windows[2].text == "sort sort sort sort"
    first = tiny.mean("[CLS]", "passage", ":", *["read"] * 12, "[SEP]")
    np.testing.assert_allclose(embedder.embed_documents([windows[0].text])[0], first, atol=1e-6)


def test_limits_in_the_tokenizer_file_are_ignored(make_tiny_model: MakeModel) -> None:
    tiny = make_tiny_model()
    expected = tiny.mean("[CLS]", *["read"] * 30, "[SEP]")
    np.testing.assert_allclose(opened(tiny.folder).embed_query("read " * 30), expected, atol=1e-6)


def test_an_empty_text_gives_finite_numbers(make_tiny_model: MakeModel) -> None:
    embedder = opened(make_tiny_model().folder)
    assert np.isfinite(embedder.embed_documents(["", "read"])).all()
    assert embedder.embed_documents([]).shape == (0, 4)
    assert np.isfinite(embedder.embed_query("a\ud800")).all()


def test_the_dimension_comes_from_the_configuration_or_the_model(make_tiny_model: MakeModel) -> None:
    assert opened(make_tiny_model("asked").folder).dimension == 4
    wrong = opened(make_tiny_model("told", dimension=384).folder)
    assert wrong.dimension == 384
    with pytest.raises(EmbeddingError, match="gives 4 numbers, not 384"):
        wrong.embed_query("read")


def test_the_name_changes_with_the_files_and_the_pooling(make_tiny_model: MakeModel) -> None:
    first, second = make_tiny_model("one"), make_tiny_model("two")
    before = opened(first.folder).name
    assert before.startswith("one-")
    assert before.removeprefix("one-") == opened(second.folder).name.removeprefix("two-")
    (second.folder / "codequarry-model.json").write_text('{"name": "one", "pooling": "cls"}')
    assert opened(second.folder).name != before
    content = bytearray((first.folder / "model.onnx").read_bytes())
    content[-200] ^= 1
    (first.folder / "model.onnx").write_bytes(content)
    assert opened(first.folder).name != before


def test_several_threads_share_one_model(make_tiny_model: MakeModel) -> None:
    embedder = opened(make_tiny_model().folder)
    texts = ["read file", "sort list fast"] * 100
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(embedder.embed_documents(texts))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for rows in found:
        np.testing.assert_array_equal(rows, found[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"context_window": 1024}, "context_window = 1024: model 'tiny' reads 512 tokens"),
        ({"dimensions": 128}, "dimensions is for servers"),
    ],
)
def test_settings_that_a_local_model_does_not_support_are_refused(
    make_tiny_model: MakeModel, settings: dict[str, int], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        opened(make_tiny_model().folder, **settings)


def test_a_smaller_context_window_is_accepted(make_tiny_model: MakeModel) -> None:
    assert opened(make_tiny_model().folder, context_window=32).max_tokens == 32


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{", "codequarry-model.json is invalid"),
        ('{"pooling": "max"}', "is invalid at 'pooling'"),
        ('{"max_token": 5}', "is invalid at 'max_token'"),
    ],
)
def test_a_wrong_configuration_is_reported_with_its_key(make_tiny_model: MakeModel, config: str, message: str) -> None:
    folder = make_tiny_model().folder
    (folder / "codequarry-model.json").write_text(config)
    with pytest.raises(EmbeddingError, match=message):
        opened(folder)


@pytest.mark.parametrize(
    ("file", "message"),
    [("model.onnx", "cannot be loaded as an ONNX model"), ("tokenizer.json", "cannot be loaded as a tokenizer")],
)
def test_a_broken_file_is_named(make_tiny_model: MakeModel, file: str, message: str) -> None:
    folder = make_tiny_model().folder
    (folder / file).write_bytes(b"not what it should be")
    with pytest.raises(EmbeddingError, match=f"{file} {message}"):
        opened(folder).embed_query("read")


def test_an_unsupported_input_is_named(make_tiny_model: MakeModel) -> None:
    with pytest.raises(EmbeddingError, match="needs the input pixel_values"):
        opened(make_tiny_model(inputs=("input_ids", "pixel_values")).folder).embed_query("read")


def test_it_can_be_used_again_after_being_closed(make_tiny_model: MakeModel) -> None:
    embedder = opened(make_tiny_model().folder)
    before = embedder.embed_query("read")
    embedder.close()
    np.testing.assert_array_equal(embedder.embed_query("read"), before)


def test_pooling_covers_the_tokens_of_one_text() -> None:
    hidden = np.array([[1, 2], [3, 6]], dtype=np.float32)
    assert pooled(hidden, "mean").tolist() == [2, 4]
    assert pooled(hidden, "cls").tolist() == [1, 2]
    assert pooled(hidden[1], "mean").tolist() == [3, 6]
