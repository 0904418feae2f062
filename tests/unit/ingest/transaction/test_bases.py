"""Choosing the published state that an overlay is based on."""

import pytest

from codequarry.ingest.request.wanted_version import resolve_request
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.ingest.source.source import fetch_source
from codequarry.ingest.transaction.bases import choose_base
from codequarry.shared.catalog.ledger import published_transactions, read_head
from codequarry.shared.versions.refs import Ref


@pytest.fixture
def world(make_repository, make_workshop):
    """Return a repository and its index with three commits, each adding four paths."""

    class World:
        repository = make_repository(files={f"base{number}.py": f"b = {number}\n" for number in range(20)})
        workshop = make_workshop()
        commits = ()

        def step(self) -> None:
            if self.commits:
                for number in range(4):
                    self.repository.write(f"step{len(self.commits)}_{number}.py", "s = 1\n")
                self.repository.commit()
            index_repository(IndexRequest(self.repository.origin), self.workshop)
            self.commits += (self.repository.git("rev-parse", "HEAD").decode().strip(),)

        def branch(self, start: str, *paths: str, name: str = "dev") -> Ref:
            self.repository.git("checkout", "--quiet", "-B", name, start)
            for path in paths:
                self.repository.write(path, "d = 1\n")
            self.repository.commit()
            self.repository.git("checkout", "--quiet", "main")
            return Ref("branch", name)

        def choose(self, ref: Ref, current=None, settings=None):
            store, settings = self.workshop.store, settings or self.workshop.settings
            wanted = resolve_request(IndexRequest(self.repository.origin, ref), settings, store)
            source = fetch_source(wanted, settings, store)
            return choose_base(store, read_head(store), source, "project", current)

    made = World()
    for _ in range(3):
        made.step()
    return made


@pytest.mark.parametrize("at", [0, 1, 2])
def test_the_fork_point_of_a_branch_is_a_better_base_than_the_newest_commit(world, at):
    base = world.choose(world.branch(world.commits[at], "mine.py"))
    assert (base.record.commit, base.paths) == (world.commits[at], 1)


def test_a_branch_with_all_files_of_the_newest_commit_is_based_on_it(world):
    ref = world.branch(world.commits[0], *(f"step{step}_{number}.py" for step in (1, 2) for number in range(4)))
    assert world.choose(ref).record.commit == world.commits[2]


def test_the_current_base_is_kept_if_another_is_only_as_good(world):
    """A newer commit with the same files is no reason to change the base."""
    world.repository.commit("nothing changed")
    index_repository(IndexRequest(world.repository.origin), world.workshop)
    ref = world.branch(world.commits[2], "mine.py")
    head = read_head(world.workshop.store)
    timeline = head.defaults["project"]
    *_, older, newest = published_transactions(world.workshop.store, head, timeline)
    for record in (older, newest):
        base = world.choose(ref, current=(timeline, record.number))
        assert (base.record.number, base.paths) == (record.number, 1)


def test_a_fully_indexed_version_can_be_a_base(world):
    ref = world.branch(world.commits[2], *(f"base{number}.py" for number in range(18)), name="big")
    assert index_repository(IndexRequest(world.repository.origin, ref), world.workshop).kind == "full"
    base = world.choose(world.branch("big", "mine.py"))
    assert (base.record.ref, base.paths) == ("big", 1)


def test_an_overlay_is_never_a_base(world):
    ref = world.branch(world.commits[2], "theirs.py", name="small")
    assert index_repository(IndexRequest(world.repository.origin, ref), world.workshop).kind == "overlay"
    base = world.choose(world.branch("small", "mine.py"))
    assert (base.record.ref, base.paths) == ("main", 2)


def test_files_decided_by_other_rules_count_as_different(world, make_workshop):
    """After a change of settings, git itself would find no difference."""
    settings = make_workshop("other", scan={"exclude": ["base0.py", "base1.py"]}).settings
    settings = settings.model_copy(update={"home": world.workshop.settings.home})
    base = world.choose(world.branch(world.commits[2], "mine.py"), settings=settings)
    assert base.paths == 3
