"""What somebody may see of the index, and what they may do."""

import pytest

from codequarry.shared.access.grants import OWNER, Grant, Principal, permitted_catalog, permitted_head
from codequarry.shared.errors import Forbidden
from codequarry.shared.model import PathGlobs
from codequarry.shared.repositories.catalog import Repository
from codequarry.shared.versions.head import Head, Timeline

DOCS = PathGlobs(("docs/",))
TEAM = Principal("team", frozenset({"search"}), (Grant("team-*"), Grant("shared", DOCS)))
HEAD = Head(
    counter=9,
    open={8: 3},
    timelines={1: Timeline("team-a", 5), 2: Timeline("shared", 6), 3: Timeline("secret", 7), 4: Timeline("team", 4)},
    defaults={"team-a": 1, "shared": 2, "secret": 3, "team": 4},
)


def test_a_grant_names_a_repository_or_a_pattern_of_names():
    assert TEAM.allowed_paths("team-a") == ()
    assert TEAM.allowed_paths("shared") == (DOCS,)
    assert TEAM.allowed_paths("secret") is None
    assert not TEAM.sees("team")


def test_the_widest_grant_of_a_repository_counts():
    both = Principal("x", frozenset({"search"}), (Grant("shared", DOCS), Grant("shared")))
    assert both.allowed_paths("shared") == ()
    two = Principal("x", frozenset({"search"}), (Grant("shared", DOCS), Grant("sh*", PathGlobs(("src/",)))))
    assert two.allowed_paths("shared") == (DOCS, PathGlobs(("src/",)))


def test_the_head_document_has_only_what_may_be_seen():
    seen = permitted_head(HEAD, TEAM)
    assert set(seen.timelines) == {1, 2}
    assert seen.defaults == {"team-a": 1, "shared": 2}
    assert seen.hidden == HEAD.hidden
    assert permitted_head(HEAD, OWNER) is HEAD
    assert permitted_head(HEAD, Principal("new", frozenset({"search"}), ())).timelines == {}


def test_so_has_the_catalog():
    catalog = {name: Repository(name, "", "main") for name in HEAD.defaults}
    assert set(permitted_catalog(catalog, TEAM)) == {"team-a", "shared"}
    assert permitted_catalog(catalog, OWNER) is catalog


def test_a_scope_that_is_lacking_is_named_and_admin_has_all():
    TEAM.require("search")
    with pytest.raises(Forbidden, match="'index'"):
        TEAM.require("index")
    Principal("root", frozenset({"admin"}), ()).require("index")
