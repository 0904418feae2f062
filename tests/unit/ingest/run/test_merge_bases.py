"""Merge bases kept by index runs, and found on request."""

import pytest

from codequarry.ingest.removal.removal import remove_repository
from codequarry.ingest.request.index_request import IndexRequest
from codequarry.ingest.run.merge_bases import find_merge_base
from codequarry.ingest.run.pipeline import index_repository
from codequarry.shared.catalog.merge_bases import MERGE_BASES_PREFIX, read_merge_base
from codequarry.shared.catalog.pull_requests import PULL_PREFIX, change_pull_request, read_pull_request
from codequarry.shared.catalog.repositories import read_repository
from codequarry.shared.errors import GitError
from codequarry.shared.versions.refs import Ref


class Forked:
    """A repository whose branch `dev`, also pull request 7, left `main` after its first commit."""

    def __init__(self, repository, workshop):
        self.repository, self.workshop = repository, workshop
        self.base = self.tip("main")
        repository.git("checkout", "--quiet", "-b", "dev")
        self.dev = self.commit("dev.py")
        repository.git("update-ref", "refs/pull/7/head", self.dev)
        repository.git("checkout", "--quiet", "main")
        self.main = self.commit("main.py")

    def tip(self, name):
        return self.repository.git("rev-parse", name).decode().strip()

    def commit(self, path):
        self.repository.write(path, f"def of_{path[:-3]}():\n    return 1\n")
        return self.repository.commit(path)

    def index(self, ref=None):
        index_repository(IndexRequest(self.repository.origin, ref, "core"), self.workshop)

    @property
    def known(self):
        return read_repository(self.workshop.store, "core")

    def base_of(self, one, other):
        return read_merge_base(self.workshop.store, self.known.id, one, other)

    def pull(self, number="7"):
        return read_pull_request(self.workshop.store, self.known.id, number)

    def target(self, branch, number="7"):
        change_pull_request(
            self.workshop.store, self.known.id, number, lambda pull: type(pull)(pull.repo_id, number, branch)
        )

    def find(self, one, other, pull=""):
        return find_merge_base(self.workshop.store, self.workshop.settings, self.known, (one, other), pull)


@pytest.fixture
def forked(make_repository, make_workshop):
    return Forked(make_repository(files={"base.py": "def base():\n    return 0\n"}), make_workshop())


def test_a_version_s_run_keeps_its_merge_base_with_the_default_branch(forked):
    forked.index()
    forked.index(Ref("branch", "dev"))
    assert forked.base_of(forked.main, forked.dev) == forked.base_of(forked.dev, forked.main) == forked.base
    assert forked.base_of(forked.main, forked.base) is None


def test_the_default_branch_s_run_keeps_its_merge_bases_with_the_other_versions(forked):
    forked.index()
    forked.index(Ref("branch", "dev"))
    later = forked.commit("later.py")
    forked.index()
    assert forked.base_of(later, forked.dev) == forked.base


def test_a_pull_request_s_run_keeps_where_it_left_its_target(forked):
    forked.repository.git("checkout", "--quiet", "-b", "release", "main")
    release = forked.commit("release.py")
    forked.repository.git("checkout", "--quiet", "-B", "dev", "release")
    dev = forked.commit("more.py")
    forked.repository.git("update-ref", "refs/pull/7/head", dev)
    forked.repository.git("checkout", "--quiet", "main")
    forked.index()
    forked.target("release")
    forked.index(Ref("branch", "release"))
    forked.index(Ref("pull", "7"))
    assert (forked.pull().head, forked.pull().base) == (dev, release)
    assert forked.base_of(release, dev) == release
    assert forked.base_of(forked.main, dev) == forked.main


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_merged_pull_request_keeps_its_base(forked, when):
    if when == "before":
        forked.index()
        forked.index(Ref("pull", "7"))
    forked.repository.git("merge", "--quiet", "--no-ff", "dev")
    forked.commit("later.py")
    forked.index()
    forked.index(Ref("pull", "7"))
    assert (forked.pull().head, forked.pull().base) == (forked.dev, forked.base)
    assert forked.base_of(forked.tip("main"), forked.dev) == forked.dev


def test_a_merge_base_is_found_on_request(forked):
    forked.index()
    assert forked.find(forked.main, forked.dev, pull="7") == forked.base
    assert forked.base_of(forked.main, forked.dev) == forked.base
    assert forked.pull().base == forked.base
    forked.repository.git("checkout", "--quiet", "--orphan", "alone")
    alone = forked.commit("alone.py")
    assert forked.find(forked.main, alone) == forked.base_of(forked.main, alone) == ""
    with pytest.raises(GitError):
        forked.find(forked.main, "f" * 40)


def test_nothing_is_kept_of_a_removed_repository(forked):
    forked.index()
    forked.index(Ref("pull", "7"))
    store = forked.workshop.store
    assert store.list_documents(MERGE_BASES_PREFIX) and store.list_documents(PULL_PREFIX)
    remove_repository("core", store, forked.workshop.settings)
    assert not store.list_documents(MERGE_BASES_PREFIX) and not store.list_documents(PULL_PREFIX)
