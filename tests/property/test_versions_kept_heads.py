"""Rule 11 of docs/versioned-index.md: random lives of branches, compared with git at every commit that was head."""

import random

import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.resolution import one_version
from codequarry.shared.model import INDEXED
from codequarry.shared.versions.refs import Ref

PATHS = [f"f{number:02}.py" for number in range(12)]
BRANCHES = ["main", "next", "dev", "topic/one"]
STEPS = 40


class Life:
    """A repository whose branches change at random, and its index."""

    def __init__(self, repository, workshop, chance: random.Random) -> None:
        self.repository, self.workshop, self.chance = repository, workshop, chance
        self.default = "main"
        self.heads: dict[str, None] = {}

    def branches(self) -> list[str]:
        names = self.repository.git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")
        return names.decode().split()

    def index(self, branch: str | None = None, *, default: bool = False) -> None:
        ref = Ref("branch", branch) if branch else None
        report = index_repository(IndexRequest(self.repository.origin, ref, default=default), self.workshop)
        for part in (report, report.former_default):
            if part and part.kind != "gone":
                self.heads[part.commit] = None
        self.default = branch if default and branch else self.default

    def commit(self, branch: str, paths: list[str]) -> None:
        self.repository.git("checkout", "--quiet", branch)
        for path in paths:
            self.repository.write(path, f"def function():\n    return {self.chance.random()}\n")
        self.repository.commit(f"{len(paths)} paths")
        self.index(branch if branch != self.default else None)

    def step(self) -> None:
        branch = self.chance.choice(self.branches())
        free = sorted(set(BRANCHES) - set(self.branches()))
        kind = self.chance.choice(["small", "small", "large", "delete", "create", "promote", "rename"])
        if kind == "small":
            self.commit(branch, [self.chance.choice(PATHS)])
        elif kind == "large":
            self.commit(branch, PATHS[:-2])
        elif kind == "delete" and branch != self.default:
            self.repository.git("checkout", "--quiet", self.default)
            self.repository.git("branch", "--delete", "--force", branch)
            self.index()
        elif kind == "create" and free:
            self.repository.git("checkout", "--quiet", "-b", free[0], branch)
            self.index(free[0])
        elif kind == "promote":
            self.index(branch, default=True)
        elif kind == "rename" and free:
            self.repository.git("branch", "--move", branch, free[0])
            self.index(free[0], default=branch == self.default)

    def seen(self, kind, text: str) -> dict[str, str]:
        found = one_version(Catalog(self.workshop.store), "project", VersionQuery((VersionSpecifier(kind, text),)))
        files = self.workshop.store.files(found.snapshot)
        return {file.path: file.blob for file in files if file.verdict == INDEXED}

    def check(self) -> None:
        for commit in self.heads:
            assert self.seen("commit", commit) == self.repository.listing(commit), commit
        assert self.seen("branch", self.default)


@pytest.mark.parametrize("seed", range(4))
def test_rule_11_heads_stay_searchable_through_growth_promotion_rename_and_deletion(
    make_repository, make_workshop, seed
):
    chance = random.Random(seed)
    repository = make_repository(files={path: "x = 1\n" for path in PATHS})
    life = Life(repository, make_workshop(indexing={"overlay_max_share": 0.5}), chance)
    life.index()
    for _ in range(STEPS):
        life.step()
        life.check()
    assert len(life.heads) > 5
