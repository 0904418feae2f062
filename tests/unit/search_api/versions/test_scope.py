from dataclasses import replace

import pytest

from codequarry.search_api.query.selection import Selection
from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.versions.missing_version import VersionMissing
from codequarry.search_api.versions.scope import MAX_GLOBS, resolve
from codequarry.search_api.versions.views import AsOf, Point
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.errors import AmbiguousCommit, NotIndexed, UsageError
from codequarry.shared.model import Layer, LayerState, PathGlobs, Snapshot
from codequarry.shared.versions.head import Head, Timeline
from codequarry.shared.versions.transactions import TransactionRecord

COMMIT_A, COMMIT_B = "a1b2c3d4e5" + "0" * 30, "a1b2c3d4ff" + "0" * 30
OLD, DEV, TAG = "c0ffee" + "1" * 34, "dead" + "2" * 36, "7a9" + "3" * 37
GONE = "9" * 40
HEAD = Head(
    counter=12,
    open={9: 1},
    aborted=frozenset({5}),
    timelines={
        1: Timeline("core", 4, COMMIT_A),
        2: Timeline("site", 8, COMMIT_B),
        3: Timeline("new", 0),
        6: Timeline("core", 10, DEV, ref="refs/heads/dev", pins=frozenset({(1, 2)})),
        7: Timeline("core", 11, TAG, ref="refs/tags/v1"),
        20: Timeline("core", 3, GONE),
        30: Timeline("core", 12, COMMIT_A, ref="workspace//home/me/core"),
    },
    defaults={"core": 1, "site": 2, "new": 3},
)
HIDDEN = frozenset({5, 9})
CATALOG = {
    "core": Repository("core", "https://example.org/core", "main"),
    "site": Repository("site", "", "dev"),
    "new": Repository("new", "", "main"),
    "later": Repository("later", "", "main"),
}


class History:
    """The transactions of `HEAD`'s timelines; timeline 1 also stood at OLD."""

    def points(self, timeline):
        state = HEAD.timelines[timeline]
        older = [Point(2, OLD)] if timeline == 1 else []
        return [*older, Point(state.published, state.commit)]

    def record(self, timeline, number):
        base = (1, 2) if timeline in (6, 30) else (None, None)
        return TransactionRecord(timeline, number, "core", "", "", "", 0, "", *base, ("changed.py",))


def scope(*names, commits=(), as_of=None, head=HEAD, kind="ref", **fields):
    query = VersionQuery(
        tuple(VersionSpecifier(kind, name) for name in names),
        tuple(VersionSpecifier("commit", commit) for commit in commits),
    )
    return resolve(head, CATALOG, Selection(version=query, **fields), History(), as_of)


def seen(found):
    return {name: [(view.ref.name, view.commit) for view in views] for name, views in found.views.items()}


def test_all_default_branches_are_seen_in_one_layer():
    found = scope()
    assert found.snapshot.layers == (Layer((1, 2), 12, HIDDEN),)
    assert seen(found) == {"core": [("main", COMMIT_A)], "site": [("dev", COMMIT_B)]}
    assert found.pending == ("later", "new")


def test_repositories_can_be_chosen_and_excluded():
    assert set(scope(repos=("site",)).views) == {"site"}
    assert set(scope(excluded_repos=("site",)).views) == {"core"}


def test_an_unknown_repository_is_refused_with_the_known_ones():
    for wanted in ({"repos": ("nope",)}, {"excluded_repos": ("nope",)}):
        with pytest.raises(NotIndexed, match=r"'nope'.*core"):
            scope(**wanted)


@pytest.mark.parametrize("name", ["dev", "refs/heads/dev"])
def test_a_branch_can_be_a_default_branch_and_an_overlay_elsewhere(name):
    found = scope(name)
    assert seen(found) == {"core": [("dev", DEV)], "site": [("dev", COMMIT_B)]}
    over, base = found.snapshot.layers
    assert over == Layer((2, 6), 12, HIDDEN)
    assert base == Layer((1,), 2, HIDDEN, frozenset({"changed.py"}))


def test_a_timeline_without_a_base_is_a_single_layer():
    head = Head(counter=12, timelines={1: HEAD.timelines[1], 7: HEAD.timelines[7]}, defaults={"core": 1})
    assert scope("v1", repos=("core",), head=head).snapshot.layers == (Layer((7,), 12, frozenset()),)


