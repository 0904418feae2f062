"""Mapping versions of OpenSearch: the current version, an older release without a version, and a newer release."""

import uuid
from contextlib import closing

import numpy as np
import pytest

from codequarry.shared.errors import OldFormat, StoreError, StoreUnavailable
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.opensearch import mapping_version
from codequarry.shared.store.opensearch.editions import OpenSearchEditions
from codequarry.shared.store.opensearch.index_bodies import KINDS, edition_alias_of, index_body, index_of
from codequarry.shared.store.opensearch.mapping_version import SCHEMA

pytestmark = pytest.mark.opensearch
LENGTH = 4


@pytest.fixture
def editions(opensearch_node):
    settings = OpenSearchSettings(urls=(opensearch_node.url,), index=f"test-mapping-{uuid.uuid4().hex[:12]}")
    with closing(OpenSearchEditions(settings)) as editions:
        yield editions
        for edition in editions.present():
            editions.remove(edition)


def made_by_an_older_release(editions):
    """Create the indices as the last release did: with the same fields but without a version."""
    for kind in KINDS:
        body = index_body(kind, editions._settings, LENGTH)
        del body["mappings"]["_meta"]["schema_version"]
        editions._connection.client.indices.create(index=index_of(kind, editions._settings), body=body)


def versions(editions):
    return mapping_version.read_versions(editions._connection, 1)


def mark(editions, kind, version):
    name = edition_alias_of(kind, editions._settings)
    editions._connection.client.indices.put_mapping(index=name, body={"_meta": {"schema_version": version}})


def put(store, row):
    store.create([row], [], {row.vector_key: np.eye(LENGTH, dtype=np.float32)[0]})
    store.refresh()


def test_a_new_index_has_the_version_of_this_release(editions, make_row):
    with closing(editions.open(1, LENGTH)) as store:
        put(store, make_row("text"))
    assert versions(editions) == dict.fromkeys(KINDS, SCHEMA)
    assert editions.upgrade() == (SCHEMA, SCHEMA)


def test_an_index_without_a_version_is_upgraded_on_write_without_loss(editions, make_row, snapshot):
    made_by_an_older_release(editions)
    assert versions(editions) == dict.fromkeys(KINDS, 0)
    with closing(editions.open(1, LENGTH)) as store:
        assert store.chunks(snapshot(), "src/app.py", "quarry") == []
        assert versions(editions) == dict.fromkeys(KINDS, 0), "a reader changes nothing"
        put(store, make_row("written"))
        assert versions(editions) == dict.fromkeys(KINDS, SCHEMA)
        (kept,) = store.chunks(snapshot(), "src/app.py", "quarry")
        assert kept.text == "written"


def test_the_command_upgrades_an_unused_index(editions):
    made_by_an_older_release(editions)
    assert editions.upgrade() == (0, SCHEMA)
    assert versions(editions) == dict.fromkeys(KINDS, SCHEMA)
    assert editions.dimension(1) == LENGTH
    meta = editions._connection.client.indices.get_mapping(index=edition_alias_of("catalog", editions._settings))
    assert all("about" in body["mappings"]["_meta"] for body in meta.values())


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_of_a_newer_release_is_neither_read_nor_written(editions, make_row, kind):
    with closing(editions.open(1, LENGTH)) as store:
        put(store, make_row("text"))
    with closing(editions.open(1, LENGTH)) as opened_before:
        mark(editions, kind, 99)
        with pytest.raises(StoreUnavailable, match="newer release"):
            put(opened_before, make_row("more"))
    with pytest.raises(StoreUnavailable, match="newer release"):
        editions.open(1, LENGTH)
    with pytest.raises(StoreUnavailable, match="newer release"):
        editions.upgrade()
    assert versions(editions)[kind] == 99


def test_an_index_too_old_for_upgrading_in_place_names_the_command(editions, monkeypatch):
    made_by_an_older_release(editions)
    monkeypatch.setattr(mapping_version, "ADDITIVE_SINCE", 1)
    with pytest.raises(OldFormat, match="codequarry migrate --schema"):
        editions.open(1, LENGTH)


def test_a_foreign_index_of_the_same_name_is_refused_and_not_changed(editions):
    settings = editions._settings
    made_by_an_older_release(editions)
    editions._connection.client.indices.delete(index=index_of("files", settings))
    aliases = index_body("files", settings, LENGTH)["aliases"]
    body = {"mappings": {"properties": {"repo": {"type": "integer"}}}, "aliases": aliases}
    editions._connection.client.indices.create(index=index_of("files", settings), body=body)
    with pytest.raises(StoreError, match="field types that no release used"):
        editions.upgrade()
    assert versions(editions)["files"] == 0
