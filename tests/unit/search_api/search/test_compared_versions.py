"""Which two versions a comparison means: as named, from their merge base, or of a pull request; on both stores."""

import pytest

from codequarry.search_api.query.diff_request import parse_diff
from codequarry.search_api.query.plan import make_plan
from codequarry.search_api.search.compared_versions import locate_both
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.versions.merge_base import MergeBaseMissing, MergeBaseUnknown
from codequarry.shared.access.grants import Grant, Principal
from codequarry.shared.catalog.merge_bases import MergeBase, save_merge_bases
from codequarry.shared.catalog.pull_requests import PullRequest, change_pull_request
from codequarry.shared.errors import NotIndexed, UsageError
from codequarry.shared.model import PathGlobs
from codequarry.shared.settings.config import SettingsModel

FILES = {"a.py": "def a():\n    return 1"}
BASE, MAIN, DEV, RELEASE, OLDER = ("1" * 40, "2" * 40, "3" * 40, "4" * 40, "5" * 40)
ID = "id of core"


@pytest.fixture(params=["versioned_index", pytest.param("versioned_opensearch_index", marks=pytest.mark.opensearch)])
def index(request):
    """Return an index of `core`: main at BASE and MAIN, dev and pull request 7 at DEV, release, a working tree."""
    index = request.getfixturevalue(request.param)
    main = index.add("core")
    number = index.publish(main, BASE, FILES)
    versions = {
        "refs/heads/dev": DEV,
        "refs/pull/7": DEV,
        "refs/heads/release": RELEASE,
        "workspace//home/me/core": MAIN,
    }
    for key, commit in versions.items():
        index.publish(index.add("core", key), commit, {}, base=(main, number))
    index.publish(main, MAIN, {"later.py": "def later(): ..."})
    index.publish(index.add("site"), "6" * 40, FILES)
    return index


def know(index, *found):
    save_merge_bases(index.store, ID, [MergeBase(*entry) for entry in found])


def pull(index, **fields):
    change_pull_request(index.store, ID, "7", lambda _: PullRequest(ID, "7", **fields))


def located(index, principal=None, **fields):
    """Return the name and commit of both versions of `core`."""
    engine = SearchEngine(index.store, index.embedder, SettingsModel())
    engine = engine.seen_by(principal) if principal else engine
    request = parse_diff({"query": "a", **fields})
    return locate_both(engine, make_plan(request.search), request)


def both(found):
    return [[(view.ref.name, view.commit) for view in side.scope.views["core"]] for side in (found.before, found.after)]


@pytest.mark.parametrize(
    ("before", "after", "commits"),
    [
        ("main", "dev", (MAIN, DEV)),
        ("refs/pull/7", BASE[:9], (DEV, BASE)),
        ("pull/7", "workspace:/home/me/core", (DEV, MAIN)),
        (f"commit/{BASE}", "refs/heads/release", (BASE, RELEASE)),
    ],
)
def test_versions_of_any_kind_are_compared(index, before, after, commits):
    for fields in ({"from": before, "to": after}, {"range": f"{before}..{after}"}):
        assert [views[0][1] for views in both(located(index, **fields))] == list(commits)


def test_a_version_that_is_left_out_of_a_range_is_the_default_branch(index):
    assert both(located(index, range="..dev")) == [[("main", MAIN)], [("dev", DEV)]]
    assert both(located(index, range="dev..")) == [[("dev", DEV)], [("main", MAIN)]]
    assert set(located(index, range="..dev").before.scope.views) == {"core"}


@pytest.mark.parametrize("fields", [{"range": "main...dev"}, {"from": "main", "to": "dev", "merge_base": True}])
def test_three_dots_compare_with_the_merge_base(index, fields):
    know(index, (MAIN, DEV, BASE))
    found = located(index, **fields)
    assert both(found) == [[("main", BASE)], [("dev", DEV)]]
    (base,) = found.merge_bases
    assert (base.repo, base.commit, base.before, base.after) == ("core", BASE, "main", "dev")


def test_a_version_that_is_the_merge_base_itself_is_compared_as_it_is(index):
    know(index, (MAIN, DEV, MAIN), (DEV, RELEASE, RELEASE))
    assert both(located(index, range="main...dev")) == [[("main", MAIN)], [("dev", DEV)]]
    assert both(located(index, range="dev...release")) == [[("release", RELEASE)], [("release", RELEASE)]]


def test_the_changes_of_a_working_tree_include_those_since_its_commit(index):
    know(index, (MAIN, DEV, BASE))
    ours = "workspace:/home/me/core"
    assert both(located(index, range=f"...{ours}")) == [[("main", MAIN)], [(ours, MAIN)]]
    assert both(located(index, range=f"dev...{ours}")) == [[("main", BASE)], [(ours, MAIN)]]


def test_an_unknown_merge_base_is_an_error_that_says_how_to_find_it(index):
    with pytest.raises(MergeBaseUnknown, match=f"codequarry diff-search QUERY {MAIN}...{DEV} --repo core") as error:
        located(index, range="main...dev")
    assert (error.value.fork.repo_id, error.value.fork.commits) == (ID, (MAIN, DEV))