def test_several_versions_of_one_repository_are_seen_side_by_side():
    found = scope("main", "dev", repos=("core",), kind="branch")
    assert seen(found) == {"core": [("main", COMMIT_A), ("dev", DEV)]}
    base = Layer((1,), 4, HIDDEN, others=(LayerState(2, frozenset({"changed.py"})),))
    assert found.snapshot == Snapshot((Layer((6,), 12, HIDDEN), base), siblings=((1, 6),))


def test_a_branch_filter_does_not_match_a_tag():
    with pytest.raises(NotIndexed):
        scope("v1", kind="branch")


def test_a_working_tree_is_a_version():
    assert seen(scope("workspace:/home/me/core")) == {"core": [("workspace:/home/me/core", COMMIT_A)]}


@pytest.mark.parametrize("folder", ["/home/me/core/", "/home/me/core/src/deep", "/home/me/core/src/../docs"])
def test_a_folder_in_a_working_tree_means_the_working_tree(folder):
    assert seen(scope(f"workspace:{folder}")) == {"core": [("workspace:/home/me/core", COMMIT_A)]}


@pytest.mark.parametrize("text", ["workspace:/home/me", "workspace:/home/me/core2", "workspace/home/me/core/src"])
def test_a_folder_beside_or_above_a_working_tree_is_unknown(text):
    with pytest.raises(NotIndexed):
        scope(text)


def test_a_key_of_a_working_tree_means_exactly_that_folder():
    with pytest.raises(NotIndexed):
        scope("workspace//home/me/core/sub")


def test_the_innermost_of_nested_working_trees_is_meant():
    inner = Timeline("site", 12, COMMIT_B, ref="workspace//home/me/core/sub")
    head = Head(counter=12, timelines={**HEAD.timelines, 31: inner}, defaults=HEAD.defaults)
    assert seen(scope("workspace:/home/me/core/sub/x", head=head)) == {
        "site": [("workspace:/home/me/core/sub", COMMIT_B)]
    }
    assert set(seen(scope("workspace:/home/me/core/sub/x", head=head, repos=("core",)))) == {"core"}


def test_an_unknown_working_tree_is_refused_with_the_command_to_index_it():
    """The command needs no origin, so it fits several repositories too; HTTP cannot index a working tree."""
    with pytest.raises(NotIndexed) as caught:
        scope("workspace:/home/me/my tree")
    message = str(caught.value)
    assert "codequarry index --workspace '/home/me/my tree'" in message
    assert "index=true" not in message


def test_an_ambiguous_name_is_refused_with_the_full_names():
    timelines = {**HEAD.timelines, 8: Timeline("core", 12, TAG, ref="refs/heads/v1")}
    head = Head(counter=12, timelines=timelines, defaults=HEAD.defaults)
    with pytest.raises(UsageError, match="refs/heads/v1 or refs/tags/v1"):
        scope("v1", head=head)
    assert seen(scope("refs/tags/v1", head=head)) == {"core": [("v1", TAG)]}


def test_an_unknown_version_is_refused_with_known_versions_and_a_command():
    with pytest.raises(NotIndexed) as caught:
        scope("feature", repos=("core",))
    message = str(caught.value)
    assert "branches main, dev" in message and "tags v1" in message and COMMIT_A[:12] in message
    assert "codequarry index https://example.org/core --branch feature or --tag feature" in message
    assert [(version.repo, version.asked.text) for version in caught.value.missing] == [("core", "feature")]


def test_in_an_empty_index_a_version_is_refused_with_the_first_command():
    with pytest.raises(NotIndexed, match=r"'dev' is not indexed.*codequarry index PATH_OR_URL"):
        resolve(Head(), {}, Selection(version=VersionQuery((VersionSpecifier("ref", "dev"),))), History())


def test_every_version_of_a_list_must_exist_in_a_repository():
    with pytest.raises(NotIndexed, match="'nope'"):
        scope("dev", "nope", kind="branch")


def test_a_commit_may_be_abbreviated():
    found = scope(commits=("a1b2c3d4e5",))
    assert found.snapshot.layers == (Layer((1,), 4, HIDDEN),)
    assert seen(found) == {"core": [("main", COMMIT_A)]}


