import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from codequarry.shared.embedding.comparison import explains
from codequarry.shared.embedding.table_embedder import TableEmbedder, is_table_folder
from codequarry.shared.embedding.token_table import SCALES, TokenTable
from codequarry.shared.embedding.vocabulary import Vocabulary
from codequarry.shared.errors import EmbeddingError, UsageError
from codequarry.shared.known_models import TABLE_FILES
from codequarry.shared.settings.config import EmbeddingSettings

TOKENS = [
    "get",
    "user",
    "by",
    "id",
    "query",
    "text",
    *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"),
    "##quux",
]
TEXTS = ["getUserById(get_user)", "class QuuxUser: ...", "你好 мир é", "x", ""]
Make = Callable[..., TableEmbedder]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a small model."""
    chance = np.random.default_rng(3)
    weights = chance.standard_normal((len(TOKENS), 16)).astype(np.float32)
    TokenTable.of(Vocabulary(TOKENS), weights, np.exp(chance.standard_normal(len(TOKENS)))).write(tmp_path / "small")
    return tmp_path / "small"


@pytest.fixture
def make(folder: Path) -> Make:
    """Return a function that opens the model with settings."""
    return lambda **settings: TableEmbedder(folder, "small", EmbeddingSettings(**settings), "copy them again")


def test_vectors_have_length_one_and_texts_without_tokens_share_a_vector(make: Make) -> None:
    """Stores accept no zero vector, neither for a chunk nor for a query."""
    found = make().embed_documents(TEXTS)
    assert (found.shape, found.dtype) == ((5, 16), np.float32)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 1, 1, 1, 1], atol=1e-6)
    np.testing.assert_allclose(found[2], found[4])
    np.testing.assert_allclose(make().embed_query("你好 →"), found[2])
    assert make().embed_documents([]).shape == (0, 16)
    assert np.isfinite(make().embed_query("find \ud800 this")).all(), "a lone surrogate must not end a search"


def test_a_vector_does_not_depend_on_the_batch(make: Make) -> None:
    """Otherwise a resumed run would write other vectors than an uninterrupted run."""
    texts = [f"get user {'quux ' * (number % 7)} by id{number}" for number in range(300)]
    together = make().embed_documents(texts)
    alone = [make().embed_documents([text])[0] for text in texts[:20]]
    np.testing.assert_allclose(make().embed_documents(texts[::-1])[::-1], together, atol=1e-6)
    np.testing.assert_allclose(alone, together[:20], atol=1e-6)


def test_queries_have_their_own_token_weights(make: Make, folder: Path) -> None:
    table, model = TokenTable.read(folder), make()
    np.testing.assert_array_equal(model.embed_query("get user"), table.asking.embed(["get user"])[0])
    np.testing.assert_array_equal(model.embed_documents(["get user"]), table.embed(["get user"]))
    assert not np.allclose(model.embed_query("get user"), table.embed(["get user"])[0])


def test_prefixes_are_prepended_to_texts(make: Make) -> None:
    prefixed = make(query_prefix="query: ", document_prefix="text: ")
    np.testing.assert_array_equal(prefixed.embed_query("id"), make().embed_query("query: id"))
    np.testing.assert_array_equal(prefixed.embed_documents(["id"]), make().embed_documents(["text: id"]))


def test_the_name_changes_with_the_files_and_the_document_prefix(make: Make, folder: Path) -> None:
    name = make().name
    assert name.startswith("small-") and name == make().name
    assert make(query_prefix="q: ").name == name
    assert make(document_prefix="d: ").name != name
    table = TokenTable.read(folder)
    rows, doubled = np.array(table.rows), table.scales * 2
    rows[3, 5] += 1
    for change in (
        {"rows": rows},
        {"scales": doubled},
        {"query_scales": doubled},
        {"vocabulary": Vocabulary("x" * 33)},
    ):
        replace(table, **change).write(folder.with_name("other"))
        changed = TableEmbedder(folder.with_name("other"), "small", EmbeddingSettings(), "")
        assert changed.name.startswith("small-") and changed.name != name


def test_a_table_has_a_fixed_dimension(make: Make) -> None:
    assert (make().dimension, make(dimensions=16).dimension) == (16, 16)
    with pytest.raises(UsageError, match=r"\[embedding\] dimensions = 8: 'small' has 16"):
        make(dimensions=8)


def test_a_text_is_one_window_unless_a_context_window_is_set(make: Make) -> None:
    text = "user " * 500
    assert make().max_tokens is None
    assert [window.text for window in make().windows(text)] == [text]
    narrow = make(context_window=64, document_prefix="text: ")
    assert narrow.max_tokens == 64
    windows = narrow.windows(text)
    assert len(windows) > 5
    assert all(window.end_token - window.start_token <= 56 for window in windows)
    assert windows[-1].end_token == 500


def test_windows_start_at_tokens_and_cover_every_character(make: Make) -> None:
    text = "getUserById(quuxes)\n    # ЖИ né user_id\n" * 9
    windows = make(context_window=16).windows(text)
    places = [text.find(window.text) for window in windows]
    assert len(windows) > 3
    assert windows[0].text == text[: len(windows[0].text)] and text.endswith(windows[-1].text)
    for before, after in pairwise(windows):
        assert before.start_token < after.start_token <= before.end_token
    assert all(place >= 0 for place in places)
    ids = TokenTable.read(make()._folder).vocabulary.ids
    assert all(len(ids(window.text)) == window.end_token - window.start_token for window in windows)


def test_the_prefix_reduces_every_window(make: Make) -> None:
    plain, prefixed = make(context_window=16), make(context_window=16, document_prefix="get user by id: ")
    text = " ".join(["user"] * 16)
    assert len(plain.windows(text)) == 1
    assert [window.end_token for window in prefixed.windows(text)] == [12, 16]


def test_the_explanation_matches_the_similarity_of_query_and_document(make: Make) -> None:
    model = make(query_prefix="query ", document_prefix="text ")
    found = model.explain("get user", "user by id", 10)
    cosine = model.embed_query("get user") @ model.embed_documents(["user by id"])[0]
    assert found.similarity == pytest.approx(float(cosine), abs=1e-5)
    assert {part.token for part in found.query.top} == {"query", "get", "user"}
    assert explains(model)


def test_several_threads_load_once_and_agree(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    model, found, loaded = make(), list[np.ndarray](), list[Path]()
    read = TokenTable.read
    monkeypatch.setattr(TokenTable, "read", lambda folder: loaded.append(folder) or read(folder))
    threads = [threading.Thread(target=lambda: found.append(model.embed_documents(TEXTS * 50))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(found), len(loaded)) == (8, 1)
    for rows in found:
        np.testing.assert_array_equal(rows, found[0])


def test_it_can_be_used_again_after_being_closed(make: Make) -> None:
    model = make()
    before = model.embed_query("user")
    model.close()
    np.testing.assert_array_equal(model.embed_query("user"), before)


@pytest.mark.parametrize("name", TABLE_FILES)
def test_a_missing_file_is_named_with_its_remedy(make: Make, folder: Path, name: str) -> None:
    assert is_table_folder(folder)
    (folder / name).unlink()
    assert not is_table_folder(folder)
    with pytest.raises(
        EmbeddingError, match=rf"model 'small' cannot be read \(.*{name} is missing\); copy them again$"
    ):
        make().embed_query("x")


@pytest.mark.parametrize("name", TABLE_FILES)
@pytest.mark.parametrize(
    "damage",
    [lambda content: content[:-7], lambda content: b"", lambda content: b"\xff\xfe" * 40],
    ids=["cut off", "empty", "something else"],
)
def test_a_damaged_file_is_an_error(make: Make, folder: Path, name: str, damage: Callable[[bytes], bytes]) -> None:
    file = folder / name
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(EmbeddingError, match=r"model 'small' cannot be read \(.*\); copy them again$") as caught:
        make().dimension  # noqa: B018
    assert "\n" not in str(caught.value)


def test_files_of_different_models_are_an_error(make: Make, folder: Path) -> None:
    np.save(folder / SCALES, np.ones(3, dtype=np.float32))
    with pytest.raises(EmbeddingError, match="do not belong together"):
        make().embed_query("x")
