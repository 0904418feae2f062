import pytest

from codequarry.ingest.git.origins import parse_origin
from codequarry.shared.catalog.repositories import list_repositories
from codequarry.shared.errors import UsageError
from codequarry.shared.repositories.naming import check_name, claim, find_repository


@pytest.fixture
def store(make_workshop):
    return make_workshop().store


def test_an_origin_keeps_its_name_in_any_spelling(store):
    first, _ = claim(store, parse_origin("https://host/owner/project.git"), None, "main")
    again, note = claim(store, parse_origin("git@HOST:owner/project"), None, "main")
    assert first.name == again.name == "project"
    assert note == ""
    assert len(list_repositories(store)) == 1


def test_origins_with_the_same_base_name_get_different_names_and_a_note(store):
    claim(store, parse_origin("https://host/one/project"), None, "main")
    second, note = claim(store, parse_origin("https://host/two/project"), None, "main")
    third, _ = claim(store, parse_origin("https://other/two/project"), None, "main")
    assert (second.name, third.name) == ("two-project", "two-project-2")
    assert note == "the name 'project' is taken by another origin; this one is 'two-project'"


def test_a_requested_name_is_used(store):
    repository, note = claim(store, parse_origin("https://host/one/project"), "mine", "main")
    assert (repository.name, note) == ("mine", "")


@pytest.mark.parametrize("name", ["", "a b", "../up", "-x", ".hidden", "a/b", "x" * 101])
def test_a_malformed_name_is_refused(store, name):
    with pytest.raises(UsageError, match="is not a valid repository name"):
        check_name(store, parse_origin("https://host/one/project"), name)


def test_a_name_of_another_origin_is_refused(store):
    claim(store, parse_origin("https://host/one/project"), None, "main")
    with pytest.raises(UsageError, match="'project' is the name of https://host/one/project"):
        check_name(store, parse_origin("https://host/two/project"), "project")


def test_an_origin_is_not_indexed_under_a_second_name(store):
    claim(store, parse_origin("https://host/one/project"), None, "main")
    with pytest.raises(UsageError, match=r"is indexed as 'project'; .* codequarry repos rename project other"):
        check_name(store, parse_origin("git@host:one/project.git"), "other")


def test_the_catalog_never_contains_a_secret(store):
    claim(store, parse_origin("https://me:secret@host/one/project"), None, "main")
    assert find_repository(store, parse_origin("https://host/one/project")) is not None
    assert "secret" not in repr(list_repositories(store))
