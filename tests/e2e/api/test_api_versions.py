"""Versions over HTTP: branches, tags and commits indexed by the real pipeline, searched alone and side by side."""

import hashlib
import itertools

import jsonschema
import pytest

from codequarry.search_api.http.app import create_app
from codequarry.shared.versions.refs import Ref


@pytest.fixture(scope="module")
def core(indexed, index):
    """Add the branch `dev` to `core`, with a changed and an added file, and a tag on the commit before it."""
    core = indexed["core"]
    core.git("tag", "v1")
    core.git("checkout", "--quiet", "-b", "dev")
    text = (core.folder / "src/pages.go").read_text().replace("ReadPage", "LoadPage")
    core.commit({"src/pages.go": text, "src/fresh.py": "def only_on_dev():\n    return 'page'\n"})
    core.git("checkout", "--quiet", "main")
    for ref in (Ref("branch", "dev"), Ref("tag", "v1")):
        index(core.folder, ref=ref)
    return core


@pytest.fixture
def post(client, core):
    """Return a function that searches and returns the response."""
    return lambda query, **fields: client.post("/search-code", json={"query": query, **fields})


def paths(answer):
    return {hit["path"] for hit in answer["results"]}


@pytest.mark.parametrize("fields", [{"filters": {"branch": "dev"}}, {"filters": {"ref": "refs/heads/dev"}}])
def test_a_branch_is_its_base_with_its_changes(search, core, fields):
    answer = search("page retry", top_k=200, **fields)
    assert {hit["ref"] for hit in answer["results"]} == {"dev"}
    assert {hit["commit"] for hit in answer["results"]} == {core.git("rev-parse", "dev")}
    assert {"src/fresh.py", "src/retry.py", "src/pages.go"} <= paths(answer)
    texts = "".join(hit["text"] for hit in answer["results"] if hit["path"] == "src/pages.go")
    assert "LoadPage" in texts and "ReadPage" not in texts


def test_versions_can_be_named_in_the_query(search, core):
    assert "src/fresh.py" in paths(search("only_on_dev branch:dev"))
    assert "src/fresh.py" in paths(search(f"only_on_dev commit:{core.git('rev-parse', 'dev')[:8]}"))
    assert "src/fresh.py" not in paths(search("only_on_dev ref:v1", top_k=200))


def test_two_versions_side_by_side_name_the_versions_of_each_hit(search, core):
    answer = search("page", top_k=200, filters={"repo": "core", "branch": ["main", "dev"]})
    holders = {hit["path"]: [version["ref"] for version in hit["versions"]] for hit in answer["results"]}
    assert holders["src/fresh.py"] == ["dev"]
    assert holders["README.md"] == ["main", "dev"]
    (pages,) = [hit for hit in answer["results"] if hit["path"] == "src/pages.go"]
    (other,) = pages["variants"]
    on_dev = "LoadPage" in pages["text"]
    assert holders["src/pages.go"] == ["dev" if on_dev else "main"]
    assert [version["ref"] for version in other["versions"]] == ["main" if on_dev else "dev"]
    assert {(version["ref"], version["commits_behind"]) for version in answer["freshness"]} == {("main", 0), ("dev", 0)}


def test_every_version_is_searched_at_once(search, core):
    """README.md is the same everywhere, ReadPage has another name on dev, and src/fresh.py is only there."""
    answer = search("page", top_k=200, filters={"repo": "core", "ref": "*"})
    assert (answer["versions_searched"], len(answer["freshness"])) == (3, 3)
    holders = {
        (hit["path"], hit["symbol_name"]): [version["ref"] for version in hit["versions"]] for hit in answer["results"]
    }
    assert {tuple(refs) for (path, _), refs in holders.items() if path == "README.md"} == {("main", "dev", "v1")}
    assert [refs for (path, _), refs in holders.items() if path == "src/fresh.py"] == [["dev"]]
    for hit in answer["results"]:
        first = hit["versions"][0]
        assert (hit["ref"], hit["commit"], hit["start_line"]) == (first["ref"], first["commit"], first["start_line"])
        others = [version["ref"] for variant in hit["variants"] for version in variant["versions"]]
        assert not {version["ref"] for version in hit["versions"]} & set(others)


@pytest.mark.parametrize(
    ("query", "refs"),
    [("page tag:v*", {"v1"}), ("page branch:d*", {"dev"}), ("page ref:refs/heads/*", {"main", "dev"})],
)
def test_a_pattern_names_versions(search, core, query, refs):
    answer = search(query, top_k=200, filters={"repo": "core"})
    assert {entry["ref"] for entry in answer["freshness"]} == refs


def test_a_pattern_without_a_match_is_a_404_with_what_is_indexed(post):
    response = post("page", filters={"branch": "release/*"})
    assert response.status_code == 404
    assert "no indexed branch matches 'release/*'; indexed: core with branches main, dev" in response.json["detail"]


def test_a_comparison_of_several_versions_is_refused(client, core):
    response = client.post("/diff-search", json={"query": "page", "from": "refs/heads/*", "to": "v1"})
    assert response.status_code == 400
    assert "'refs/heads/*' matches several of core: main, dev" in response.json["detail"]


