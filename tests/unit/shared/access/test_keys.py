"""API keys: storage, expiry, rotation, and changes of their grants."""

from dataclasses import replace
from datetime import timedelta

import pytest

from codequarry.shared.access.binding import bind_index
from codequarry.shared.access.grants import Grant
from codequarry.shared.access.key_list import (
    add_key,
    bind_pending,
    change_key,
    find_key,
    forget_in_grants,
    grant_to_key,
    list_keys,
    note_use,
    rename_in_grants,
)
from codequarry.shared.access.keys import (
    MAX_GLOBS,
    ApiKey,
    bound,
    coarse_moment,
    granted,
    moment,
    new_key,
    renamed,
    revoked,
    rotated,
    split_token,
    used,
    withdrawn,
)
from codequarry.shared.catalog.ledger import change_head, read_head
from codequarry.shared.catalog.repositories import Repository, claim_repository, read_repository
from codequarry.shared.errors import IndexMoved, NotIndexed, UnknownName, UsageError
from codequarry.shared.model import PathGlobs
from codequarry.shared.store.embedded.store import EmbeddedStore
from codequarry.shared.versions.head import Move
from codequarry.shared.versions.transactions import new_timeline

CORE = Repository("core", "https://example.org/core", "main", id="a" * 16)
DOCS = Grant("core", PathGlobs(("docs/",), ("docs/secret/",)))
LATER, BEFORE = timedelta(hours=1), timedelta(hours=-1)


@pytest.fixture
def store(tmp_path):
    """Return an empty embedded store."""
    opened = EmbeddedStore(tmp_path / "store", 4)
    yield opened
    opened.close()


def secret_of(token):
    return split_token(token)[1]


def test_a_token_has_the_id_of_its_key_and_a_secret_of_32_random_bytes():
    key, token = new_key("ci", ["search"], [Grant("*")])
    key_id, secret = split_token(token)
    assert key_id == key.id
    assert len(secret) == 43
    assert new_key("ci", ["search"], [Grant("*")])[1] != token


@pytest.mark.parametrize("token", ["", "cq", "cq_", "cq_id", "cq_id_", "cq__secret", "xx_id_secret", "Bearer"])
def test_an_invalid_token_is_none(token):
    assert split_token(token) is None


def test_only_the_hash_of_a_secret_is_stored_and_it_is_never_shown():
    key, token = new_key("ci", ["search"], [Grant("*")])
    assert secret_of(token) not in repr(key.to_document())
    assert key.secrets[0].digest not in repr(key.to_json(moment()))


def test_a_key_survives_the_catalog(store):
    key, _ = new_key("ci", ["index", "search", "search"], [DOCS, Grant("team-*")], created_by="me")
    claim_repository(store, CORE)
    key = add_key(store, key)
    assert list_keys(store) == [key]
    assert key.scopes == ("search", "index")
    assert key.principal.allowed_paths("core", CORE.id) == (DOCS.paths,)


@pytest.mark.parametrize(
    ("name", "scopes", "grants"),
    [
        ("", ["search"], [Grant("*")]),
        ("line\nfeed", ["search"], [Grant("*")]),
        ("ci", ["read"], [Grant("*")]),
        ("ci", ["search"], [Grant("")]),
        ("ci", ["search"], [Grant("team-?")]),
        ("ci", ["search"], [Grant("[ab]")]),
        ("ci", ["search"], [Grant("core", PathGlobs(("",)))]),
        ("ci", ["search"], [Grant("core", PathGlobs(("a" * 2000,)))]),
        ("ci", ["search"], [Grant("core", PathGlobs(tuple(f"{n}/" for n in range(30))))]),
        ("ci", ["search"], [Grant(f"r{n}") for n in range(200)]),
    ],
)
def test_an_invalid_key_is_refused_when_it_is_created(name, scopes, grants):
    with pytest.raises(UsageError):
        new_key(name, scopes, grants)


def test_after_rotation_both_secrets_are_valid_until_the_old_secret_expires():
    key, old = new_key("ci", ["search"], [Grant("*")])
    changed, new = rotated(key, LATER)
    for token in (old, new):
        assert changed.has(secret_of(token), moment())
    assert not changed.has(secret_of(old), moment(LATER))
    assert changed.has(secret_of(new), moment(LATER))


def test_after_two_rotations_only_the_newest_old_secret_is_valid():
    key, first = new_key("ci", ["search"], [Grant("*")])
    key, second = rotated(key, LATER)
    key, third = rotated(key, LATER)
    assert [key.has(secret_of(token), moment()) for token in (first, second, third)] == [False, True, True]


def test_rotation_without_overlap_ends_the_old_secret_at_once():
    key, old = new_key("ci", ["search"], [Grant("*")])
    changed, _ = rotated(key, timedelta())
    assert not changed.has(secret_of(old), moment())
    assert len(changed.secrets) == 1


def test_a_key_expires_and_rotation_can_extend_it():
    key, _ = new_key("ci", ["search"], [Grant("*")], expires_at=moment(BEFORE))
    assert key.state(moment()) == "expired"
    with pytest.raises(UsageError, match="expired"):
        rotated(key, LATER)
    assert rotated(key, LATER, moment(LATER))[0].state(moment()) == "active"


def test_a_revoked_key_has_no_secrets():
    key, token = new_key("ci", ["search"], [Grant("*")])
    ended = revoked(key)
    assert (ended.state(moment()), ended.secrets) == ("revoked", ())
    assert not ended.has(secret_of(token), moment())
    assert revoked(ended) == ended
    with pytest.raises(UsageError, match="revoked"):
        rotated(ended, LATER)


