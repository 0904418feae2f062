"""Deaths at every write to the catalog while repositories are added, renamed and removed, and keys are made.

A key must never see a repository other than the one it was granted, before or after the next run cleans up, even if
another repository has taken the name. After that run nothing of a removed repository is left.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from codequarry.ingest.git.origins import parse_origin
from codequarry.ingest.removal.interrupted_removal import REMOVAL_PREFIX, repair
from codequarry.ingest.removal.removal import remove_repository
from codequarry.ingest.request.index_request import IndexRequest, Workshop
from codequarry.ingest.run.pipeline import index_repository
from codequarry.ingest.run.rename import rename_repository
from codequarry.shared.access.binding import bind_index
from codequarry.shared.access.grants import Grant
from codequarry.shared.access.key_list import add_key, find_key, grant_to_key, list_keys
from codequarry.shared.access.keys import new_key
from codequarry.shared.catalog.repositories import read_repository
from codequarry.shared.errors import StoreUnavailable, UsageError
from codequarry.shared.jobs.job_list import cancel_jobs_of
from codequarry.shared.repositories.naming import claim
from tests.gate.world import World
from tests.property.conftest import DyingStore

MOST_WRITES = 200
MAKERS = ("make_workshop", pytest.param("make_opensearch_workshop", marks=(pytest.mark.opensearch, pytest.mark.long)))


@pytest.fixture
def world(request: pytest.FixtureRequest, make_repository: Callable[..., Any]) -> World:
    """Return a world on the embedded store, or on the store that the test is parametrised with."""
    files = {"a.py": "def first():\n    return 1\n"}
    made = {name: make_repository(name, files) for name in ("ours", "other", "intruder")}
    return World(request.getfixturevalue(getattr(request, "param", "make_workshop"))(), **made)


on_each_store = pytest.mark.parametrize("world", MAKERS, indirect=True)


def deaths(world: World, begin: Callable[[], None], act: Callable[[Workshop], object]) -> Iterator[int]:
    """Repeat ``act``, which dies before its first write, its second, and so on; yield after each death."""
    for calls in itertools.count(1):
        assert calls < MOST_WRITES
        begin()
        dying = DyingStore(world.store, calls, "before")
        with suppress(StoreUnavailable):
            act(replace(world.workshop, store=dying))
        yield calls
        world.end()
        if not dying.dead:
            return


def remove(workshop: Workshop) -> None:
    """Do the same as `codequarry repos rm core`."""
    cancel_jobs_of(workshop.store, "core")
    remove_repository("core", workshop.store, workshop.settings)


@on_each_store
@pytest.mark.parametrize("attack", ["at once", "after the next run"])
def test_a_repository_that_takes_the_name_during_a_broken_removal_is_not_seen_by_the_old_key(world, attack):
    removed = 0
    for calls in deaths(world, world.begin, remove):
        world.check_nothing_foreign_is_seen()
        is_removal = world.store.list_documents(REMOVAL_PREFIX) or read_repository(world.store, "core") is None
        if attack == "at once":
            with suppress(UsageError):  # while the name is taken
                claim(world.store, parse_origin(world.intruder.origin), "core", "main")
            world.check_nothing_foreign_is_seen()
        world.index(world.other)
        world.check_nothing_foreign_is_seen()
        if not is_removal:
            assert ("core", world.ours.origin) in world.seen(), f"died before write {calls}: nothing had been removed"
            continue
        removed += 1
        world.check_nothing_is_left()
        world.intrude()
        assert world.seen() == set()
        grant_to_key(world.store, find_key(world.store, "reader").id, [Grant("core")])
        assert world.seen() == {("core", world.intruder.origin)}, "a new grant is for the new repository"
    assert removed > 5


def test_after_a_broken_rename_the_key_sees_only_its_repository_and_the_rename_can_continue(world):
    def rename(workshop: Workshop) -> None:
        rename_repository("core", "kernel", workshop)

    for calls in deaths(world, world.begin, rename):
        world.check_nothing_foreign_is_seen()
        assert world.seen(), f"died before write {calls}: the key sees its repository under one name or both"
        repair(world.store, world.workshop.settings)
        world.check_nothing_foreign_is_seen()
        if read_repository(world.store, "core"):
            rename(world.workshop)
        assert world.seen() == {("kernel", world.ours.origin)}
        assert [grant.repos for key in list_keys(world.store) for grant in key.grants] == ["kernel"]
        world.intrude()
        assert world.seen() == {("kernel", world.ours.origin)}


def test_after_a_broken_addition_and_the_next_run_the_waiting_key_sees_the_repository(world):
    def wait() -> None:
        add_key(world.store, new_key("reader", ["search"], [Grant("core")])[0])

    for _ in deaths(
        world, wait, lambda workshop: index_repository(IndexRequest(world.ours.origin, name="core"), workshop)
    ):
        world.check_nothing_foreign_is_seen()
        world.index(world.ours, "core")
        assert world.seen() == {("core", world.ours.origin)}
        remove(world.workshop)
        world.intrude()
        assert world.seen() == set()


@on_each_store
def test_a_key_whose_creation_died_is_complete_or_absent(world):
    def make(workshop: Workshop) -> None:
        add_key(workshop.store, new_key("maker", ["search"], [Grant("core"), Grant("soon")])[0])

    for _ in deaths(world, world.begin, make):
        claim(world.store, parse_origin(world.other.origin), "soon", "main")
        bind_index(world.store)
        for key in list_keys(world.store):
            if key.name == "maker":
                ids = {read_repository(world.store, name).id for name in ("core", "soon")}
                assert {grant.repo_id for grant in key.grants} == ids
