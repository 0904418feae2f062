import pytest

from codequarry.search_api.cursor import Cursor
from codequarry.search_api.scope import resolve
from codequarry.search_api.selection import Selection
from codequarry.shared.errors import AmbiguousCommit, NotIndexed, UsageError
from codequarry.shared.head import Head, Timeline
from codequarry.shared.model import Layer
from codequarry.shared.repositories import Repository
from codequarry.shared.transactions import TransactionRecord

COMMIT_A, COMMIT_B = "a1b2c3d4e5" + "0" * 30, "a1b2c3d4ff" + "0" * 30
HEAD = Head(
    counter=9,
    open={9: 1},
    aborted=frozenset({5}),
    timelines={1: Timeline("core", 4, COMMIT_A), 2: Timeline("site", 8, COMMIT_B), 3: Timeline("new", 0)},
    defaults={"core": 1, "site": 2, "new": 3},
)
CATALOG = {
    "core": Repository("core", "", "main"),
    "site": Repository("site", "", "dev"),
    "new": Repository("new", "", "main"),
    "later": Repository("later", "", "main"),
}


def history(timeline):
    state = HEAD.timelines[timeline]
    records = [(state.published, state.commit), (2, "c0ffee" + "1" * 34)]
    return [TransactionRecord(timeline, number, state.repo, "main", commit, "", 0, "") for number, commit in records]


def scope(**wanted):
    return resolve(HEAD, CATALOG, Selection(**wanted), history)


def test_everything_published_is_seen_as_of_head():
    seen = scope()
    assert seen.snapshot.layers == (Layer((1, 2), 9, frozenset({5, 9})),)
    assert {name: view.commit for name, view in seen.views.items()} == {"core": COMMIT_A, "site": COMMIT_B}
    assert seen.pending == ("later", "new")


def test_repositories_chosen_and_excluded():
    assert set(scope(repos=("site",)).views) == {"site"}
    assert set(scope(excluded_repos=("site",)).views) == {"core"}


def test_an_unknown_repository_is_refused_with_what_there_is():
    for wanted in ({"repos": ("nope",)}, {"excluded_repos": ("nope",)}):
        with pytest.raises(NotIndexed, match=r"'nope'.*core"):
            scope(**wanted)


def test_a_branch_narrows_to_the_repositories_that_stand_on_it():
    assert set(scope(branches=("dev",)).views) == {"site"}


def test_an_unknown_branch_is_refused_with_what_there_is():
    with pytest.raises(NotIndexed, match=r"branch feature.*core at main"):
        scope(branches=("feature",))


def test_a_commit_may_be_short():
    seen = scope(commits=("a1b2c3d4e5",))
    assert seen.snapshot.layers == (Layer((1,), 4, frozenset({5, 9})),)
    assert seen.views["core"].commit == COMMIT_A


def test_an_older_published_commit_can_be_asked_for():
    seen = scope(commits=("C0FFEE1111",), repos=("core",))
    assert seen.snapshot.layers == (Layer((1,), 2, frozenset({5, 9})),)


def test_a_short_commit_that_fits_two_is_ambiguous():
    with pytest.raises(AmbiguousCommit) as caught:
        scope(commits=("a1b2c3d4",))
    assert caught.value.candidates == (COMMIT_A, COMMIT_B)


def test_an_unknown_commit_is_refused_with_what_there_is():
    with pytest.raises(NotIndexed, match="core at a1b2c3d4e500"):
        scope(commits=("deadbeef",), repos=("core",))


@pytest.mark.parametrize("commit", ["a1b2c3", "main~1", "", "xyzxyzx"])
def test_what_is_no_commit_is_refused(commit):
    with pytest.raises(UsageError, match="hexadecimal"):
        scope(commits=(commit,))


def test_a_cursor_sees_what_its_first_page_saw():
    seen = resolve(HEAD, CATALOG, Selection(), history, Cursor(1, 7, (6, 7), "", ""))
    assert seen.snapshot.layers == (Layer((1, 2), 7, frozenset({5, 6, 7})),)
    assert (seen.at, seen.open) == (7, (6, 7))
