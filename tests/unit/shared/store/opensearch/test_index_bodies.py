"""Index bodies have strict mappings for every field and contain the configured settings."""

from dataclasses import fields

import pytest

from codequarry.shared.filters import FILTERABLE_FIELDS, RECALL_WEIGHTS
from codequarry.shared.model import TOKEN_FIELDS, Chunk, FileRecord, StrideInfo
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.opensearch.index_bodies import CHUNKS, KINDS, alias_of, index_bodies, index_body
from codequarry.shared.store.opensearch.rows import LOOKUP_OF_RANK

SETTINGS = OpenSearchSettings()


def properties(kind: str) -> dict:
    return index_body(kind, SETTINGS, 256)["mappings"]["properties"]


def test_four_versioned_indices_have_aliases_named_after_the_first() -> None:
    bodies = index_bodies(OpenSearchSettings(index="code"), 8)
    assert list(bodies) == ["code-000001", "code-catalog-000001", "code-files-000001", "code-vectors-000001"]
    assert [list(body["aliases"]) for body in bodies.values()] == [
        ["code", "code-edition-1"],
        ["code-catalog", "code-catalog-edition-1"],
        ["code-files", "code-files-edition-1"],
        ["code-vectors", "code-vectors-edition-1"],
    ]
    assert alias_of(CHUNKS, SETTINGS) == "code_chunks"


@pytest.mark.parametrize("kind", KINDS)
def test_every_index_is_strict_replicates_documents_and_syncs_each_request(kind: str) -> None:
    body = index_body(kind, SETTINGS, 8)
    assert body["mappings"]["dynamic"] == "strict"
    assert body["settings"]["index"]["replication"]["type"] == "DOCUMENT"
    assert body["settings"]["index"]["translog"]["durability"] == "request"


def test_the_settings_determine_shards_engine_and_graph() -> None:
    chosen = OpenSearchSettings(shards=3, replicas=2, engine="faiss", m=24, ef_construction=200)
    body = index_body(CHUNKS, chosen, 384)
    assert (body["settings"]["index"]["number_of_shards"], body["settings"]["index"]["number_of_replicas"]) == (3, 2)
    embedding = body["mappings"]["properties"]["embedding"]
    assert embedding["dimension"] == 384
    assert embedding["method"]["engine"] == "faiss"
    assert embedding["method"]["parameters"] == {"m": 24, "ef_construction": 200}


def test_every_field_of_a_chunk_is_mapped() -> None:
    mapped = properties(CHUNKS)
    assert {field.name for field in fields(Chunk)} <= set(mapped)
    assert set(mapped["stride_info"]["properties"]) == {field.name for field in fields(StrideInfo)}
    assert set(mapped["lengths"]["properties"]) == set(mapped["tokens"]["properties"]) == set(TOKEN_FIELDS)
    assert set(mapped["lookup"]["properties"]) == {*LOOKUP_OF_RANK.values(), "path", "words"}


def test_every_field_of_a_file_record_is_mapped() -> None:
    assert set(properties("files")) == {field.name for field in fields(FileRecord)} | {"died"}


@pytest.mark.parametrize("name", FILTERABLE_FIELDS)
def test_filterable_fields_are_indexed_verbatim(name: str) -> None:
    expected = "boolean" if FILTERABLE_FIELDS[name] == "boolean" else "keyword"
    assert properties(CHUNKS)[name]["type"] == expected
    assert properties(CHUNKS)[name].get("index", True)


def test_a_token_is_copied_to_the_searched_field_by_its_weight() -> None:
    for name, mapping in properties(CHUNKS)["tokens"]["properties"].items():
        assert mapping["copy_to"] == ["lookup.words"] * RECALL_WEIGHTS[name]


def test_a_name_longer_than_an_index_term_is_stored_but_not_indexed() -> None:
    """A term longer than 32,766 bytes would refuse the whole document, and a character takes at most three bytes."""
    keywords = [mapping for mapping in properties(CHUNKS).values() if mapping.get("type") == "keyword"]
    indexed = [mapping for mapping in keywords if mapping.get("index", True)]
    assert all(mapping["ignore_above"] * 4 < 32_766 for mapping in indexed)
