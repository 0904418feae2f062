import pytest

from codequarry.ingest.git import ancestry
from codequarry.ingest.git.ancestry import (
    count_behind,
    differing_paths,
    is_ancestor,
    lost_commits,
    merge_bases,
    merged_as,
    nearest,
    new_commits,
)
from codequarry.shared.errors import GitError
from codequarry.shared.versions.refs import Ref

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


@pytest.fixture
def forked(make_repository):
    """Return a repository whose branch `dev` left `main` after its first commit, and its commits by name."""
    repository = make_repository()
    base = repository.commit("base")
    repository.git("checkout", "--quiet", "-b", "dev")
    dev = repository.commit("dev")
    repository.git("checkout", "--quiet", "main")
    return repository, {"base": base, "dev": dev, "main": repository.commit("main")}


def fetched(fetch, repository):
    """Return a mirror with every branch of a repository."""
    for branch in repository.git("for-each-ref", "--format=%(refname:short)", "refs/heads").decode().split():
        mirror = fetch(repository.origin, Ref("branch", branch)).mirror
    return mirror


def test_the_merge_base_is_where_two_commits_branched_off(forked, fetch):
    repository, commits = forked
    mirror = fetched(fetch, repository)
    assert merge_bases(mirror, commits["main"], commits["dev"]) == (commits["base"],)
    assert merge_bases(mirror, commits["base"], commits["dev"]) == (commits["base"],)
    assert merged_as(mirror, commits["dev"], commits["main"]) is None


def test_of_several_merge_bases_the_first_is_gits(forked, fetch):
    """A criss-cross merge: each branch has merged the other."""
    repository, commits = forked
    repository.git("merge", "--quiet", "--no-ff", commits["dev"])
    repository.git("checkout", "--quiet", "dev")
    repository.git("merge", "--quiet", "--no-ff", commits["main"])
    mirror = fetched(fetch, repository)
    for one, other in (("main", "dev"), ("dev", "main")):
        ends = [repository.git("rev-parse", name).decode().strip() for name in (one, other)]
        found = merge_bases(mirror, *ends)
        assert set(found) == {commits["main"], commits["dev"]}
        assert found[0] == repository.git("merge-base", *ends).decode().strip()


def test_unrelated_commits_have_no_merge_base(forked, fetch):
    repository, commits = forked
    repository.git("checkout", "--quiet", "--orphan", "alone")
    alone = repository.commit("alone")
    mirror = fetched(fetch, repository)
    assert merge_bases(mirror, commits["main"], alone) == ()
    with pytest.raises(GitError):
        merge_bases(mirror, commits["main"], GONE)


@pytest.mark.parametrize("how", ["--no-ff", "--ff"])
def test_a_merged_commit_is_found_on_the_line_of_its_target(forked, fetch, how):
    repository, commits = forked
    if how == "--ff":
        repository.git("reset", "--quiet", "--hard", commits["base"])
    repository.git("merge", "--quiet", how, commits["dev"])
    merge = repository.git("rev-parse", "HEAD").decode().strip()
    later = repository.commit("later")
    mirror = fetched(fetch, repository)
    assert merged_as(mirror, commits["dev"], later) == (merge if how == "--no-ff" else later)
