"""Searches of commits against git's own searches, on random histories with branches, merges and force-pushes."""

import os
import random
import subprocess

import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.search_api.query.request import parse_request
from codequarry.search_api.search.engine import SearchEngine
from codequarry.shared.access.grants import Grant, Principal
from codequarry.shared.catalog.repositories import list_repositories
from codequarry.shared.model import PathGlobs
from codequarry.shared.versions.refs import Ref

WORDS = ("zebra", "yak", "wombat", "vole")
PEOPLE = (("Ada Lovelace", "ada@example.org"), ("Bob O'Brien", "bob@example.net"), ("Zoë Ünal", "zoe@example.org"))
FILES = ("a.py", "src/b.py", "src/deep/c.txt", "secret/d.py")
DAYS = tuple(f"2024-0{month}-{day:02}" for month in range(1, 6) for day in (1, 15, 28))


class Random:
    """A repository with random commits by random people on random days."""

    def __init__(self, repository, seed):
        self.repository, self.chance = repository, random.Random(seed)

    def git(self, *arguments, **variables):
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **variables}
        done = subprocess.run(
            ["git", *arguments], cwd=self.repository.folder, env=environment, check=True, capture_output=True
        )
        return done.stdout.decode()

    def commit(self):
        for path in self.chance.sample(FILES, self.chance.randint(0, 2)):
            file = self.repository.folder / path
            lines = file.read_text().splitlines() if file.exists() else []
            if lines and self.chance.random() < 0.5:
                del lines[self.chance.randrange(len(lines))]
            else:
                lines.insert(
                    self.chance.randint(0, len(lines)), f"{self.chance.choice(WORDS)} = {self.chance.random()}"
                )
            self.repository.write(path, "".join(f"{line}\n" for line in lines))
        if (self.repository.folder / "a.py").exists() and self.chance.random() < 0.2:
            target = self.repository.folder / self.chance.choice(FILES[1:])
            target.parent.mkdir(parents=True, exist_ok=True)
            (self.repository.folder / "a.py").replace(target)
        self.git("add", "--all")
        message = " ".join(self.chance.choices(WORDS, k=2)) + f" {self.chance.randrange(10**6)}"
        self.git("commit", "--quiet", "--allow-empty", "--message", message, **self.who())

    def who(self):
        """Return a random person and a random day in the variables that git reads."""
        name, address = self.chance.choice(PEOPLE)
        facts = {"NAME": name, "EMAIL": address, "DATE": f"{self.chance.choice(DAYS)}T12:00:00Z"}
        return {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in facts.items()}

    def merge(self, name):
        """Merge a branch whose history then belongs to this one, whatever happens to its files."""
        self.git("merge", "--quiet", "--no-edit", "--no-ff", "--strategy=ours", name, **self.who())

    def change(self):
        """Commit a few times, and perhaps merge another line of history or drop the newest commits."""
        for _ in range(self.chance.randint(1, 3)):
            self.commit()
        if self.chance.random() < 0.3 and len(self.commits("HEAD")) > 3:
            self.git("reset", "--quiet", "--hard", f"HEAD~{self.chance.randint(1, 2)}")
            if self.chance.random() < 0.5:
                self.commit()

    def commits(self, *arguments):
        return set(self.git("log", "--format=%H", "--find-renames", *arguments).split())


@pytest.fixture
def searched(make_workshop):
    workshop = make_workshop(history={"commits": 1000, "diffs": 1000})
    engine = SearchEngine(workshop.store, workshop.embedder, workshop.settings)

    def search(query, engine=engine, **filters):
        body = {"query": query, "top_k": 200, "max_per_file": 200, "filters": filters}
        return engine.search(parse_request(body)).results

    search.workshop, search.engine = workshop, engine
    return search


def holding(hits, word):
    """Return the commits of the hits that hold a word, as git's searches decide."""
    return {hit.commit for hit in hits if word in hit.text}


def changing(hits, word):
    return {
        hit.commit for hit in hits if any(word in line for line in hit.text.splitlines() if line.startswith(("+", "-")))
    }


@pytest.mark.parametrize("seed", range(6))
def test_commits_are_found_as_by_git_log(make_repository, searched, seed):
    made = Random(make_repository(files={"a.py": "zebra = 0\n"}), seed)
    index(made, searched, "main")
    made.git("branch", "side")
    for _ in range(3):
        made.git("checkout", "--quiet", "side")
        made.change()
        made.git("checkout", "--quiet", "main")
        made.change()
        if made.chance.random() < 0.4:
            made.merge("side")
        for branch in made.chance.sample(["main", "side"], 2):
            index(made, searched, branch)
        for branch in ("main", "side"):
            for word in WORDS:
                check(made, searched, branch, word)


def index(made, searched, branch):
    ref = None if branch == "main" else Ref("branch", branch)
    index_repository(IndexRequest(made.repository.origin, ref), searched.workshop)


