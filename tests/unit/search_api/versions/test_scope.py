from dataclasses import replace

import pytest

from codequarry.search_api.query.selection import Selection
from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.versions.scope import CLAUSES_A_LAYER, MAX_CLAUSES, resolve
from codequarry.search_api.versions.views import AsOf, Point
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.errors import AmbiguousCommit, NotIndexed, UsageError
from codequarry.shared.model import Layer, PathGlobs
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


def test_everything_published_is_seen_as_of_head_in_one_layer():
    found = scope()
    assert found.snapshot.layers == (Layer((1, 2), 12, HIDDEN),)
    assert seen(found) == {"core": [("main", COMMIT_A)], "site": [("dev", COMMIT_B)]}
    assert found.pending == ("later", "new")


def test_repositories_chosen_and_excluded():
    assert set(scope(repos=("site",)).views) == {"site"}
    assert set(scope(excluded_repos=("site",)).views) == {"core"}


def test_an_unknown_repository_is_refused_with_what_there_is():
    for wanted in ({"repos": ("nope",)}, {"excluded_repos": ("nope",)}):
        with pytest.raises(NotIndexed, match=r"'nope'.*core"):
            scope(**wanted)


@pytest.mark.parametrize("name", ["dev", "refs/heads/dev"])
def test_a_branch_may_be_the_default_one_here_and_an_overlay_there(name):
    found = scope(name)
    assert seen(found) == {"core": [("dev", DEV)], "site": [("dev", COMMIT_B)]}
    over, base = found.snapshot.layers
    assert over == Layer((2, 6), 12, HIDDEN)
    assert base == Layer((1,), 2, HIDDEN, frozenset({"changed.py"}))


def test_a_full_timeline_needs_no_layer_of_its_own():
    head = Head(counter=12, timelines={1: HEAD.timelines[1], 7: HEAD.timelines[7]}, defaults={"core": 1})
    assert scope("v1", repos=("core",), head=head).snapshot.layers == (Layer((7,), 12, frozenset()),)


def test_several_versions_of_one_repository_are_seen_side_by_side():
    found = scope("main", "dev", repos=("core",), kind="branch")
    assert seen(found) == {"core": [("main", COMMIT_A), ("dev", DEV)]}
    assert found.snapshot.layers[0] == Layer((1, 6), 12, HIDDEN)


def test_a_branch_filter_means_no_tag():
    with pytest.raises(NotIndexed):
        scope("v1", kind="branch")


def test_a_working_tree_can_be_asked_for():
    assert seen(scope("workspace:/home/me/core")) == {"core": [("workspace:/home/me/core", COMMIT_A)]}


@pytest.mark.parametrize("folder", ["/home/me/core/", "/home/me/core/src/deep", "/home/me/core/src/../docs"])
def test_a_working_tree_answers_to_every_folder_in_it(folder):
    assert seen(scope(f"workspace:{folder}")) == {"core": [("workspace:/home/me/core", COMMIT_A)]}


@pytest.mark.parametrize("text", ["workspace:/home/me", "workspace:/home/me/core2", "workspace/home/me/core/src"])
def test_a_folder_beside_or_above_a_working_tree_is_not_in_it(text):
    with pytest.raises(NotIndexed):
        scope(text)


def test_a_key_of_a_working_tree_means_this_very_folder():
    with pytest.raises(NotIndexed):
        scope("workspace//home/me/core/sub")


def test_of_working_trees_inside_one_another_the_inner_one_is_meant():
    inner = Timeline("site", 12, COMMIT_B, ref="workspace//home/me/core/sub")
    head = Head(counter=12, timelines={**HEAD.timelines, 31: inner}, defaults=HEAD.defaults)
    assert seen(scope("workspace:/home/me/core/sub/x", head=head)) == {
        "site": [("workspace:/home/me/core/sub", COMMIT_B)]
    }
    assert set(seen(scope("workspace:/home/me/core/sub/x", head=head, repos=("core",)))) == {"core"}


