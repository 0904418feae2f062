"""What a key may not see takes part in nothing: every route answers as if the index held the visible part alone."""

import re
from contextlib import ExitStack
from dataclasses import replace

import pytest

from codequarry.search_api.access import authentication as auth
from codequarry.search_api.http.admission import NEEDS
from codequarry.search_api.http.request_context import EXTENSION
from codequarry.search_api.query.request import SearchRequest
from codequarry.search_api.query.selection import Selection
from codequarry.search_api.search.files import read_file
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.resolution import locate
from codequarry.shared.access.grants import OWNER, Grant, Principal
from codequarry.shared.access.key_list import add_key, ids_by_name
from codequarry.shared.access.keys import new_key
from codequarry.shared.catalog.repositories import Repository, save_repository
from codequarry.shared.errors import NotIndexed
from codequarry.shared.model import PathGlobs
from tests.e2e.api.leaks.examples import EXAMPLES, Example
from tests.e2e.api.leaks.worlds import GRANTS, PLANTED, ask, make_key, make_repositories, open_world

SEARCHING = ("POST /search-code", "POST /diff-search")
READING = [route for route in EXAMPLES if route.startswith("GET ") or route in SEARCHING]
CHANGING = [route for route in EXAMPLES if route not in READING]
MAX_PAGES = 30
# A request to OpenSearch takes ten times as long: of the many, every so many will do.
MANY, THINNED = 100, 9
NOT_REACHED = 504


def bound_principal(store, grants=GRANTS):
    """Return a principal whose grants are those of the repositories that have these names in a world."""
    ids = ids_by_name(store)
    bound = tuple(replace(grant, repo_id=ids.get(grant.repos, "")) for grant in grants)
    return Principal("limited", frozenset({"search"}), bound)


@pytest.fixture(scope="module")
def key():
    """Give the key that both worlds know, and its token."""
    return make_key()