def test_a_key_is_limited_to_the_globs_that_an_engine_accepts():
    many = [Grant(f"r{n}", PathGlobs(tuple(f"folder-{n}-{m}/" for m in range(MAX_GLOBS)))) for n in range(10)]
    key, _ = new_key("x", ["search"], many)
    with pytest.raises(UsageError, match="200 path globs"):
        granted(key, [Grant("one-more", PathGlobs(("docs/",)))])
    assert granted(key, [replace(many[0], repos=f"also-{number}") for number in range(50)])


def test_grants_are_added_withdrawn_and_renamed():
    key, _ = new_key("ci", ["search"], [Grant("core")])
    more = granted(key, [DOCS, Grant("core"), Grant("team-*")])
    assert more.grants == (Grant("core"), DOCS, Grant("team-*"))
    assert withdrawn(more, ["core"]).grants == (Grant("team-*"),)
    kernel = renamed(bound(more, {"core": "id"}), "id", "kernel", "id").grants
    assert [(grant.repos, grant.repo_id) for grant in kernel] == [("kernel", "id"), ("kernel", "id"), ("team-*", "")]


def test_grants_vanish_with_a_repository_and_follow_its_new_name(store):
    site = Repository("site", "https://example.org/site", "main", id="b" * 16)
    claim_repository(store, CORE)
    claim_repository(store, site)
    for name, repos in (("a", "core"), ("b", "co*"), ("c", "site")):
        add_key(store, new_key(name, ["search"], [Grant(repos)])[0])
    rename_in_grants(store, site.id, replace(site, name="page"))
    forget_in_grants(store, "core", CORE.id)
    assert {key.name: [grant.repos for grant in key.grants] for key in list_keys(store)} == {
        "a": [],
        "b": ["co*"],
        "c": ["page"],
    }


def test_a_pending_grant_is_bound_to_the_first_repository_of_its_name(store):
    key = add_key(store, new_key("ci", ["search"], [Grant("core")])[0])
    assert [grant["state"] for grant in key.to_json(moment())["grants"]] == ["pending"]
    claim_repository(store, CORE)
    bind_pending(store, CORE)
    assert [grant.repo_id for grant in find_key(store, "ci").grants] == [CORE.id]
    bind_pending(store, replace(CORE, id="c" * 16))
    assert [grant.repo_id for grant in find_key(store, "ci").grants] == [CORE.id]


def test_the_next_run_binds_grants_that_a_killed_process_left_pending(store):
    add_key(store, new_key("ci", ["search"], [Grant("core")])[0])
    claim_repository(store, CORE)  # the process dies here
    bind_index(store)
    assert [grant.repo_id for grant in find_key(store, "ci").grants] == [CORE.id]


def test_grants_of_older_releases_are_bound_unless_their_repository_is_gone(store):
    for name in ("core", "gone"):
        body = new_key(name, ["search"], [Grant(name)])[0].to_document()
        for grant in body["grants"]:
            del grant["repo_id"]
        store.write_document(f"key:{body['id']}", body, None)
    store.write_document("repository:core", {"name": "core", "origin": "https://example.org/core", "branch": ""}, None)
    change_head(store, lambda head: new_timeline(head, "core"))
    bind_index(store)
    known = read_repository(store, "core")
    assert known.id
    assert read_head(store).id_of_repo("core") == known.id
    assert find_key(store, "core").principal.sees("core", known.id)
    claim_repository(store, Repository("gone", "https://example.org/another", "main"))
    bind_index(store)
    assert [grant["state"] for grant in find_key(store, "gone").to_json(moment())["grants"]] == ["lost"]
    assert not find_key(store, "gone").principal.sees("gone", read_repository(store, "gone").id)
    regranted = grant_to_key(store, find_key(store, "gone").id, [Grant("gone")])
    assert [grant.repo_id for grant in regranted.grants] == [read_repository(store, "gone").id]


def test_a_key_is_found_by_its_id_or_its_unique_name(store):
    keys = [new_key(name, ["search"], [Grant("*")])[0] for name in ("one", "two", "two")]
    for key in keys:
        add_key(store, key)
    assert find_key(store, keys[1].id) == keys[1]
    assert find_key(store, "one") == keys[0]
    with pytest.raises(UsageError, match=keys[2].id):
        find_key(store, "two")
    with pytest.raises(NotIndexed, match="codequarry keys list"):
        find_key(store, "three")
    change_key(store, keys[2].id, revoked)
    assert find_key(store, "two") == keys[1]


def test_a_change_that_a_migration_may_miss_is_reported(store):
    key, _ = new_key("ci", ["search"], [Grant("*")])
    add_key(store, key)
    change_head(store, lambda head: (replace(head, move=Move("h", 2, "minilm", done=True)), None), "h")
    with pytest.raises(IndexMoved):
        change_key(store, key.id, revoked)


def test_the_last_use_is_recorded_by_the_hour(store):
    key, _ = new_key("ci", ["search"], [Grant("*")])
    add_key(store, key)
    note_use(store, key.id, lambda known: used(known, coarse_moment()))
    noted = list_keys(store)[0].last_used_at
    assert noted.endswith(":00:00+00:00")
    assert used(ApiKey.from_document(list_keys(store)[0].to_document()), "2000").last_used_at == noted


def test_an_unknown_scope_is_reported_with_the_known_scopes():
    with pytest.raises(UnknownName, match="search, index, admin"):
        new_key("ci", ["read"], [Grant("*")])
