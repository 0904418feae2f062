"""Mirrors that a removal leaves on other machines, and late repetitions of a removal."""

from dataclasses import replace

import pytest

from codequarry.ingest.git.mirror_cache import mirror_in_use
from codequarry.ingest.git.origins import parse_origin
from codequarry.ingest.removal.interrupted_removal import (
    LEFT_MIRROR_PREFIX,
    REMOVAL_PREFIX,
    finish_removals,
    remove_left_mirrors,
    repair,
)
from codequarry.ingest.removal.removal import remove_repository
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.catalog.ledger import read_head
from codequarry.shared.catalog.repositories import read_repository
from codequarry.shared.errors import NotIndexed
from codequarry.shared.repositories.mirror_folders import mirror_folder


@pytest.fixture
def repository(make_repository):
    return make_repository(files={"a.py": "def first():\n    return 1\n"})


@pytest.fixture
def machines(make_workshop, repository, tmp_path):
    """Return two machines with a mirror each, whose settings name a shared store."""
    workshop = make_workshop()
    shared = workshop.settings.model_copy(update={"store": "opensearch"})
    here = replace(workshop, settings=shared)
    index_repository(IndexRequest(repository.origin), here)
    there = replace(workshop, settings=shared.model_copy(update={"home": tmp_path / "there"}))
    index_repository(IndexRequest(repository.origin, full=True), there)
    return here, there


def mirror(machine, repository):
    return mirror_folder(parse_origin(repository.origin), machine.settings.home)


def test_each_machine_deletes_its_unused_mirror_of_a_removed_repository(machines, repository):
    here, there = machines
    assert mirror(here, repository).exists() and mirror(there, repository).exists()
    remove_repository("project", here.store, here.settings)
    assert not mirror(here, repository).exists()
    with mirror_in_use(mirror(there, repository)):
        assert remove_left_mirrors(there.store, there.settings) == []
        assert mirror(there, repository).exists()
    repair(there.store, there.settings)
    assert not mirror(there, repository).exists()


def test_the_mirror_of_a_repository_that_was_added_again_is_kept(machines, repository):
    here, there = machines
    remove_repository("project", here.store, here.settings)
    index_repository(IndexRequest(repository.origin), here)
    assert remove_left_mirrors(there.store, there.settings) == []
    assert mirror(there, repository).exists()
    assert there.store.list_documents(LEFT_MIRROR_PREFIX) == []


def test_a_mirror_of_another_index_in_the_same_folder_is_kept(machines, repository, make_repository, make_workshop):
    here, _ = machines
    other = make_repository("other", {"b.py": "def second():\n    return 2\n"})
    neighbour = make_workshop("neighbour")
    settings = neighbour.settings.model_copy(update={"home": here.settings.home})
    index_repository(IndexRequest(other.origin), replace(neighbour, settings=settings))
    remove_repository("project", here.store, here.settings)
    repair(here.store, here.settings)
    assert mirror(here, other).exists()


def test_a_late_removal_spares_a_new_repository_with_the_same_name(machines, make_repository):
    here, _ = machines
    before = read_repository(here.store, "project")
    remove_repository("project", here.store, here.settings)
    other = make_repository("later", {"b.py": "def second():\n    return 2\n"})
    index_repository(IndexRequest(other.origin, name="project"), here)
    note = {"name": "project", "repo_id": before.id, "origin": before.origin}
    here.store.write_document(f"{REMOVAL_PREFIX}{before.id}:project", note, None)
    assert finish_removals(here.store, here.settings) == ["project"]
    with pytest.raises(NotIndexed):
        remove_repository("project", here.store, here.settings, before.id)
    known = read_repository(here.store, "project")
    assert known.origin == other.origin
    assert read_head(here.store).id_of_repo("project") == known.id
    assert read_head(here.store).defaults["project"]
    assert mirror(here, other).exists()