def test_a_working_tree_that_is_not_there_is_refused_with_how_to_index_it():
    """The command needs no origin, so that it is said for several repositories too; over HTTP there is no way."""
    with pytest.raises(NotIndexed) as caught:
        scope("workspace:/home/me/my tree")
    said = str(caught.value)
    assert "codequarry index --workspace '/home/me/my tree'" in said
    assert "index=true" not in said


def test_a_name_of_two_versions_is_refused_with_their_full_names():
    timelines = {**HEAD.timelines, 8: Timeline("core", 12, TAG, ref="refs/heads/v1")}
    head = Head(counter=12, timelines=timelines, defaults=HEAD.defaults)
    with pytest.raises(UsageError, match="refs/heads/v1 or refs/tags/v1"):
        scope("v1", head=head)
    assert seen(scope("refs/tags/v1", head=head)) == {"core": [("v1", TAG)]}


def test_an_unknown_version_is_refused_with_what_there_is_and_how_to_index_it():
    with pytest.raises(NotIndexed) as caught:
        scope("feature", repos=("core",))
    said = str(caught.value)
    assert "branches main, dev" in said and "tags v1" in said and COMMIT_A[:12] in said
    assert "codequarry index https://example.org/core --branch feature or --tag feature" in said
    assert [(one.repo, one.asked.text) for one in caught.value.missing] == [("core", "feature")]


def test_in_an_empty_index_a_version_is_refused_with_how_to_begin():
    with pytest.raises(NotIndexed, match=r"'dev' is not indexed.*codequarry index PATH_OR_URL"):
        resolve(Head(), {}, Selection(version=VersionQuery((VersionSpecifier("ref", "dev"),))), History())


def test_every_version_of_a_list_must_be_somewhere():
    with pytest.raises(NotIndexed, match="'nope'"):
        scope("dev", "nope", kind="branch")


def test_a_commit_may_be_short():
    found = scope(commits=("a1b2c3d4e5",))
    assert found.snapshot.layers == (Layer((1,), 4, HIDDEN),)
    assert seen(found) == {"core": [("main", COMMIT_A)]}


@pytest.mark.parametrize(
    ("commit", "layer"), [("C0FFEE1111", Layer((1,), 2, HIDDEN)), (GONE[:8], Layer((20,), 3, HIDDEN))]
)
def test_an_older_commit_can_be_asked_for_also_of_a_former_default_timeline(commit, layer):
    assert scope(commits=(commit,), repos=("core",)).snapshot.layers == (layer,)


def test_a_commit_of_an_overlay_has_its_base_below_it():
    for found in (scope(commits=(DEV[:9],)), scope(DEV[:9]), scope(f"commit/{DEV}")):
        assert found.snapshot.layers == (
            Layer((6,), 10, HIDDEN),
            Layer((1,), 2, HIDDEN, frozenset({"changed.py"})),
        )


def test_a_commit_may_be_asked_for_on_a_branch():
    assert seen(scope("main", commits=(OLD,))) == {"core": [("main", OLD)]}
    with pytest.raises(NotIndexed):
        scope("dev", commits=(OLD,), repos=("core",))


def test_a_short_commit_that_fits_two_is_ambiguous():
    with pytest.raises(AmbiguousCommit) as caught:
        scope(commits=("a1b2c3d4",))
    assert caught.value.candidates == (COMMIT_A, COMMIT_B)


@pytest.mark.parametrize("commit", ["a1b2c3", "main~1", "", "xyzxyzx"])
def test_what_is_no_commit_is_refused(commit):
    with pytest.raises(UsageError, match="hexadecimal"):
        scope(commits=(commit,))


def test_repositories_may_each_be_at_a_version_of_their_own():
    versions = (
        ("site", VersionQuery()),
        ("core", VersionQuery((VersionSpecifier("ref", "v1"),))),
        ("core", VersionQuery((VersionSpecifier("ref", OLD),))),
    )
    found = scope(versions=versions)
    assert seen(found) == {"site": [("dev", COMMIT_B)], "core": [("v1", TAG), ("main", OLD)]}
    with pytest.raises(NotIndexed, match="'v1' is not indexed"):
        scope(versions=(*versions, ("site", VersionQuery((VersionSpecifier("ref", "v1"),)))))