@pytest.mark.parametrize(
    ("commit", "layer"), [("C0FFEE1111", Layer((1,), 2, HIDDEN)), (GONE[:8], Layer((20,), 3, HIDDEN))]
)
def test_older_commits_are_found_even_on_a_former_default_timeline(commit, layer):
    assert scope(commits=(commit,), repos=("core",)).snapshot.layers == (layer,)


def test_a_commit_of_an_overlay_has_its_base_below_it():
    for found in (scope(commits=(DEV[:9],)), scope(DEV[:9]), scope(f"commit/{DEV}")):
        assert found.snapshot.layers == (
            Layer((6,), 10, HIDDEN),
            Layer((1,), 2, HIDDEN, frozenset({"changed.py"})),
        )


def test_a_commit_can_be_required_on_a_branch():
    assert seen(scope("main", commits=(OLD,))) == {"core": [("main", OLD)]}
    with pytest.raises(NotIndexed):
        scope("dev", commits=(OLD,), repos=("core",))


def test_an_abbreviation_of_two_commits_is_ambiguous():
    with pytest.raises(AmbiguousCommit) as caught:
        scope(commits=("a1b2c3d4",))
    assert caught.value.candidates == (COMMIT_A, COMMIT_B)


@pytest.mark.parametrize("commit", ["a1b2c3", "main~1", "", "xyzxyzx"])
def test_text_that_is_not_a_commit_is_refused(commit):
    with pytest.raises(UsageError, match="hexadecimal"):
        scope(commits=(commit,))


def test_each_repository_can_have_its_own_version():
    versions = (
        ("site", VersionQuery()),
        ("core", VersionQuery((VersionSpecifier("ref", "v1"),))),
        ("core", VersionQuery((VersionSpecifier("ref", OLD),))),
    )
    found = scope(versions=versions)
    assert seen(found) == {"site": [("dev", COMMIT_B)], "core": [("v1", TAG), ("main", OLD)]}
    with pytest.raises(NotIndexed, match="'v1' is not indexed"):
        scope(versions=(*versions, ("site", VersionQuery((VersionSpecifier("ref", "v1"),)))))


BRANCHES = 300
BASES = 100


@pytest.fixture
def many():
    """Return a head document with hundreds of overlays on a hundred states of one timeline, and their history."""
    numbers = range(1000, 1000 + BRANCHES)
    timelines = {
        number: Timeline(
            "core", number, f"{number:040x}", ref=f"refs/heads/x{number}", pins=frozenset({(1, number % BASES)})
        )
        for number in numbers
    }

    class ManyPasts(History):
        def record(self, timeline, number):
            return TransactionRecord(
                timeline, number, "", "", "", "", 0, "", 1, number % BASES, ("all.py", str(number))
            )

    head = Head(counter=5000, timelines={1: Timeline("core", 4000, COMMIT_A), **timelines}, defaults={"core": 1})
    return head, ManyPasts()


def test_hundreds_of_overlays_on_one_timeline_take_two_layers(many):
    head, past = many
    found = resolve(head, CATALOG, Selection(version=VersionQuery((VersionSpecifier("branch", "*"),))), past)
    assert len(found.views["core"]) == BRANCHES + 1
    overlays, base = found.snapshot.layers
    assert overlays == Layer(tuple(range(1000, 1000 + BRANCHES)), 5000)
    assert [state.at for state in base.states] == [*range(BASES), 4000]
    assert base.states[-1].mask == frozenset(), "the default branch itself shows every path"
    assert {state.mask for state in base.states[:-1]} == {frozenset({"all.py"})}, "three overlays share each state"
    assert found.snapshot.siblings == ((1, *range(1000, 1000 + BRANCHES)),)


def test_without_the_default_branch_its_timeline_shows_only_the_bases(many):
    head, past = many
    found = resolve(head, CATALOG, Selection(version=VersionQuery((VersionSpecifier("ref", "x*"),))), past)
    assert [state.at for state in found.snapshot.layers[1].states] == [*range(BASES)]


def test_more_path_globs_than_a_query_can_have_are_refused():
    """Each glob takes two clauses, and an engine accepts about a thousand."""
    globs = tuple(PathGlobs((f"folder-{number}/",)) for number in range(MAX_GLOBS + 1))
    with pytest.raises(UsageError, match=rf"{MAX_GLOBS + 1} path globs.*fewer globs"):
        resolve(replace(HEAD, allowed={"core": globs}), CATALOG, Selection(), History())
    assert resolve(replace(HEAD, allowed={"core": globs[:-1], "site": globs[1:]}), CATALOG, Selection(), History())


