"""Hidden content affects nothing: every route answers as if the index held only the part that the key may see."""

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
# A request to OpenSearch takes ten times as long, so only a part of many examples is sent.
MANY, THINNED = 100, 9
NOT_REACHED = 504


def bound_principal(store, grants=GRANTS):
    """Return a principal with grants bound to the repositories of these names in a world."""
    ids = ids_by_name(store)
    bound = tuple(replace(grant, repo_id=ids.get(grant.repos, "")) for grant in grants)
    return Principal("limited", frozenset({"search"}), bound)


@pytest.fixture(scope="module")
def key():
    """Return the key that both worlds know, and its token."""
    return make_key()


@pytest.fixture(scope="module", params=["embedded", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def worlds(request, new_workspace, embedder, key):
    """Yield an index with hidden content, and an index of only the visible part."""
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
    """Return the token of the key."""
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


def compare(worlds, token, example, output, words=PLANTED):
    """Compare the answers of both worlds, and look for planted words in the world that has them."""
    full, alone = worlds
    for seen, expected in zip(followed(full, token, example), followed(alone, token, example), strict=True):
        assert (seen.status, seen.body) == (expected.status, expected.body), str(example)
        assert seen.headers == expected.headers, str(example)
        assert seen.status < 500 or seen.status == NOT_REACHED, (str(example), seen.text)
        shown = seen.text + output()
        for word in words:
            assert word in str(example).lower() or word not in shown.lower(), (str(example), word)


def test_every_route_has_examples(worlds):
    """A new route needs requests here, so that this suite tries to make it leak."""
    rules = worlds[0].client.application.url_map.iter_rules()
    present = {f"{method} {rule.rule}" for rule in rules for method in rule.methods - {"HEAD", "OPTIONS"}}
    signed = {route for route, need in NEEDS.items() if need == "signed"}
    assert present - signed == set(EXAMPLES)


@pytest.mark.parametrize("route", [*READING, *CHANGING])
def test_a_route_answers_as_if_nothing_were_hidden(worlds, token, route, capsys):
    def output():
        captured = capsys.readouterr()
        return captured.out + captured.err

    examples = list(EXAMPLES[route](worlds[0].commits))
    if worlds[0].settings.store == "opensearch" and len(examples) > MANY:
        examples = examples[::THINNED]
    assert examples
    output()
    for example in examples:
        compare(worlds, token, example, output)


def test_requested_changes_look_the_same_in_both_worlds(worlds, token, capsys):
    for example in (Example("GET", "/jobs"), Example("GET", "/repos"), Example("GET", "/jobs?state=queued")):
        # The requests named visible repositories' versions by names that hidden versions have.
        compare(worlds, token, example, lambda: capsys.readouterr().out, ("xylophone", "quagmire", "kumquat", "vault"))


@pytest.mark.parametrize("query", ["retry_later", "xylophone", "zanzibar"])
def test_the_suite_would_notice_a_leak(worlds, query):
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
    ("GET", "/symbols?name=retry_later&repo=NAME", None),
    ("POST", "/graph", {"name": "retry_later", "filters": {"repo": "NAME"}}),
    ("GET", "/symbols/history?name=retry_later&repo=NAME", None),
    ("DELETE", "/repos/NAME", None),
    ("GET", "/jobs?repo=NAME", None),
)


@pytest.mark.parametrize(("method", "path", "body"), TEMPLATES)
def test_a_hidden_repository_is_refused_in_the_same_words_as_an_unknown_one(worlds, token, method, path, body):
    def answer(name):
        filled = None if body is None else _filled(body, name)
        reply = ask(worlds[0], token, method, path.replace("NAME", name), filled)
        return reply.status, reply.headers, _filled(reply.body, "NAME", name)

    assert answer("vault") == answer("unknown") == answer("vault-new")


def _filled(value, name, instead="NAME"):
    if isinstance(value, dict):
        return {key: _filled(item, name, instead) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, name, instead) for item in value]
    return re.sub(rf"\b{re.escape(instead)}\b", name, value) if isinstance(value, str) else value


@pytest.mark.parametrize("field", ["branch", "ref"])
def test_a_hidden_version_is_refused_like_an_unknown_one(worlds, token, field):
    def answer(name):
        reply = ask(worlds[0], token, "POST", "/search-code", {"query": "retry", "filters": {field: name}})
        return reply.status, _filled(reply.body, "NAME", name)

    assert answer("zanzibar-branch") == answer("some-branch-of-none")


def test_a_hidden_commit_is_refused_like_an_unknown_one_and_makes_no_prefix_ambiguous(worlds, token):
    full = worlds[0]

    def answer(commit):
        reply = ask(full, token, "POST", "/search-code", {"query": "retry", "filters": {"commit": commit}})
        return reply.status, _filled(reply.body, "NAME", commit)

    assert answer(full.commits["vault/dev"][:12]) == answer("123456789abc")
    assert answer(full.commits["core/main"][:12])[0] == 200


def test_a_hidden_origin_is_refused_like_a_new_one_and_a_visible_one_is_accepted(worlds, token):
    full = worlds[0]
    place = full.settings.home.parent

    def answer(folder, name=None):
        reply = ask(full, token, "POST", "/repos", {"origin": str(place / folder), "name": name})
        return reply.status, _filled(reply.body, "NAME", folder)

    (place / "fresh").mkdir()
    assert answer("vault") == answer("fresh") == answer("vault", name="vault") == answer("fresh", name="core")
    assert answer("vault")[0] == 403
    assert answer("core")[0] == 202


def test_a_path_that_now_leads_to_a_hidden_repository_is_refused_like_a_new_one(worlds, token):
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


def test_a_path_with_an_additional_hidden_name_is_refused_by_that_name(worlds, token):
    """This happens while a repository is renamed."""
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


def test_a_hidden_file_is_answered_like_a_missing_one(worlds):
    full, alone = worlds
    messages = []
    for path in ("secret/keys.py", "secret/kees.py", "src/retri.py", "secret/quagmire.md"):
        for world in (full, alone):
            with pytest.raises(NotIndexed) as missing:
                read_file(Catalog(world.store).seen_by(bound_principal(world.store)), "core", path)
            messages.append(str(missing.value))
    assert messages[::2] == messages[1::2]
    limited = Catalog(full.store).seen_by(bound_principal(full.store))
    assert "class Retrier" in read_file(limited, "core", "src/retry.py").text
    assert "Xylophone" in read_file(Catalog(full.store), "core", "secret/keys.py").text


def test_metrics_contain_no_searched_or_found_words(worlds, monkeypatch):
    monkeypatch.setattr(auth, "MIN_AGE_SECONDS", -1)
    operator, token = new_key("operator", ["admin"], [Grant("*")])
    add_key(worlds[0].store, operator)
    text = ask(worlds[0], token, "GET", "/metrics").text
    assert "codequarry_http_requests_total" in text
    assert not [word for word in PLANTED if word in text.lower()]


def test_partly_visible_repositories_with_the_same_paths_share_a_layer(worlds):
    docs = PathGlobs(("*.md",))
    grants = (Grant("core", docs), Grant("vault", docs), Grant("site"))
    principal = bound_principal(worlds[0].store, grants)
    snapshot = locate(Catalog(worlds[0].store).seen_by(principal), Selection()).scope.snapshot
    assert sorted((len(layer.timelines), layer.allowed) for layer in snapshot.layers) == [(1, ()), (2, (docs,))]
