"""Readers that search while the index changes see each repository at exactly one published commit (rules 10 to 12)."""

import hashlib
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from codequarry.search_api.answers.json import to_json
from codequarry.search_api.search.engine import SearchEngine, parse_request
from codequarry.shared.settings.config import SettingsModel

PATHS = tuple(f"file_{letter}.py" for letter in "abcdefgh")
# Asked repeatedly: the default branch, a branch over it, both at once, and the pages of a search.
QUESTIONS = (
    {"query": "value of the file", "top_k": 50},
    {"query": "value of the file", "top_k": 50, "filters": {"branch": "dev"}},
    {"query": "value of the file", "top_k": 50, "filters": {"branch": ["main", "dev"]}},
    {"query": "value of the file", "top_k": 3},
)


def blob(text):
    return hashlib.sha1(text.encode()).hexdigest()


class World:
    """A repository with a changing default branch and a changing branch over it, and the contents of all commits."""

    def __init__(self, index, seed):
        self.index, self.random = index, random.Random(seed)
        self.main = index.add("core")
        self.dev = index.add("core", "refs/heads/dev")
        self.held = {}
        self._now, self._steps = {}, 0
        self.advance()
        self.branch()

    def advance(self):
        """Change, remove or restore a few files of the default branch."""
        self._steps += 1
        paths = PATHS if not self._now else self.random.sample(PATHS, 3)
        changes = {path: self._text(path) for path in paths}
        if self._now and self.random.random() < 0.5:
            changes[self.random.choice(paths)] = None
        self._now = {path: text for path, text in {**self._now, **changes}.items() if text}
        commit = f"{self._steps:040x}"
        self.held[commit] = {path: blob(text) for path, text in self._now.items()}
        self.number = self.index.publish(self.main, commit, changes)

    def branch(self):
        """Update the branch: an overlay over the newest commit, with files changed and one removed."""
        self._steps += 1
        changed, removed = self.random.sample(PATHS, 3), self.random.choice(PATHS)
        texts = {path: self._text(path) for path in changed if path != removed}
        commit = f"{self._steps:040x}"
        base = {path: held for path, held in self._now.items() if path != removed}
        self.held[commit] = {path: blob(text) for path, text in {**base, **texts}.items()}
        # Paths that an earlier state of the overlay replaced and this state does not come from the base again.
        left = {path: None for path in PATHS if path not in texts}
        mask = (*texts, removed)
        self.index.publish(self.dev, commit, {**left, **texts}, base=(self.main, self.number), mask=mask)

    def _text(self, path):
        return f"def value_of_{path.removesuffix('.py')}():\n    return {self._steps}"


def check(world, answer, cursor_commits=None):
    """Compare an answer with the commits that it names."""
    named = {(entry["ref"]): entry["indexed_commit"] for entry in answer["freshness"]}
    for hit in answer["results"]:
        versions = hit.get("versions") or [{"ref": hit["ref"], "commit": hit["commit"]}]
        for version in versions:
            assert version["commit"] == named[version["ref"]], "an answer has one commit for each version"
            assert world.held[version["commit"]].get(hit["path"]) == hit["blob"]
    if len(named) == 1 and not cursor_commits and len(answer["results"]) > 3:
        (commit,) = named.values()
        assert {hit["path"] for hit in answer["results"]} == set(world.held[commit]), (
            "the answer holds the whole commit"
        )
    return named


def read(world, engine, question, stop):
    """Search until told to stop, and return the number of answers."""
    answers = 0
    while not stop.is_set():
        answer = to_json(engine.search(parse_request(question)))
        named = check(world, answer)
        answers += 1
        if question["top_k"] < len(PATHS):
            seen = {hit["path"]: hit["blob"] for hit in answer["results"]}
            while cursor := answer["next_cursor"]:
                answer = to_json(engine.search(parse_request({**question, "cursor": cursor})))
                assert check(world, answer, named) == named, "later pages see the same versions as the first"
                seen |= {hit["path"]: hit["blob"] for hit in answer["results"]}
            assert seen == world.held[named["main"]]
    return answers


def readers_and_a_writer(index, advances):
    world = World(index, seed=4)
    engine = SearchEngine(index.store, index.embedder, SettingsModel())
    stop = threading.Event()
    with ThreadPoolExecutor(len(QUESTIONS)) as pool:
        readers = [pool.submit(read, world, engine, question, stop) for question in QUESTIONS]
        try:
            for step in range(advances):
                world.advance()
                if step % 3 == 0:
                    world.branch()
        finally:
            stop.set()
        answers = [reader.result() for reader in readers]
    assert all(answers), "every reader got answers meanwhile"
    return world, engine


def test_no_answer_mixes_commits_while_a_timeline_advances_a_hundred_times(versioned_index):
    world, engine = readers_and_a_writer(versioned_index, advances=100)
    for commit in random.Random(1).sample(sorted(world.held), 20):
        answer = to_json(engine.search(parse_request({"query": "value", "top_k": 50, "filters": {"commit": commit}})))
        assert {hit["path"]: hit["blob"] for hit in answer["results"]} == world.held[commit]


@pytest.mark.opensearch
def test_no_answer_mixes_commits_on_opensearch(versioned_opensearch_index):
    readers_and_a_writer(versioned_opensearch_index, advances=10)
