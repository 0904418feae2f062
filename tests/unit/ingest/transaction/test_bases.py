"""Which published state an overlay lies on."""

import pytest

from codequarry.ingest.request.wanted_version import resolve_request
from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.ingest.source.source import fetch_source
from codequarry.ingest.transaction.bases import choose_base
from codequarry.shared.catalog.ledger import published_transactions, read_head
from codequarry.shared.versions.refs import Ref


@pytest.fixture
def world(make_repository, make_workshop):
    """Give a repository and its index, whose default branch stood at three commits, each with four paths more."""

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
def test_the_commit_that_a_branch_came_from_is_better_than_the_newest(world, at):
    base = world.choose(world.branch(world.commits[at], "mine.py"))
    assert (base.record.commit, base.paths) == (world.commits[at], 1)


def test_a_branch_that_has_all_of_the_newest_lies_on_it_whatever_its_history(world):
    ref = world.branch(world.commits[0], *(f"step{step}_{number}.py" for step in (1, 2) for number in range(4)))
    assert world.choose(ref).record.commit == world.commits[2]


def test_of_two_that_are_as_good_the_one_that_it_lies_on_already(world):
    """A newer commit with the same files is no reason to move."""
    world.repository.commit("nothing changed")
    index_repository(IndexRequest(world.repository.origin), world.workshop)
    ref = world.branch(world.commits[2], "mine.py")
    head = read_head(world.workshop.store)
    timeline = head.defaults["project"]
    *_, older, newest = published_transactions(world.workshop.store, head, timeline)
    for record in (older, newest):
        base = world.choose(ref, current=(timeline, record.number))
        assert (base.record.number, base.paths) == (record.number, 1)


def test_a_version_that_is_indexed_whole_may_be_the_base_of_others(world):
    ref = world.branch(world.commits[2], *(f"base{number}.py" for number in range(18)), name="big")
    assert index_repository(IndexRequest(world.repository.origin, ref), world.workshop).kind == "full"
    base = world.choose(world.branch("big", "mine.py"))
    assert (base.record.ref, base.paths) == ("big", 1)


def test_an_overlay_is_no_base(world):
    ref = world.branch(world.commits[2], "theirs.py", name="small")
    assert index_repository(IndexRequest(world.repository.origin, ref), world.workshop).kind == "overlay"
    base = world.choose(world.branch("small", "mine.py"))
    assert (base.record.ref, base.paths) == ("main", 2)


def test_what_other_rules_decided_counts_as_different(world, make_workshop):
    """After a change of settings git's own comparison would say that nothing differs."""
    settings = make_workshop("other", scan={"exclude": ["base0.py", "base1.py"]}).settings
    settings = settings.model_copy(update={"home": world.workshop.settings.home})
    base = world.choose(world.branch(world.commits[2], "mine.py"), settings=settings)
    assert base.paths == 3