def where(client, **parameters):
    response = client.get("/symbols/versions", query_string=parameters)
    assert response.status_code == 200, response.json
    return response.json


def test_the_versions_of_a_symbol_are_those_in_which_git_finds_it(client, core):
    answer = where(client, name="FreePage", repo="core")
    (item,) = answer["declarations"]
    assert (item["path"], item["symbol"], answer["versions_searched"]) == ("src/pages.go", "FreePage", 3)
    for text in item["texts"]:
        for version in text["versions"]:
            lines = core.git("show", f"{version['commit']}:src/pages.go").split("\n")
            assert any("func FreePage" in line for line in lines[version["start_line"] - 1 : version["end_line"]])
    (item,) = where(client, name="only_on_dev")["declarations"]
    assert [version["ref"] for text in item["texts"] for version in text["versions"]] == ["dev"]
    assert [(version["ref"], version["lack"]) for version in item["lacking"]] == [
        ("main", "file missing"),
        ("v1", "file missing"),
    ]


def test_the_declarations_of_a_symbol_come_in_pages(client, core):
    first = where(client, name="Retrier", limit=1)
    assert (first["total"], first["next_cursor"]) == (1, None)
    assert where(client, name="ReadPage", ref="dev")["declarations"] == []


@pytest.mark.parametrize(
    ("parameters", "status", "says"),
    [
        ({}, 400, "name is missing"),
        ({"name": "?!"}, 400, "not the name of a symbol"),
        ({"name": "a", "colour": "red"}, 400, "colour"),
        ({"name": "a", "limit": "0"}, 400, "limit"),
        ({"name": "a", "cursor": "x"}, 400, "cursor"),
        ({"name": "a", "repo": "nope"}, 404, "'nope' is not indexed"),
        ({"name": "a", "ref": "nope*"}, 404, "no indexed version matches"),
        ({"name": "a", "path": "["}, 400, "path"),
    ],
)
def test_an_invalid_request_for_a_symbol_says_why(client, core, parameters, status, says):
    response = client.get("/symbols/versions", query_string=parameters)
    assert response.status_code == status
    if status != 200:
        assert response.content_type == "application/problem+json" and says in response.json["detail"]


def test_each_repository_is_searched_at_its_own_version(search, core, indexed):
    repos = [
        {"originUri": str(core.folder), "versionSpecifier": "dev"},
        {"originUri": f"file://{indexed['site'].folder}", "versionSpecifier": "latest"},
    ]
    answer = search("page", top_k=200, repos=repos)
    assert {(hit["repo"], hit["ref"]) for hit in answer["results"]} == {("core", "dev"), ("site", "main")}


def test_local_paths_are_accepted_only_below_the_configured_roots(settings, store, embedder, core):
    roots = settings.model_copy(update={"api": settings.api.model_copy(update={"local_roots": (core.folder.parent,)})})
    client = create_app(roots, store, embedder).test_client()
    inside = {"query": "page", "repos": [{"checkoutPath": str(core.folder), "versionSpecifier": "v1"}]}
    answer = client.post("/search-code", json=inside).get_json()
    assert {hit["ref"] for hit in answer["results"]} == {"v1"}
    outside = {"query": "page", "repos": [{"repoPath": "/etc"}]}
    assert client.post("/search-code", json=outside).status_code == 400


def test_pages_of_a_version_stay_at_that_version(search, core):
    first = search("page retry", top_k=2, filters={"branch": "dev"})
    second = search("page retry", top_k=2, filters={"branch": "dev"}, cursor=first["next_cursor"])
    assert {hit["ref"] for hit in second["results"]} == {"dev"}
    assert not {hit["id"] for hit in first["results"]} & {hit["id"] for hit in second["results"]}


def test_a_commit_that_does_not_arrive_is_a_504_with_the_freshness(post, core):
    response = post("page", filters={"repo": "core"}, min_commit="f" * 40, wait_ms=0)
    assert response.status_code == 504
    assert response.get_json()["freshness"][0]["indexed_commit"] == core.git("rev-parse", "main")
    assert post("page", filters={"repo": "core"}, min_commit=core.git("rev-parse", "main")[:9]).status_code == 200


def twins(repository):
    """Make two commits whose ids share the first seven digits, by trying messages, and return them."""
    tree, parent = repository.git("rev-parse", "main^{tree}"), repository.git("rev-parse", "main")
    person = "T <t@example.org> 1700000000 +0000"
    seen = {}
    for number in itertools.count():
        body = f"tree {tree}\nparent {parent}\nauthor {person}\ncommitter {person}\n\n{number}\n"
        digest = hashlib.sha1(f"commit {len(body)}\0{body}".encode()).hexdigest()
        if other := seen.get(digest[:7]):
            return [write_commit(repository, text) for text in (other, body)]
        seen[digest[:7]] = body


def write_commit(repository, body):
    (repository.folder / ".git/one-commit").write_text(body)
    return repository.git("hash-object", "-t", "commit", "-w", ".git/one-commit")


