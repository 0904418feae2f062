import pytest

from codequarry.search_api.versions.catalog import MAX_AGE_SECONDS, Catalog
from codequarry.shared.catalog.repositories import Repository, save_repository
from codequarry.shared.errors import ModelMismatch
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.versions.head import Head, Timeline


@pytest.fixture
def store(tmp_path):
    """Return an empty embedded store."""
    opened = EmbeddedStore(tmp_path / "store", 4)
    yield opened
    opened.close()


@pytest.fixture
def clock():
    """Return a clock that the test advances."""
    return {"now": 0.0}


def test_repositories_are_read_again_when_the_cache_expires(store, clock):
    catalog = Catalog(store, clock=lambda: clock["now"])
    assert catalog.repositories(Head()) == {}
    save_repository(store, Repository("core", "", "main"))
    assert catalog.repositories(Head()) == {}
    clock["now"] += MAX_AGE_SECONDS + 1
    assert list(catalog.repositories(Head())) == ["core"]


@pytest.mark.parametrize(
    ("head", "asked"),
    [(Head(timelines={1: Timeline("core", 1)}, defaults={"core": 1}), ()), (Head(), ("core",))],
)
def test_repositories_are_read_again_if_one_is_missing(store, clock, head, asked):
    catalog = Catalog(store, clock=lambda: clock["now"])
    catalog.repositories(Head())
    save_repository(store, Repository("core", "", "main"))
    assert list(catalog.repositories(head, asked)) == ["core"]


def test_an_error_of_the_check_is_raised_every_time(store):
    def refuse(_):
        raise ModelMismatch("made with another model")

    catalog = Catalog(store, refuse)
    for _ in range(2):
        with pytest.raises(ModelMismatch):
            catalog.repositories(Head())


def test_missing_parts_of_a_publication_are_not_cached(store):
    catalog = Catalog(store)
    assert catalog.publication(1, 2).summary is None
    assert catalog.publication(1, 2).record is None