@pytest.mark.parametrize(
    ("kind", "pattern", "expected"),
    [
        ("ref", "*", ["main", "dev", "v1"]),
        ("ref", "d*", ["dev"]),
        ("ref", "refs/heads/*", ["main", "dev"]),
        ("ref", "refs/tags/*", ["v1"]),
        ("ref", "[dv]*", ["dev", "v1"]),
        ("ref", "workspace:*", ["workspace:/home/me/core"]),
        ("branch", "*", ["main", "dev"]),
        ("branch", "refs/heads/d*", ["dev"]),
        ("tag", "v?", ["v1"]),
        ("tag", "v1", ["v1"]),
    ],
)
def test_a_pattern_names_every_version_that_it_matches(kind, pattern, expected):
    found = scope(pattern, repos=("core",), kind=kind)
    assert [name for name, _ in seen(found)["core"]] == expected


def test_a_pattern_and_a_name_of_the_same_version_name_it_once():
    assert [name for name, _ in seen(scope("dev", "*", "main", repos=("core",)))["core"]] == ["dev", "main", "v1"]


@pytest.mark.parametrize(("kind", "pattern"), [("ref", "release/*"), ("branch", "v*"), ("tag", "dev*")])
def test_a_pattern_that_matches_nothing_is_refused_with_what_there_is(kind, pattern):
    with pytest.raises(NotIndexed, match=r"indexed: core with branches main, dev, working trees .*, tags v1") as caught:
        scope(pattern, repos=("core",), kind=kind)
    assert f"matches '{pattern}'" in str(caught.value)
    assert not isinstance(caught.value, VersionMissing), "there is nothing that could be indexed"


def test_a_repository_without_a_match_is_left_out_if_another_has_one():
    assert seen(scope("v*")) == {"core": [("v1", TAG)]}


def test_a_pattern_that_matches_the_branch_of_a_pending_repository_finds_it_pending():
    assert scope("ma*").pending == ("later", "new")


def test_a_cursor_sees_the_state_of_its_first_page():
    found = scope(as_of=AsOf(9, (8, 9)))
    assert found.snapshot.layers[0].at == 9
    assert found.hidden == frozenset({5, 8, 9})
    assert (found.at, found.open) == (9, (8, 9))


def test_a_cursor_names_the_commit_of_its_first_page():
    found = scope(repos=("core",), as_of=AsOf(3))
    assert seen(found) == {"core": [("main", OLD)]}
    assert found.snapshot.layers == (Layer((1,), 3, frozenset({5})),)


def test_a_cursor_keeps_the_version_of_an_overlay():
    before = scope("dev", repos=("core",))
    after = scope("dev", repos=("core",), as_of=AsOf(before.at, before.open))
    assert after.timelines == before.timelines
    assert after.snapshot == before.snapshot


@pytest.mark.parametrize("floor", [4, 9])
def test_a_cursor_to_a_state_that_retention_dropped_is_refused(floor):
    timelines = {1: Timeline("core", 10, COMMIT_A, floor=floor)}
    head = Head(counter=12, timelines=timelines, defaults={"core": 1})
    with pytest.raises(UsageError, match=r"core is no longer kept \(retention\)"):
        scope(repos=("core",), head=head, as_of=AsOf(3 if floor == 4 else 9, (9,)))


def test_the_default_branch_of_the_head_document_overrides_the_catalog():
    head = replace(HEAD, timelines={**HEAD.timelines, 1: Timeline("core", 4, COMMIT_A, branch="trunk")})
    assert seen(scope(repos=("core",), head=head)) == {"core": [("trunk", COMMIT_A)]}
    assert seen(scope("trunk", repos=("core",), head=head)) == {"core": [("trunk", COMMIT_A)]}
    with pytest.raises(NotIndexed):
        scope("main", repos=("core",), head=head)


def test_a_gone_timeline_is_not_a_former_default():
    head = replace(HEAD, timelines={**HEAD.timelines, 20: Timeline("core", 3, GONE, gone=True)})
    assert scope(commits=(GONE,), repos=("core",)).views
    with pytest.raises(NotIndexed):
        scope(commits=(GONE,), repos=("core",), head=head)
