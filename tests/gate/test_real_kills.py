"""`kill -9` at every write of commands in separate processes: the next run restores the undisturbed state.

A repository that takes the name of another at that moment is not seen by keys of the other.
"""

import itertools
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from codequarry.ingest.fsck.versions import check_version
from codequarry.ingest.git.origins import parse_origin
from codequarry.shared.access.binding import bind_index
from codequarry.shared.access.grants import Grant
from codequarry.shared.access.key_list import add_key, list_keys
from codequarry.shared.access.keys import new_key
from codequarry.shared.catalog.ledger import read_head, read_transaction
from codequarry.shared.catalog.repositories import list_repositories, read_repository
from codequarry.shared.errors import Conflict, UsageError
from codequarry.shared.jobs.housekeeping import requeue_lost
from codequarry.shared.jobs.job_list import ENDED_PREFIX, JOB_PREFIX, list_jobs
from codequarry.shared.repositories.naming import claim
from codequarry.shared.store.factory import open_store
from codequarry.shared.store.records import StoredRow
from tests.gate.killed import KILLED, Commands, Ended
from tests.gate.world import World

# No command writes this often.
MOST_WRITES = 120
# Each run drops the commit before.
RETENTION = {"grace_seconds": 0, "keep_commits": 1, "keep_days": 0}
NUMBERS = re.compile(r"\b(?:[0-9a-f]{16,}|[0-9a-f]{12}|\d+)\b|(?<=-)[0-9a-f]{12}(?=\.)")
# Files that exist by chance: SQLite's own files, and the time when a mirror was last used.
PASSING_FILES = ("-wal", "-shm", ".lock", ".used")
JOBS = (JOB_PREFIX, ENDED_PREFIX)


@dataclass(frozen=True, slots=True)
class Scene:
    """A command that is killed, and the preparation of its index."""

    arguments: tuple[str, ...]
    begin: Callable[[World], None] = World.begin

    @property
    def is_run(self) -> bool:
        """Return whether the command is itself an ordinary run, which repairs what the previous run left."""
        return self.arguments[0] == "index"

    def command(self, world: World) -> list[str]:
        """Return the arguments, with the origin of the team's repository inserted."""
        return [argument.format(ours=world.ours.origin) for argument in self.arguments]


def promise(world: World) -> None:
    """Add a key that waits for the repository."""
    add_key(world.store, new_key("reader", ["search"], [Grant("core")])[0])


def publish_more(world: World) -> None:
    """Index the repository with a branch, then change it."""
    world.begin()
    world.ours.write("b.py", "def second():\n    return 2\n")
    world.ours.remove("a.py")
    world.ours.commit("second")


SCENES = {
    "rm": Scene(("repos", "rm", "core", "--yes")),
    "rename": Scene(("repos", "rename", "core", "kernel")),
    "first index": Scene(("index", "{ours}", "--name", "core"), promise),
    "next commit": Scene(("index", "{ours}"), publish_more),
    "index --full": Scene(("index", "{ours}", "--full"), publish_more),
    "keys grant": Scene(("keys", "grant", "reader", "--repo", "soon", "--repo", "core")),
    "keys revoke": Scene(("keys", "revoke", "reader")),
}


@dataclass
class Place:
    """An index, and copies of it, one for each death."""

    template: World
    commands: Commands
    copies: int = 0

    @contextmanager
    def copy(self) -> Iterator[World]:
        """Yield a world on a new copy."""
        self.copies += 1
        workshop = self.template.workshop
        home = workshop.settings.home.with_name(f"copy {self.copies}")
        shutil.copytree(workshop.settings.home, home)
        settings = workshop.settings.model_copy(update={"home": home})
        with closing(open_store(settings, workshop.embedder.dimension)) as store:
            yield replace(self.template, workshop=replace(workshop, store=store, settings=settings))
        shutil.rmtree(home)

    def run(self, scene: Scene, world: World, at: int = 0, *, after: bool = False) -> Ended:
        """Run the command of a scene."""
        return self.commands.run(world.workshop.settings, *scene.command(world), at=at, after=after)

    def run_next(self, world: World) -> None:
        """Do the next ordinary run, which indexes another repository."""
        self.commands.must(world.workshop.settings, "index", world.other.origin)


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """Yield a program that runs commands; it is shared, because its imports take a second."""
    with Commands(tmp_path_factory.mktemp("commands")) as running:
        yield running


@pytest.fixture
def make_place(
    commands: Commands, make_workshop: Callable[..., Any], make_repository: Callable[..., Any]
) -> Callable[[Scene], Place]:
    """Return a function that prepares an index for a scene."""

    def make(scene: Scene) -> Place:
        files = {"a.py": "def first():\n    return 1\n"}
        made = {name: make_repository(name, files) for name in ("ours", "other", "intruder")}
        world = World(make_workshop("template", retention=RETENTION), **made)
        scene.begin(world)
        world.store.close()
        return Place(world, commands)

    return make