@pytest.fixture(scope="module", params=["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def worlds(request, new_workspace, embedder, key):
    """Give the index with what is hidden, and the one of the visible part alone."""
    place = new_workspace()
    repositories = make_repositories(place)
    with ExitStack() as opened:

        def world(name, *, hidden):
            sections = {}
            if request.param == "opensearch":
                node = request.getfixturevalue("opensearch_node")
                sections = {
                    "store": "opensearch",
                    "opensearch": opened.enter_context(node.empty_index(embedder.dimension)),
                }
            made = open_world(place.folder / name, embedder, repositories, key[0], hidden=hidden, **sections)
            return opened.enter_context(made)

        yield world("full", hidden=True), world("alone", hidden=False)


@pytest.fixture(scope="module")
def token(key):
    """Give the key as a request carries it."""
    return key[1]


def followed(world, token, example):
    """Yield the answers to an example, page by page."""
    body = example.body
    for _ in range(MAX_PAGES):
        reply = ask(world, token, example.method, example.path, body)
        yield reply
        if not (example.pages and reply.cursor):
            return
        body = {**body, "cursor": reply.cursor}


def compare(worlds, token, example, said, words=PLANTED):
    """Compare the answers of both worlds, and look for what is planted in the one that has it."""
    full, alone = worlds
    for seen, expected in zip(followed(full, token, example), followed(alone, token, example), strict=True):
        assert (seen.status, seen.body) == (expected.status, expected.body), str(example)
        assert seen.headers == expected.headers, str(example)
        assert seen.status < 500 or seen.status == NOT_REACHED, (str(example), seen.text)
        told = seen.text + said()
        for word in words:
            assert word in str(example).lower() or word not in told.lower(), (str(example), word)


def test_every_route_has_examples_here(worlds):
    """Who adds a route adds requests for it, so that this suite tries to make it leak."""
    rules = worlds[0].client.application.url_map.iter_rules()
    there = {f"{method} {rule.rule}" for rule in rules for method in rule.methods - {"HEAD", "OPTIONS"}}
    signed = {route for route, need in NEEDS.items() if need == "signed"}
    assert there - signed == set(EXAMPLES)


@pytest.mark.parametrize("route", [*READING, *CHANGING])
def test_a_route_answers_as_if_there_were_nothing_hidden(worlds, token, route, capsys):
    def said():
        captured = capsys.readouterr()
        return captured.out + captured.err

    examples = list(EXAMPLES[route](worlds[0].commits))
    if worlds[0].settings.store == "opensearch" and len(examples) > MANY:
        examples = examples[::THINNED]
    assert examples
    said()
    for example in examples:
        compare(worlds, token, example, said)


def test_the_changes_that_were_asked_for_are_seen_alike(worlds, token, capsys):
    for example in (Example("GET", "/jobs"), Example("GET", "/repos"), Example("GET", "/jobs?state=queued")):
        # Versions of visible repositories were asked for by names that hidden ones have.
        compare(worlds, token, example, lambda: capsys.readouterr().out, ("xylophone", "quagmire", "kumquat", "vault"))


@pytest.mark.parametrize("query", ["retry_later", "xylophone", "zanzibar"])
def test_the_suite_would_notice(worlds, query):
    """For the owner, who sees everything, the two worlds differ."""
    full, alone = (
        world.client.application.extensions[EXTENSION].search(SearchRequest(query), OWNER).results for world in worlds
    )
    assert [hit.path for hit in full] != [hit.path for hit in alone]


TEMPLATES = (
    ("POST", "/search-code", {"query": "retry", "filters": {"repo": "NAME"}}),
    ("POST", "/search-code", {"query": "retry", "filters": {"repo": ["core", "NAME"]}}),
    ("POST", "/search-code", {"query": "retry repo:NAME"}),
    ("POST", "/search-code", {"query": "retry -repo:NAME"}),
    ("POST", "/search-code", {"query": "retry", "filters": {"repo": "NAME", "branch": "dev"}}),
    ("POST", "/search-code", {"query": "retry", "filters": {"repo": "NAME"}, "min_commit": "1234567", "wait_ms": 0}),
    ("POST", "/search-code", {"query": "retry", "repos": [{"name": "NAME"}]}),
    ("POST", "/search-code?index=true", {"query": "retry", "filters": {"repo": "NAME"}, "wait_ms": 0}),
    ("POST", "/search-code?index=true", {"query": "x", "filters": {"repo": "NAME", "branch": "d"}, "wait_ms": 0}),
    ("POST", "/diff-search", {"query": "retry", "from": "main", "to": "dev", "filters": {"repo": "NAME"}}),
    ("DELETE", "/repos/NAME", None),
    ("GET", "/jobs?repo=NAME", None),
)


@pytest.mark.parametrize(("method", "path", "body"), TEMPLATES)
def test_a_hidden_repository_is_refused_word_for_word_as_an_unknown_one(worlds, token, method, path, body):
    def told(name):
        filled = None if body is None else _filled(body, name)
        reply = ask(worlds[0], token, method, path.replace("NAME", name), filled)
        return reply.status, reply.headers, _filled(reply.body, "NAME", name)

    assert told("vault") == told("unknown") == told("vault-new")


def _filled(value, name, instead="NAME"):
    if isinstance(value, dict):
        return {key: _filled(one, name, instead) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, name, instead) for one in value]
    return re.sub(rf"\b{re.escape(instead)}\b", name, value) if isinstance(value, str) else value


@pytest.mark.parametrize("field", ["branch", "ref"])
def test_so_is_a_hidden_version(worlds, token, field):
    def told(name):
        reply = ask(worlds[0], token, "POST", "/search-code", {"query": "retry", "filters": {field: name}})
        return reply.status, _filled(reply.body, "NAME", name)

    assert told("zanzibar-branch") == told("some-branch-of-none")


def test_so_is_a_hidden_commit_and_one_that_begins_like_a_visible_one_is_no_candidate(worlds, token):
    full = worlds[0]

    def told(commit):
        reply = ask(full, token, "POST", "/search-code", {"query": "retry", "filters": {"commit": commit}})
        return reply.status, _filled(reply.body, "NAME", commit)

    assert told(full.commits["vault/dev"][:12]) == told("123456789abc")
    assert told(full.commits["core/main"][:12])[0] == 200


def test_an_origin_that_is_hidden_is_refused_as_a_new_one_and_one_that_is_seen_is_not(worlds, token):
    full = worlds[0]
    place = full.settings.home.parent

    def told(folder, name=None):
        reply = ask(full, token, "POST", "/repos", {"origin": str(place / folder), "name": name})
        return reply.status, _filled(reply.body, "NAME", folder)

    (place / "fresh").mkdir()
    assert told("vault") == told("fresh") == told("vault", name="vault") == told("fresh", name="core")
    assert told("vault")[0] == 403
    assert told("core")[0] == 202


def test_a_path_that_leads_to_what_is_hidden_by_now_is_refused_as_a_new_one(worlds, token):
    full = worlds[0]
    place = full.settings.home.parent
    save_repository(full.store, Repository("team-moved", str(place / "moved"), "main"))
    (place / "moved").symlink_to(place / "vault")
    try:
        reply = ask(full, token, "POST", "/repos", {"origin": str(place / "moved")})
    finally:
        full.store.delete_document("repository:team-moved")
        (place / "moved").unlink()
    assert reply.status == 403
    assert "vault" not in reply.text


def test_a_place_that_has_a_hidden_name_too_is_refused_by_that_name(worlds, token):
    """So it is while a repository is renamed."""
    full = worlds[0]
    core = str(full.settings.home.parent / "core")
    save_repository(full.store, Repository("hidden-core", core, "main"))
    try:
        reply = ask(full, token, "POST", "/repos", {"origin": core, "name": "hidden-core"})
    finally:
        full.store.delete_document("repository:hidden-core")
    assert reply.status == 403


def test_a_cursor_of_another_key_is_refused(worlds, token, monkeypatch):
    monkeypatch.setattr(auth, "MIN_AGE_SECONDS", -1)
    full = worlds[0]
    other, other_token = new_key("other", ["search"], GRANTS)
    add_key(full.store, other)
    body = {"query": "step value", "top_k": 3}
    cursor = ask(full, token, "POST", "/search-code", body).cursor
    refused = ask(full, other_token, "POST", "/search-code", {**body, "cursor": cursor})
    assert refused.status == 400
    assert "was issued to another caller" in refused.text


def test_a_key_without_any_grant_sees_an_empty_index(worlds):
    full = worlds[0]
    nothing = Catalog(full.store).seen_by(Principal("new", frozenset({"search"}), ()))
    assert nothing.head().timelines == {}
    assert nothing.repositories(nothing.head(), ["core", "vault"]) == {}
    assert nothing.jobs() == nothing.deliveries() == []


def test_a_file_that_is_hidden_is_one_that_is_not_there(worlds):
    full, alone = worlds
    said = []
    for path in ("secret/keys.py", "secret/kees.py", "src/retri.py", "secret/quagmire.md"):
        for world in (full, alone):
            with pytest.raises(NotIndexed) as missing:
                read_file(Catalog(world.store).seen_by(bound_principal(world.store)), "core", path)
            said.append(str(missing.value))
    assert said[::2] == said[1::2]
    limited = Catalog(full.store).seen_by(bound_principal(full.store))
    assert "class Retrier" in read_file(limited, "core", "src/retry.py").text
    assert "Xylophone" in read_file(Catalog(full.store), "core", "secret/keys.py").text


def test_metrics_name_nothing_that_was_asked_for_or_found(worlds, monkeypatch):
    monkeypatch.setattr(auth, "MIN_AGE_SECONDS", -1)
    operator, token = new_key("operator", ["admin"], [Grant("*")])
    add_key(worlds[0].store, operator)
    text = ask(worlds[0], token, "GET", "/metrics").text
    assert "codequarry_http_requests_total" in text
    assert not [word for word in PLANTED if word in text.lower()]


def test_several_repositories_seen_in_part_share_a_layer_where_their_paths_are_the_same(worlds):
    docs = PathGlobs(("*.md",))
    grants = (Grant("core", docs), Grant("vault", docs), Grant("site"))
    principal = bound_principal(worlds[0].store, grants)
    snapshot = locate(Catalog(worlds[0].store).seen_by(principal), Selection()).scope.snapshot
    assert sorted((len(layer.timelines), layer.allowed) for layer in snapshot.layers) == [(1, ()), (2, (docs,))]