def check(made, searched, branch, word):
    where = {"branch": [branch]}
    assert holding(searched(word, type=["commit"], **where), word) == made.commits(f"--grep={word}", branch)
    root = made.commits("--max-parents=0", branch)
    merges = made.commits("--merges", branch)
    assert changing(searched(word, type=["diff"], **where), word) == made.commits(f"-G{word}", branch) - root - merges
    day = made.chance.choice(DAYS)
    since = made.commits(f"--grep={word}", f"--since-as-filter={day}T00:00:00Z", branch)
    assert holding(searched(word, type=["commit"], since=[day], **where), word) == since
    until = made.commits(f"--grep={word}", f"--until={day}T23:59:59Z", branch)
    assert holding(searched(word, type=["commit"], until=[day], **where), word) == until
    for author in ("ada", "O'BRIEN", "ünal", "a", "bob@example.net"):
        by = made.commits(f"--grep={word}", branch) & made.commits("-i", f"--author={author}", branch)
        names_only = "@" not in author
        if names_only:
            by = {commit for commit in by if author.lower() in made.git("log", "-1", "--format=%an", commit).lower()}
        assert holding(searched(word, type=["commit"], author=[author], **where), word) == by, author


def test_paths_and_grants_limit_changes_and_hide_messages(make_repository, searched):
    made = Random(make_repository(files={"a.py": "zebra = 0\n"}), 1)
    for _ in range(6):
        made.change()
    index_repository(IndexRequest(made.repository.origin), searched.workshop)
    found = searched("zebra yak wombat vole", type=["diff"], path=["src/"])
    assert found
    assert {hit.path for hit in found} == {"src/b.py", "src/deep/c.txt"}
    repository = list_repositories(searched.workshop.store)[0]
    grant = Grant(repository.name, PathGlobs((), ("secret/",)), repo_id=repository.id)
    limited = searched.engine.seen_by(Principal("limited", frozenset({"search"}), (grant,)))
    every = {hit.id: hit for hit in searched("zebra yak wombat vole", type=["diff"])}
    seen = {hit.id: hit for hit in searched("zebra yak wombat vole", limited, type=["commit", "diff"])}
    assert seen.keys() == {key for key, hit in every.items() if not hit.path.startswith("secret/")}
    assert any(hit.path.startswith("secret/") for hit in every.values())
    assert all(hit.commit_message is None and hit.commit_author for hit in seen.values())
    assert all(every[key].commit_message for key in seen)


def test_a_moved_file_shows_nobody_a_hidden_path(make_repository, searched):
    body = "".join(f"kept_{number} = {number}\n" for number in range(20))
    repository = make_repository(files={"secret/d.py": f"def wombat():\n    pass\n\n\n{body}zebra = 'gone'\n"})
    repository.remove("secret/d.py")
    repository.write("src/d.py", f"def wombat():\n    pass\n\n\n{body}yak = 'added'\n")
    repository.commit("moved")
    index_repository(IndexRequest(repository.origin), searched.workshop)
    catalogued = list_repositories(searched.workshop.store)[0]
    grant = Grant(catalogued.name, PathGlobs((), ("secret/",)), repo_id=catalogued.id)
    limited = searched.engine.seen_by(Principal("limited", frozenset({"search"}), (grant,)))
    texts = {hit.path: hit.text for hit in searched("zebra yak gone added", type=["diff"])}
    assert texts.keys() == {"src/d.py", "secret/d.py"}
    assert "-zebra = 'gone'" in texts["secret/d.py"]
    (seen,) = searched("zebra yak gone added", limited, type=["diff"])
    assert (seen.path, seen.text) == ("src/d.py", "@@ -25,0 +25,1 @@\n+yak = 'added'\n")


def test_a_query_without_words_lists_the_newest_commits(make_repository, searched):
    made = Random(make_repository(files={"a.py": "zebra = 0\n"}), 3)
    for _ in range(60):
        made.commit()
    index_repository(IndexRequest(made.repository.origin), searched.workshop)
    listed = [hit.commit_date for hit in searched("type:commit", author=["ada"])]
    by_ada = made.commits("--author=ada@example.org")
    assert listed == sorted(listed, reverse=True)
    assert len(listed) == len(by_ada) > 10
    since = searched("type:commit since:2024-03-01 until:2024-04-20")
    assert {hit.commit for hit in since} == made.commits(
        "--since-as-filter=2024-03-01T00:00:00Z", "--until=2024-04-20T23:59:59Z"
    )
    body = {"query": "type:commit", "top_k": 5}
    first = searched.engine.search(parse_request(body))
    second = searched.engine.search(parse_request({**body, "cursor": first.next_cursor}))
    every = [hit.commit for hit in searched("type:commit")]
    assert [hit.commit for hit in (*first.results, *second.results)] == every[:10]


def test_a_version_far_behind_its_base_has_a_log_of_its_own(make_repository, searched, make_workshop):
    files = {f"kept/{number}.txt": f"{number}\n" for number in range(40)}
    made = Random(make_repository(files={"a.py": "zebra = 0\n", **files}), 4)
    for _ in range(12):
        made.commit()
    made.git("tag", "old", "HEAD~8")
    made.git("tag", "new", "HEAD~2")
    few = make_workshop(history={"commits": 6, "diffs": 2})
    for ref in (None, Ref("tag", "old"), Ref("tag", "new")):
        index_repository(IndexRequest(made.repository.origin, ref), few)
    assert len(searched("type:commit", tag=["old"])) == 5, "all that it has"
    assert len(searched("type:commit", tag=["new"])) == 4, "those of the default branch without the two newest"
