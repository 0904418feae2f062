from dataclasses import dataclass

import pytest

from codequarry.shared.errors import ModelMismatch, StoreUnavailable
from codequarry.shared.index.identity import (
    IDENTITY_KEY,
    Identity,
    check_identity,
    check_strides,
    claim_identity,
    forget_identity,
    read_identity,
)
from codequarry.shared.known_models import TABLE_FILES
from codequarry.shared.settings.config import EmbeddingSettings, OpenSearchSettings, SettingsModel
from codequarry.shared.store.factory import open_store


@dataclass(frozen=True)
class Model:
    name: str = "one"
    dimension: int = 256
    max_tokens: int | None = None


@pytest.fixture
def store(make_workshop):
    return make_workshop().store


def test_an_empty_index_accepts_any_model(store):
    check_identity(store, Model("any", 7), "any")
    assert read_identity(store) is None


def test_the_first_claim_stays_and_can_be_repeated(store):
    claim_identity(store, Model(), EmbeddingSettings(model="a setting"), "1")
    claim_identity(store, Model(), EmbeddingSettings(model="a setting"), "1")
    check_identity(store, Model(), "a setting")
    assert read_identity(store) == Identity("one", 256, "1", "a setting", strides="none")


@pytest.mark.parametrize("other", [Model("two"), Model(dimension=128)])
def test_another_model_or_dimension_is_refused_with_a_remedy(store, other):
    claim_identity(store, Model(), EmbeddingSettings(model="old"), "1")
    for attempt in (
        check_identity,
        lambda store, model, name: claim_identity(store, model, EmbeddingSettings(model=name), "1"),
    ):
        with pytest.raises(
            ModelMismatch, match=r"set CODEQUARRY_EMBEDDING__MODEL=old, or run `codequarry migrate --model new`"
        ):
            attempt(store, other, "new")
    with pytest.raises(ModelMismatch, match=r"restore the \[embedding\] settings"):
        check_identity(store, other, "old")


def test_another_path_of_the_same_folder_is_not_suggested(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in TABLE_FILES:
        (tmp_path / name).touch()
    claim_identity(store, Model(), EmbeddingSettings(model="."), "1")
    with pytest.raises(ModelMismatch, match=r"restore the \[embedding\] settings"):
        check_identity(store, Model("two"), str(tmp_path))


def test_a_new_chunker_keeps_the_index(store):
    claim_identity(store, Model(), EmbeddingSettings(model="s"), "1")
    claim_identity(store, Model(), EmbeddingSettings(model="s"), "2")
    assert read_identity(store) == Identity("one", 256, "2", "s", strides="none")


def test_model_options_are_stored_without_url_and_key(store):
    settings = EmbeddingSettings(model="m", dimensions=64, query_prefix="q: ", base_url="http://x/v1", api_key="secret")
    claim_identity(store, Model(), settings, "1")
    assert read_identity(store).options == {"dimensions": 64, "query_prefix": "q: "}


def test_a_forgotten_identity_can_be_claimed_again(store):
    claim_identity(store, Model(), EmbeddingSettings(model="s"), "1")
    forget_identity(store)
    claim_identity(store, Model("two"), EmbeddingSettings(model="s"), "1")


def test_the_settings_choose_the_store(tmp_path):
    embedded = open_store(SettingsModel(home=tmp_path), 8)
    assert embedded.name == "embedded"
    embedded.close()
    nowhere = OpenSearchSettings(urls=("http://127.0.0.1:1",), max_retries=0, timeout_seconds=1)
    with pytest.raises(StoreUnavailable, match=r"OpenSearch at http://127\.0\.0\.1:1 does not answer"):
        open_store(SettingsModel(home=tmp_path, store="opensearch", opensearch=nowhere), 8)


def test_other_strides_are_refused_with_both_remedies(store):
    claim_identity(store, Model(max_tokens=512), EmbeddingSettings(model="m"), "1")
    check_strides(store, Model(max_tokens=512), EmbeddingSettings(context_window=512, stride_window=448))
    for settings in (EmbeddingSettings(model="m", stride_window=400), EmbeddingSettings(model="m", stride_overlap=0)):
        for attempt in (check_strides, lambda *given: claim_identity(*given, "1")):
            with pytest.raises(ModelMismatch) as caught:
                attempt(store, Model(max_tokens=512), settings)
            assert "made with strides of 448 tokens that overlap by 64 in a window of 512" in str(caught.value)
            assert "restore [embedding] context_window unset, stride_window unset" in str(caught.value)
            assert "or run `codequarry migrate --model m`" in str(caught.value)


def test_an_index_of_an_older_release_takes_the_strides_of_unchanged_settings(store):
    claim_identity(store, Model(max_tokens=128), EmbeddingSettings(context_window=128), "1")
    document = store.read_document(IDENTITY_KEY)
    older = {name: value for name, value in document.body.items() if name != "strides"}
    store.write_document(IDENTITY_KEY, older, document.version)
    with pytest.raises(ModelMismatch, match="made with other settings of context_window"):
        check_strides(store, Model(max_tokens=256), EmbeddingSettings(context_window=256))
    claim_identity(store, Model(max_tokens=128), EmbeddingSettings(context_window=128), "1")
    assert read_identity(store).strides == "128/112/16"