def test_an_ambiguous_commit_is_a_400_with_the_candidates(post, search, core, index):
    commits = twins(core)
    for number, commit in enumerate(commits):
        core.git("branch", f"twin-{number}", commit)
        index(core.folder, ref=Ref("branch", f"twin-{number}"))
    response = post("page", filters={"commit": commits[0][:7]})
    assert response.status_code == 400
    assert response.get_json()["candidates"] == sorted(commits)
    assert {hit["commit"] for hit in search("page", filters={"commit": commits[0]})["results"]} == {commits[0]}


def test_a_comparison_reports_what_became_of_the_hits(client, core):
    body = {"query": "page", "from": "v1", "to": "dev", "filters": {"repo": "core"}}
    answer = client.post("/diff-search", json=body).get_json()
    changes = {(hit["change"], hit["path"]) for hit in answer["results"]}
    assert ("added", "src/fresh.py") in changes
    assert {path for _, path in changes} <= {"src/fresh.py", "src/pages.go"}
    assert answer["counts"]["unchanged"] > 0
    assert [version["ref"] for version in answer["freshness"]] == ["v1", "dev"]


@pytest.fixture
def matches_schema(client):
    """Return a function that compares an answer with its schema in the API description."""
    components = client.get("/openapi.json").get_json()["components"]

    def check(name, answer):
        schema = {"$ref": f"#/components/schemas/{name}", "components": components}
        jsonschema.Draft202012Validator(schema).validate(answer)

    return check


@pytest.fixture
def moved_on(core, index):
    """Let `main` move on since `dev` branched off from it at v1, and make `dev` pull request 7."""
    core.git("checkout", "--quiet", "main")
    core.commit({"src/later.py": "def page_came_later():\n    return 'page'\n"})
    core.git("update-ref", "refs/pull/7/head", "dev")
    for ref in (None, Ref("pull", "7")):
        index(core.folder, ref=ref)
    return core


@pytest.mark.parametrize(
    "fields",
    [{"range": "main...dev"}, {"from": "main", "to": "dev", "merge_base": True}, {"range": "...dev"}, {"pull": 7}],
)
def test_a_comparison_from_the_merge_base_shows_only_what_the_branch_changed(client, moved_on, matches_schema, fields):
    body = {"query": "page", "top_k": 50, "filters": {"repo": "core"}, **fields}
    answer = client.post("/diff-search", json=body).get_json()
    matches_schema("ComparisonAnswer", answer)
    listed = moved_on.git("diff", "--name-only", "main...dev").split()
    assert {hit["path"] for hit in answer["results"]} == set(listed)
    name = "pull/7" if "pull" in fields else "dev"
    base = {"repo": "core", "commit": moved_on.git("merge-base", "main", "dev"), "from": "main", "to": name}
    assert answer["merge_bases"] == [base]
    assert answer["freshness"][0]["indexed_commit"] == base["commit"]


def test_two_dots_also_show_what_the_other_branch_changed(client, moved_on):
    body = {"query": "page", "top_k": 50, "range": "main..dev", "filters": {"repo": "core"}}
    answer = client.post("/diff-search", json=body).get_json()
    assert ("removed", "src/later.py") in {(hit["change"], hit["path"]) for hit in answer["results"]}
    assert answer["merge_bases"] == []


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"query": "x", "from": "v1"}, 400, "'to' is missing"),
        ({"query": "x", "range": "v1"}, 400, "is not a range"),
        ({"query": "x", "range": "v1..dev", "pull": 7}, 400, "in one way"),
        ({"query": "x", "pull": 99}, 404, "pull request '99' is not indexed"),
        ({"query": "x", "pull": "7"}, 400, "'pull' must be a whole number from 1"),
        ({"query": "x", "from": "v" * 2_000, "to": "v1"}, 400, "'from' must be a string of 1 to 1,000"),
        ({"query": "x", "from": "v1", "to": "dev", "cursor": "abc"}, 400, "no meaning in a comparison"),
        ({"query": "x ref:v1", "from": "v1", "to": "dev"}, 400, "not in the filters"),
        ({"query": "x", "from": "v1", "to": "nope"}, 404, "'nope' is not indexed"),
        ({"query": "x", "from": "v1", "to": "dev", "all": 1}, 400, "'all'"),
        ({"query": "x", "from": "v1", "to": "dev", "fro": 1}, 400, "unknown field"),
    ],
)
def test_an_impossible_comparison_says_why(client, core, body, status, says):
    response = client.post("/diff-search", json=body)
    assert response.status_code == status
    assert says in response.get_json()["detail"]


def test_every_version_of_a_repository_is_listed(client, core):
    described = {repo["name"]: repo for repo in client.get("/repos").get_json()["repos"]}
    versions = [
        (version["kind"], version["ref"], version["indexed_commit"]) for version in described["core"]["versions"]
    ]
    assert versions[:2] == [
        ("branch", "main", core.git("rev-parse", "main")),
        ("branch", "dev", core.git("rev-parse", "dev")),
    ]
    assert versions[-1] == ("tag", "v1", core.git("rev-parse", "v1"))