def deaths(place: Place, scene: Scene, *, after: bool = False) -> Iterator[World]:
    """Kill the command before (or after) its first write, its second, and so on, each in a copy of the index."""
    for write in itertools.count(1):
        assert write < MOST_WRITES
        with place.copy() as world:
            if place.run(scene, world, write, after=after).code != KILLED:
                assert write > 1
                return
            world.check_nothing_foreign_is_seen()
            yield world


def left_by(world: World) -> dict[str, Any]:
    """Return the contents of an index and its folder, without numbers and names that vary between runs."""
    store, home = world.store, world.workshop.settings.home
    requeue_lost(store, lambda _: False)  # a worker or the service does so every few seconds
    head = read_head(store)
    files = (path.relative_to(home) for path in home.rglob("*") if "objects" not in path.parts)
    return {
        # A job that was written twice has the same effect twice, so their number does not matter.
        "jobs": {(job.repo, job.ref, job.kind, job.state) for job in list_jobs(store)},
        "documents": Counter(
            NUMBERS.sub("#", document.key) for document in store.list_documents("") if not document.key.startswith(JOBS)
        ),
        "keys": sorted(
            (key.name, bool(key.revoked_at), sorted((grant.repos, grant.is_bound) for grant in key.grants))
            for key in list_keys(store)
        ),
        "timelines": Counter(
            (state.repo, state.ref, state.commit, state.repo_id == world.repo_id) for state in head.timelines.values()
        ),
        "open": (dict(head.open), dict(head.aborted)),
        "rows": Counter(
            row.row.chunk.id if isinstance(row, StoredRow) else (row.record.repo, row.record.path, row.record.blob)
            for timeline in range(store.newest_number() + 2)
            for row in store.history(timeline)
        ),
        "files": Counter(NUMBERS.sub("#", str(path)) for path in files if not path.name.endswith(PASSING_FILES)),
    }


def check_with_git(world: World) -> None:
    """Compare each version with git, including the text."""
    head = read_head(world.store)
    for timeline, state in head.timelines.items():
        record = read_transaction(world.store, timeline, state.published)
        assert record
        assert check_version(record, world.workshop, full_text=True).problems == ()


@pytest.mark.parametrize("name", SCENES)
def test_the_next_run_after_a_kill_restores_the_undisturbed_state(make_place, name):
    scene = SCENES[name]
    place = make_place(scene)
    with place.copy() as world:
        assert place.run(scene, world).code == 0
        if not scene.is_run:
            place.run_next(world)
        check_with_git(world)
        expected = left_by(world)
    for world in deaths(place, scene):
        if not scene.is_run:
            place.run_next(world)
            world.check_nothing_foreign_is_seen()
        if scene.is_run or read_repository(world.store, "core"):
            again = place.run(scene, world)
            assert again.code == 0, again.output
        left = left_by(world)
        for what in expected:
            assert left[what] == expected[what], what
    assert is_soon_empty(place.commands.scratch)


def is_soon_empty(folder: Path) -> bool:
    """Return whether the files of killed processes are soon removed from a folder by their supervisors."""
    deadline = time.monotonic() + 20
    while any(folder.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(folder.iterdir())


def test_a_key_whose_creation_was_killed_is_complete_or_absent(make_place):
    scene = Scene(("keys", "create", "other", "--repo", "core", "--repo", "soon"))
    for world in deaths(make_place(scene), scene):
        claim(world.store, parse_origin(world.intruder.origin), "soon", "main")
        bind_index(world.store)
        ids = {repository.id for repository in list_repositories(world.store)}
        for key in list_keys(world.store):
            assert {grant.repo_id for grant in key.grants} == (ids if key.name == "other" else {world.repo_id})


def test_a_repository_that_takes_the_name_after_a_kill_stays_hidden_from_the_old_key(make_place):
    place = make_place(SCENES["rm"])
    killed = 0
    for world in deaths(place, SCENES["rm"], after=True):
        killed += 1
        with suppress(UsageError, Conflict):  # while the name is taken
            world.intrude()
        world.check_nothing_foreign_is_seen()
        place.commands.run(world.workshop.settings, "index", world.other.origin, at=killed)
        world.check_nothing_foreign_is_seen()
        place.run_next(world)
        with suppress(UsageError, Conflict):
            world.intrude()
        world.check_nothing_foreign_is_seen()
    assert killed > 10


@pytest.mark.opensearch
@pytest.mark.long
@pytest.mark.parametrize("write", [2, 5, 9, 14, 20])
def test_a_killed_removal_on_a_node_is_finished_by_the_next_run(
    commands, make_opensearch_workshop, make_repository, write
):
    files = {"a.py": "def first():\n    return 1\n"}
    made = {name: make_repository(name, files) for name in ("ours", "other", "intruder")}
    world = World(make_opensearch_workshop(retention=RETENTION), **made)
    place, scene = Place(world, commands), SCENES["rm"]
    scene.begin(world)
    assert place.run(scene, world, write).code == KILLED
    with suppress(UsageError, Conflict):
        world.intrude()
    world.check_nothing_foreign_is_seen()
    place.run_next(world)
    world.check_nothing_foreign_is_seen()
    if read_repository(world.store, "core"):
        assert place.run(scene, world).code == 0
    world.check_nothing_is_left()