def test_too_many_layers_are_refused():
    timelines = {
        number: Timeline(f"r{number}", number, COMMIT_A, ref="refs/heads/x", pins=frozenset({(1, number)}))
        for number in range(10, 11 + MAX_CLAUSES // CLAUSES_A_LAYER)
    }
    records = {number: ("path.py", str(number)) for number in timelines}

    class ManyPasts(History):
        def record(self, timeline, number):
            return TransactionRecord(timeline, number, "", "", "", "", 0, "", 1, 4, records[timeline])

    head = Head(
        counter=500,
        timelines={1: HEAD.timelines[1], **timelines},
        defaults={f"r{number}": 1 for number in timelines},
    )
    with pytest.raises(UsageError, match="name fewer repositories"):
        resolve(head, {}, Selection(version=VersionQuery((VersionSpecifier("ref", "x"),))), ManyPasts())


def test_paths_count_as_layers_do():
    """Each glob is a clause in each layer, of which an engine takes about a thousand."""
    many = tuple(PathGlobs((f"folder-{number}/",)) for number in range(MAX_CLAUSES // 2))
    with pytest.raises(UsageError, match=f"{MAX_CLAUSES // 2} path globs; name fewer repositories"):
        resolve(replace(HEAD, allowed={"core": many}), CATALOG, Selection(), History())
    assert resolve(replace(HEAD, allowed={"core": many[:200]}), CATALOG, Selection(), History())


def test_a_cursor_sees_what_its_first_page_saw():
    found = scope(as_of=AsOf(9, (8, 9)))
    assert found.snapshot.layers[0].at == 9
    assert found.hidden == frozenset({5, 8, 9})
    assert (found.at, found.open) == (9, (8, 9))


def test_a_cursor_names_the_commit_that_its_first_page_saw():
    found = scope(repos=("core",), as_of=AsOf(3))
    assert seen(found) == {"core": [("main", OLD)]}
    assert found.snapshot.layers == (Layer((1,), 3, frozenset({5})),)


def test_a_cursor_keeps_the_version_of_an_overlay():
    before = scope("dev", repos=("core",))
    after = scope("dev", repos=("core",), as_of=AsOf(before.at, before.open))
    assert after.timelines == before.timelines
    assert after.snapshot == before.snapshot


@pytest.mark.parametrize("floor", [4, 9])
def test_a_cursor_over_what_retention_gave_up_is_refused(floor):
    timelines = {1: Timeline("core", 10, COMMIT_A, floor=floor)}
    head = Head(counter=12, timelines=timelines, defaults={"core": 1})
    with pytest.raises(UsageError, match=r"core is no longer kept \(retention\)"):
        scope(repos=("core",), head=head, as_of=AsOf(3 if floor == 4 else 9, (9,)))


def test_the_head_document_names_a_default_branch_before_the_catalog_does():
    head = replace(HEAD, timelines={**HEAD.timelines, 1: Timeline("core", 4, COMMIT_A, branch="trunk")})
    assert seen(scope(repos=("core",), head=head)) == {"core": [("trunk", COMMIT_A)]}
    assert seen(scope("trunk", repos=("core",), head=head)) == {"core": [("trunk", COMMIT_A)]}
    with pytest.raises(NotIndexed):
        scope("main", repos=("core",), head=head)


def test_a_timeline_that_lost_its_version_is_nobodys_former_default():
    head = replace(HEAD, timelines={**HEAD.timelines, 20: Timeline("core", 3, GONE, gone=True)})
    assert scope(commits=(GONE,), repos=("core",)).views
    with pytest.raises(NotIndexed):
        scope(commits=(GONE,), repos=("core",), head=head)
