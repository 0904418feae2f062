import pytest

from codequarry.ingest.git import ancestry
from codequarry.ingest.git.ancestry import (
    count_behind,
    differing_paths,
    is_ancestor,
    lost_commits,
    nearest,
    new_commits,
)

GONE = "f" * 40


@pytest.fixture
def history(make_repository, fetch):
    """Return a mirror and its four commits, oldest first; each changes one path."""
    repository = make_repository()
    commits = []
    for number in range(4):
        repository.write(f"f{number}.txt", "x\n")
        commits.append(repository.commit())
    return fetch(repository.origin).mirror, commits


def test_new_commits_are_those_since_the_previous_commit(history):
    mirror, commits = history
    assert new_commits(mirror, commits[3], commits[1]) == ((commits[3], commits[2]), 2)
    assert new_commits(mirror, commits[3], None) == (tuple(reversed(commits)), 4)
    assert new_commits(mirror, commits[3], GONE) == (tuple(reversed(commits)), 4)
    assert new_commits(mirror, commits[1], commits[3]) == ((), 0)
    assert new_commits(mirror, GONE, commits[0]) == ((), 0)


def test_a_long_history_is_counted_but_listed_only_in_part(history, monkeypatch):
    mirror, commits = history
    monkeypatch.setattr(ancestry, "MAX_COMMITS", 2)
    assert new_commits(mirror, commits[3], None) == ((commits[3], commits[2]), 4)


def test_commits_are_lost_unless_the_history_only_grew(history, monkeypatch):
    mirror, commits = history
    assert lost_commits(mirror, commits[3], commits[1]) == lost_commits(mirror, commits[3], "") == ()
    assert lost_commits(mirror, commits[1], commits[3]) == (commits[3], commits[2])
    assert lost_commits(mirror, commits[3], GONE) is None
    assert lost_commits(mirror, GONE, commits[3]) is None
    monkeypatch.setattr(ancestry, "MAX_COMMITS", 1)
    assert lost_commits(mirror, commits[1], commits[3]) is None


def test_count_behind_counts_the_missing_commits(history):
    mirror, commits = history
    assert count_behind(mirror, commits[3], commits[0]) == 3
    assert count_behind(mirror, commits[3], commits[3]) == 0
    assert count_behind(mirror, commits[3], "") is None
    assert count_behind(mirror, commits[3], GONE) is None


def test_nearest_finds_the_closest_published_ancestor(history):
    mirror, commits = history
    assert nearest(mirror, commits[3], {commits[0], commits[2]}) == commits[2]
    assert nearest(mirror, commits[2], {commits[2]}) == commits[2]
    assert nearest(mirror, commits[1], {commits[3], GONE}) is None
    assert nearest(mirror, GONE, {commits[3]}) is None


def test_commits_are_compared_by_paths_and_ancestry(history):
    mirror, commits = history
    assert differing_paths(mirror, commits[0], commits[3]) == 3
    assert differing_paths(mirror, commits[3], commits[3]) == 0
    assert differing_paths(mirror, commits[0], GONE) is None
    assert is_ancestor(mirror, commits[0], commits[3])
    assert not is_ancestor(mirror, commits[3], commits[0])
    assert not is_ancestor(mirror, GONE, commits[0])
