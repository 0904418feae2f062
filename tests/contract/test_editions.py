"""Editions of an index: several side by side, one of them active, switched in a single step."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest

from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.model import Filters
from codequarry.shared.settings.config import OpenSearchSettings
from codequarry.shared.store.embedded.editions import POINTER, EmbeddedEditions
from codequarry.shared.store.opensearch.editions import OpenSearchEditions
from codequarry.shared.store.opensearch.index_bodies import KINDS, alias_of, edition_alias_of, index_of
from codequarry.shared.store.opensearch.store import OpenSearchStore


@pytest.fixture
def embedded_editions(tmp_path):
    return EmbeddedEditions(tmp_path)


@pytest.fixture
def opensearch_editions(opensearch_node):
    settings = OpenSearchSettings(urls=(opensearch_node.url,), index=f"test-editions-{uuid.uuid4().hex[:12]}")
    with closing(OpenSearchEditions(settings)) as editions:
        yield editions
        for edition in editions.present():
            editions.remove(edition)


@pytest.fixture(params=["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def editions(request):
    return request.getfixturevalue(f"{request.param}_editions")


def put(store, make_row, text, dimension):
    store.create([make_row(text)], [], {make_row(text).vector_key: np.eye(dimension, dtype=np.float32)[0]})
    store.refresh()


def test_an_index_that_does_not_exist_yet_has_a_first_edition_without_dimension(editions):
    assert (editions.active(), editions.present(), editions.dimension(1)) == (1, [], None)


def test_editions_of_different_dimensions_exist_side_by_side_and_one_is_active(editions, make_row, snapshot):
    with closing(editions.open(1, 4)) as old, closing(editions.open(2, 8)) as new:
        put(old, make_row, "old", 4)
        put(new, make_row, "new", 8)
        new.write_document("head", {"counter": 7}, None)
        assert (editions.active(), editions.present()) == (1, [1, 2])
        assert (editions.dimension(1), editions.dimension(2)) == (4, 8)
        editions.activate(2)
        assert editions.active() == 2
        (kept,) = old.chunks(snapshot(), "src/app.py", "quarry")
        assert kept.text == "old", "a store stays with its edition"
        assert old.read_document("head") is None
        put(old, make_row, "old, written late", 4)
        with closing(editions.open(editions.active(), 8)) as fresh:
            (chunk,) = fresh.chunks(snapshot(), "src/app.py", "quarry")
            assert (chunk.text, fresh.count(snapshot(), Filters())) == ("new", 1)


def test_removing_an_edition_keeps_the_others(editions, make_row, snapshot):
    for edition in (1, 2, 12):
        with closing(editions.open(edition, 4)) as store:
            put(store, make_row, f"in {edition}", 4)
    editions.activate(12)
    editions.remove(1)
    editions.remove(1)
    assert (editions.active(), editions.present(), editions.dimension(1)) == (12, [2, 12], None)
    with closing(editions.open(12, 4)) as store:
        assert store.count(snapshot(), Filters()) == 1


def test_a_damaged_pointer_is_an_error_and_does_not_mean_the_first_edition(embedded_editions, tmp_path):
    (tmp_path / POINTER).write_text("two")
    with pytest.raises(StoreUnavailable, match=r"store\.edition can't be read"):
        embedded_editions.active()


def test_a_pointer_that_cannot_be_written_is_a_store_error_and_leaves_no_file(embedded_editions, tmp_path):
    (tmp_path / POINTER).mkdir()
    with pytest.raises(StoreUnavailable, match=r"store\.edition can't be written \(Is a directory\)"):
        embedded_editions.activate(2)
    assert [path.name for path in tmp_path.iterdir()] == [POINTER]


@pytest.mark.opensearch
def test_an_index_from_before_editions_becomes_the_first_edition(opensearch_editions, opensearch_node, make_row):
    settings = opensearch_editions._settings
    with closing(OpenSearchStore(settings, 4)) as store:
        put(store, make_row, "text", 4)
        for kind in KINDS:
            store.client.indices.delete_alias(index=index_of(kind, settings), name=edition_alias_of(kind, settings))
        assert opensearch_editions.active() == 1
        assert store.read_document("head") is None
        put(store, make_row, "more", 4)
        store.client.indices.refresh(index=alias_of("chunks", settings))
        assert store.client.count(index=alias_of("chunks", settings))["count"] == 2


def test_several_threads_can_set_the_pointer_at_once(embedded_editions, tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: embedded_editions.activate(2), range(400)))
    assert embedded_editions.active() == 2
    assert [path.name for path in tmp_path.iterdir()] == [POINTER]