def test_a_merge_base_that_is_not_indexed_is_an_error_that_says_how_to_index_it(index):
    know(index, (MAIN, DEV, OLDER))
    with pytest.raises(MergeBaseMissing, match=f"the merge base of main .* and dev .*--commit {OLDER}") as error:
        located(index, range="main...dev")
    assert [(item.repo, item.asked.text) for item in error.value.missing] == [("core", OLDER)]


def test_unrelated_versions_have_no_merge_base(index):
    know(index, (MAIN, DEV, ""))
    with pytest.raises(UsageError, match="no common history"):
        located(index, range="main...dev")
    assert both(located(index, range="main..dev"))


def test_of_several_merge_bases_the_order_of_the_versions_decides(index):
    know(index, (MAIN, DEV, BASE, False), (DEV, MAIN, RELEASE, False))
    assert both(located(index, range="main...dev"))[0] == [("main", BASE)]
    assert both(located(index, range="dev...main"))[0] == [("release", RELEASE)]


def test_a_pull_request_is_compared_with_its_merge_base_with_the_default_branch(index):
    know(index, (MAIN, DEV, BASE))
    found = located(index, pull=7)
    assert both(found) == [[("main", BASE)], [("pull/7", DEV)]]
    assert [(base.before, base.after) for base in found.merge_bases] == [("main", "pull/7")]


def test_a_pull_request_is_compared_with_its_merge_base_with_its_target(index):
    know(index, (MAIN, DEV, BASE), (RELEASE, DEV, RELEASE))
    pull(index, target="release")
    assert both(located(index, pull=7)) == [[("release", RELEASE)], [("pull/7", DEV)]]


def test_a_merged_pull_request_is_compared_with_where_it_branched_off(index):
    know(index, (MAIN, DEV, DEV))
    with pytest.raises(MergeBaseUnknown, match="--pull 7"):
        located(index, pull=7)
    pull(index, head=DEV, base=BASE)
    assert both(located(index, pull=7)) == [[("main", BASE)], [("pull/7", DEV)]]


def test_a_pull_request_with_another_head_by_now_does_not_use_its_old_base(index):
    pull(index, head=RELEASE, base=BASE)
    with pytest.raises(MergeBaseUnknown):
        located(index, pull=7)


def test_a_target_that_is_not_indexed_is_needed_only_for_an_unknown_base(index):
    pull(index, target="next")
    with pytest.raises(NotIndexed, match="branch 'next' is not indexed"):
        located(index, pull=7)
    pull(index, target="next", head=DEV, base=BASE)
    assert both(located(index, pull=7)) == [[("main", BASE)], [("pull/7", DEV)]]


def test_a_removed_pull_request_is_found_by_its_last_head(index):
    change_pull_request(index.store, ID, "8", lambda _: PullRequest(ID, "8", head=RELEASE, base=BASE))
    assert both(located(index, pull=8, filters={"repo": "core"})) == [[("main", BASE)], [("release", RELEASE)]]
    with pytest.raises(NotIndexed, match="pull request '9' is not indexed"):
        located(index, pull=9, filters={"repo": "core"})


def test_a_number_that_several_repositories_have_needs_the_name_of_one(index):
    index.publish(index.add("site", "refs/pull/7"), "7" * 40, FILES)
    know(index, (MAIN, DEV, BASE))
    with pytest.raises(UsageError, match="core, site"):
        located(index, pull=7)
    assert both(located(index, pull=7, filters={"repo": "core"}))


def test_both_sides_hide_what_the_caller_may_not_see(index):
    know(index, (MAIN, DEV, BASE))
    globs = PathGlobs(include=("a.py",))
    limited = Principal("limited", frozenset({"search"}), (Grant("core", globs, ID),))
    for fields in ({"range": "main...dev"}, {"pull": 7}, {"from": "main", "to": "dev"}):
        found = located(index, limited, **fields)
        for side in (found.before, found.after):
            assert all(layer.allowed == (globs,) for layer in side.scope.snapshot.layers)
    outsider = Principal("outsider", frozenset({"search"}), (Grant("site", PathGlobs(), "id of site"),))
    with pytest.raises(NotIndexed):
        located(index, outsider, range="main...dev")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"range": "main"}, "is not a range"),
        ({"range": "a..b..c"}, "is not a range"),
        ({"range": "a....b"}, "is not a range"),
        ({"range": "..."}, "is not a range"),
        ({"range": "a..b", "from": "a"}, "in one way"),
        ({"range": "a..b", "pull": 7}, "in one way"),
        ({"pull": 7, "to": "a"}, "in one way"),
        ({"pull": 7, "merge_base": True}, "belongs to"),
        ({"range": "a..b", "merge_base": True}, "belongs to"),
        ({"from": "a"}, "'to' is missing"),
        ({}, "'from' is missing"),
        ({"pull": 0}, "'pull' must be"),
    ],
)
def test_versions_named_in_no_or_several_ways_are_refused(fields, says):
    with pytest.raises(UsageError, match=says):
        parse_diff({"query": "x", **fields})
