"""What a principal may see of the index and what it may do."""

from dataclasses import replace

import pytest

from codequarry.shared.access.grants import LOST, OWNER, PENDING, Grant, Principal, permitted_catalog, permitted_head
from codequarry.shared.catalog.repositories import Repository
from codequarry.shared.errors import Forbidden
from codequarry.shared.model import PathGlobs
from codequarry.shared.versions.head import Head, Timeline

DOCS = PathGlobs(("docs/",))
TEAM = Principal("team", frozenset({"search"}), (Grant("team-*"), Grant("shared", DOCS, "id-s")))
HEAD = Head(
    counter=9,
    open={8: 3},
    timelines={
        1: Timeline("team-a", 5, repo_id="id-a"),
        2: Timeline("shared", 6, repo_id="id-s"),
        3: Timeline("secret", 7, repo_id="id-x"),
        4: Timeline("team", 4, repo_id="id-t"),
    },
    defaults={"team-a": 1, "shared": 2, "secret": 3, "team": 4},
)


def test_a_grant_names_a_repository_or_a_pattern_of_names():
    assert TEAM.allowed_paths("team-a", "id-a") == ()
    assert TEAM.allowed_paths("shared", "id-s") == (DOCS,)
    assert TEAM.allowed_paths("secret", "id-x") is None
    assert not TEAM.sees("team", "id-t")


def test_the_widest_grant_of_a_repository_applies():
    both = Principal("x", frozenset({"search"}), (Grant("shared", DOCS, "id-s"), Grant("shared", repo_id="id-s")))
    assert both.allowed_paths("shared", "id-s") == ()
    two = Principal("x", frozenset({"search"}), (Grant("shared", DOCS, "id-s"), Grant("sh*", PathGlobs(("src/",)))))
    assert two.allowed_paths("shared", "id-s") == (DOCS, PathGlobs(("src/",)))


def test_the_head_document_is_reduced_to_permitted_timelines():
    seen = permitted_head(HEAD, TEAM)
    assert set(seen.timelines) == {1, 2}
    assert seen.defaults == {"team-a": 1, "shared": 2}
    assert seen.hidden == HEAD.hidden
    assert permitted_head(HEAD, OWNER) is HEAD
    assert permitted_head(HEAD, Principal("new", frozenset({"search"}), ())).timelines == {}


@pytest.mark.parametrize("repo_id", ["", PENDING, LOST, "id-before"])
def test_a_grant_of_a_repository_never_shows_another_with_its_name(repo_id):
    principal = Principal("x", frozenset({"search"}), (Grant("shared", repo_id=repo_id),))
    assert permitted_head(HEAD, principal).timelines == {}
    unmarked = replace(HEAD, timelines={2: Timeline("shared", 6, repo_id=repo_id)}, defaults={"shared": 2})
    assert set(permitted_head(unmarked, principal).defaults) == ({"shared"} if repo_id == "id-before" else set())


def test_a_grant_follows_its_renamed_repository():
    principal = Principal("x", frozenset({"search"}), (Grant("shared", repo_id="id-x"),))
    assert set(permitted_head(HEAD, principal).defaults) == {"secret"}


def test_the_catalog_is_reduced_to_permitted_repositories():
    catalog = {
        name: Repository(name, "", "main", id=HEAD.timelines[key].repo_id) for name, key in HEAD.defaults.items()
    }
    assert set(permitted_catalog(catalog, TEAM)) == {"team-a", "shared"}
    assert permitted_catalog(catalog, OWNER) is catalog


def test_a_missing_scope_is_named_and_admin_has_all_scopes():
    TEAM.require("search")
    with pytest.raises(Forbidden, match="'index'"):
        TEAM.require("index")
    Principal("root", frozenset({"admin"}), ()).require("index")
