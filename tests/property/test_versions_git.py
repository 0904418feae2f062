"""Random histories of a repository against git itself, with crashes at every kind of write."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.shared.catalog.ledger import published_transactions, read_head
from codequarry.shared.catalog.repositories import read_progress, read_summary
from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.model import INDEXED, Filters
from codequarry.shared.versions.snapshots import head_snapshot, snapshot_at

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
PATHS = ["a.py", "b.md", "src/c.py", "src/d.txt", "src/deep/e.go", "docs/f.md", "g.json", "h h.txt", "ünï.py"]
IGNORABLE = ["src/", "*.md", "g.json", "docs/f.md", "# nothing"]
STEPS = 10


class History:
    """A repository that changes at random, and what the scan rules leave of its commits."""

    def __init__(self, repository, chance: random.Random) -> None:
        self.repository, self.chance = repository, chance
        self.commits: list[str] = []

    def content(self) -> str:
        lines = self.chance.randint(0, 6)
        return "".join(f"{self.chance.choice(WORDS)} = {self.chance.randint(0, 3)}\n" for _ in range(lines))

    def step(self) -> None:
        name = self.chance.choice(
            [
                "edit",
                "edit",
                "edit",
                "add",
                "delete",
                "rename",
                "mode",
                "link",
                "revert",
                "merge",
                "force",
                "ignore",
                "empty",
            ]
        )
        getattr(self, name)()
        self.commits.append(self.repository.commit(name))

    def files(self) -> list[str]:
        return sorted(path for path in self.repository.listing() if path != ".codequarryignore")

    def edit(self) -> None:
        for path in self.chance.sample(self.files(), min(2, len(self.files()))):
            self.repository.write(path, self.content())

    def add(self) -> None:
        path = self.chance.choice(PATHS)
        if not (self.repository.folder / path).is_symlink():
            self.repository.write(path, self.content())

    def delete(self) -> None:
        for path in self.chance.sample(self.files(), min(1, len(self.files()))):
            self.repository.remove(path)

    def rename(self) -> None:
        free = [path for path in PATHS if not (self.repository.folder / path).exists()]
        if self.files() and free:
            source, target = self.chance.choice(self.files()), self.repository.folder / self.chance.choice(free)
            target.parent.mkdir(parents=True, exist_ok=True)
            (self.repository.folder / source).rename(target)

    def mode(self) -> None:
        for path in self.files()[:1]:
            file = self.repository.folder / path
            file.chmod(file.stat().st_mode ^ 0o111)

    def link(self) -> None:
        for path in self.files()[-1:]:
            self.repository.remove(path)
            (self.repository.folder / path).symlink_to("a.py")

    def revert(self) -> None:
        commit = self.chance.choice(self.commits)
        self.repository.git("read-tree", "--reset", "-u", commit)

    def merge(self) -> None:
        here = self.repository.git("rev-parse", "HEAD").decode().strip()
        self.repository.git("checkout", "--quiet", "-B", "side", self.chance.choice(self.commits))
        self.edit()
        self.add()
        self.repository.commit("side")
        self.repository.git("checkout", "--quiet", "-B", "main", here)
        self.repository.git(
            "merge",
            "--quiet",
            "--strategy-option=theirs",
            "--no-edit",
            "--allow-unrelated-histories",
            "--strategy=ort",
            "side",
            "--message",
            "merge",
        ) if self.mergeable() else None

    def mergeable(self) -> bool:
        try:
            self.repository.git("merge-tree", "--write-tree", "main", "side")
        except Exception:
            return False
        return True

    def force(self) -> None:
        self.repository.git("reset", "--quiet", "--hard", self.chance.choice(self.commits))

    def ignore(self) -> None:
        lines = self.chance.sample(IGNORABLE, self.chance.randint(0, 2))
        self.repository.write(".codequarryignore", "".join(f"{line}\n" for line in lines))

    def empty(self) -> None:
        """Change nothing; the commit is empty."""

    def expected(self, commit: str) -> dict[str, str]:
        """Return git's listing without the paths that the commit's own ignore file excludes."""
        files = self.repository.listing(commit)
        lines = []
        if ".codequarryignore" in files:
            lines = self.repository.git("show", f"{commit}:.codequarryignore").decode().splitlines()
        return {path: blob for path, blob in files.items() if not any(_matches(path, line) for line in lines)}


def _matches(path: str, line: str) -> bool:
    return path == line or (line.endswith("/") and path.startswith(line)) or (line == "*.md" and path.endswith(".md"))


def live_files(store, snapshot) -> dict[str, str]:
    records = list(store.files(snapshot))
    assert max(Counter(record.path for record in records).values(), default=1) == 1
    return {record.path: record.blob for record in records if record.verdict == INDEXED}


def check(history: History, store, repo: str) -> None:
    """Compare every published commit with git, and look for rows without a record."""
    head = read_head(store)
    timeline = head.defaults[repo]
    assert head.timelines[timeline].lease is None
    assert not head.open
    assert set(head.timelines) == {timeline}
    for record in published_transactions(store, head, timeline):
        snapshot = snapshot_at(head, timeline, record.number)
        expected = history.expected(record.commit)
        assert live_files(store, snapshot) == expected
        rows = 0
        for file in store.files(snapshot):
            chunks = store.chunks(snapshot, file.path, repo)
            assert len(chunks) == file.rows
            rows += file.rows
            if file.path in expected:
                content = history.repository.git("cat-file", "blob", file.blob).decode()
                covered = {line for chunk in chunks for line in range(chunk.start_line, chunk.end_line + 1)}
                assert covered == set(range(1, len(content.splitlines()) + 1))
                assert all(chunk.text == content[chunk.start_char : chunk.end_char] for chunk in chunks)
        assert store.count(snapshot, Filters()) == rows
        summary = read_summary(store, timeline, record.number)
        assert (summary.files, summary.chunks) == (len(expected), rows)
    for number in head.aborted:
        tally = store.tally(timeline, number, [], [])
        assert (tally.rows, tally.files) == (0, 0)
    # An aborted rebuild may leave the note that it would have replaced the default timeline.
    assert {note.key for note in store.list_documents("chore:")} <= {f"chore:purge:{timeline:010d}"}
    assert read_progress(store, repo) is None


@pytest.mark.parametrize("seed", range(12))
def test_live_files_equal_gits_listing_whatever_came_before(make_repository, make_workshop, make_dying_store, seed):
    """At every published commit, whatever history and crashes led to it, the index equals git's listing."""
    chance = random.Random(seed)
    history = History(make_repository(files={"a.py": "alpha = 1\n", "src/c.py": "beta = 2\n"}), chance)
    history.commits.append(history.repository.git("rev-parse", "HEAD").decode().strip())
    workshop = make_workshop()
    request = IndexRequest(history.repository.origin)
    crashes = 0
    for _ in range(STEPS):
        if chance.random() < 0.7:
            dying = make_dying_store(
                workshop.store, chance.randint(1, 16), chance.choice(["before", "within", "after"])
            )
            full = chance.random() < 0.25
            try:
                index_repository(replace(request, full=full), replace(workshop, store=dying))
            except StoreUnavailable:
                crashes += 1
            if chance.random() < 0.4:
                history.step()
        report = index_repository(replace(request, full=chance.random() < 0.1), workshop)
        assert report.commit == history.repository.git("rev-parse", "HEAD").decode().strip()
        check(history, workshop.store, report.repo)
        head = read_head(workshop.store)
        assert live_files(workshop.store, head_snapshot(head)) == history.expected(report.commit)
        history.step()
    assert crashes
