"""`?index=true` brings outdated versions up to date, waits for `min_commit`, and works for comparisons."""

import re
from dataclasses import replace

import pytest

from codequarry.cli.session.embedded_worker import LocalIndexer
from codequarry.search_api.http.app import create_app
from codequarry.shared.catalog.repositories import read_repository, save_repository
from codequarry.shared.jobs.job_list import list_jobs
from codequarry.shared.timestamps import from_now
from codequarry.shared.versions.refs import Ref

WAIT_MS = 60_000


@pytest.fixture
def repository(place, index, request):
    """Return an indexed repository of this test's own."""
    name = re.sub(r"\W+", "-", request.node.name)[-60:].strip("-")
    made = place.repository(name, {"a.py": "def first():\n    return 1\n"})
    index(made.folder)
    return made


@pytest.fixture
def name(repository):
    return repository.folder.name


@pytest.fixture(scope="module")
def worker(settings, store, embedder):
    """Yield a client of a service that indexes."""
    made = []

    def make(backend):
        made.append(LocalIndexer(backend))
        return made[-1]

    yield create_app(settings, store, embedder, make_indexer=make).test_client()
    made[0].close()


def ask(client, name, query="second", index="true", **fields):
    filters = {"repo": name, **fields.pop("filters", {})}
    wait = {"wait_ms": WAIT_MS} if index == "true" or "min_commit" in fields else {}
    return client.post(f"/search-code?index={index}", json={"query": query, "filters": filters, **wait, **fields})


def compare(client, name, before, after, index="?index=true", **fields):
    body = {"query": "second", "from": before, "to": after, "filters": {"repo": name}, **fields}
    return client.post(f"/diff-search{index}", json=body)


def found(response):
    """Return the commit of each path that a search found."""
    return {hit["path"]: hit["commit"] for hit in response.get_json()["results"]}


def second(repository):
    return repository.commit({"b.py": "def second():\n    return 2\n"})


def make_remote(store, name, **fields):
    """Write the origin as a URL: answers then can't look into its folder, but jobs can fetch it."""
    known = read_repository(store, name)
    save_repository(store, replace(known, origin=f"file://{known.origin}", **fields))


def test_an_outdated_default_branch_is_brought_up_to_date(worker, repository, name):
    """Even if a search has looked at the origin just before the commit."""
    assert "b.py" not in found(ask(worker, name, index="false"))
    commit = second(repository)
    response = ask(worker, name)
    assert found(response)["b.py"] == commit
    answer = response.get_json()
    assert (answer["freshness"][0]["commits_behind"], answer["degraded"]) == (0, [])


def test_an_outdated_named_branch_is_brought_up_to_date_and_the_default_branch_stays(worker, repository, name, index):
    repository.git("branch", "dev")
    index(repository.folder, ref=Ref("branch", "dev"))
    repository.git("checkout", "--quiet", "dev")
    commit = second(repository)
    assert found(ask(worker, name, filters={"branch": "dev"}))["b.py"] == commit
    answer = ask(worker, name, query="first", filters={"branch": "main"}).get_json()
    assert [entry["ref"] for entry in answer["freshness"]] == ["main"]


def test_the_published_default_branch_is_refreshed_while_another_is_checked_out(worker, repository, name, store):
    commit = second(repository)
    repository.git("checkout", "--quiet", "-b", "topic")
    response = ask(worker, name)
    assert found(response)["b.py"] == commit
    assert response.get_json()["freshness"][0]["ref"] == "main"
    assert read_repository(store, name).follows_head


def test_a_current_version_makes_no_job(worker, repository, name, store):
    before = len(list_jobs(store))
    assert ask(worker, name, query="first").status_code == 200
    assert len(list_jobs(store)) == before


def test_a_search_over_everything_refreshes_nothing(worker, repository, name, store):
    second(repository)
    before = len(list_jobs(store))
    response = worker.post("/search-code?index=true", json={"query": "second", "wait_ms": 0})
    assert response.status_code == 200
    assert len(list_jobs(store)) == before


def test_a_refresh_that_takes_too_long_is_a_job_to_follow_and_the_next_search_joins_it(worker, repository, name, store):
    second(repository)
    first = ask(worker, name, wait_ms=0)
    assert first.status_code == 202
    assert ask(worker, name).status_code == 200
    jobs = [job for job in list_jobs(store) if job.repo == name]
    assert [job.id for job in jobs] == [first.get_json()["job_id"]]


def test_a_commit_that_nobody_has_seen_yet_is_fetched(worker, repository, name, store):
    make_remote(store, name)
    commit = second(repository)
    assert "b.py" not in found(ask(worker, name))
    assert found(ask(worker, name, min_commit=commit[:10]))["b.py"] == commit


def test_a_commit_that_the_version_does_not_have_is_a_504_that_says_so(worker, repository, name):
    repository.git("checkout", "--quiet", "-b", "elsewhere")
    commit = second(repository)
    response = ask(worker, name, min_commit=commit, filters={"branch": "main"})
    assert response.status_code == 504
    problem = response.get_json()
    assert f"commit {commit} is not in the history of main" in problem["detail"]
    assert problem["freshness"][0]["ref"] == "main"


def test_a_failed_refresh_is_told_with_the_old_answer(worker, repository, name, store):
    make_remote(store, name, head_commit="f" * 40, fetched_at=from_now(1))
    repository.folder.rename(repository.folder.with_name("moved-away"))
    response = ask(worker, name, query="first")
    assert response.status_code == 200, response.text
    answer = response.get_json()
    assert answer["results"][0]["path"] == "a.py"
    assert answer["degraded"][0].startswith(f"indexing: main of {name} could not be brought up to date: ")
    response = ask(worker, name, query="first", min_commit="f" * 40)
    assert response.status_code == 504
    assert "indexing it failed" in response.get_json()["detail"]


def test_both_versions_of_a_comparison_are_indexed(worker, repository, name):
    repository.git("tag", "v1")
    repository.git("checkout", "--quiet", "-b", "dev")
    second(repository)
    response = compare(worker, name, "v1", "dev", wait_ms=WAIT_MS)
    assert response.status_code == 200, response.text
    assert [(part["change"], part["path"]) for part in response.get_json()["results"]] == [("added", "b.py")]


def test_a_comparison_that_takes_too_long_is_a_job_to_follow(worker, repository, name):
    repository.git("tag", "v1")
    response = compare(worker, name, "main", "v1", wait_ms=0)
    assert response.status_code == 202
    assert response.headers["Location"] == f"/jobs/{response.get_json()['job_id']}"


@pytest.fixture
def forked(repository):
    """Let `dev`, also pull request 7, and `other` branch off before a commit of `main`, which is not indexed yet."""
    second(repository)
    for branch in ("dev", "other"):
        repository.git("checkout", "--quiet", "-b", branch, "main")
        repository.commit({f"{branch}.py": f"def second_of_{branch}():\n    return 2\n"})
    repository.git("update-ref", "refs/pull/7/head", "dev")
    repository.git("checkout", "--quiet", "main")
    repository.commit({"c.py": "def third():\n    return 'second'\n"})
    return repository


@pytest.mark.parametrize("versions", [{"range": "main...dev"}, {"range": "...dev"}, {"pull": 7}])
def test_the_merge_base_of_a_comparison_is_indexed_too(worker, forked, name, versions):
    """The branch, main at its newest commit, and their merge base."""
    body = {"query": "second", "filters": {"repo": name}, **versions}
    response = worker.post("/diff-search?index=true", json={**body, "wait_ms": WAIT_MS})
    assert response.status_code == 200, response.text
    answer = response.get_json()
    assert [(part["change"], part["path"]) for part in answer["results"]] == [("added", "dev.py")]
    base = forked.git("merge-base", "main", "dev")
    assert [entry["commit"] for entry in answer["merge_bases"]] == [base] == [answer["freshness"][0]["indexed_commit"]]
    assert worker.post("/diff-search", json=body).get_json()["results"] == answer["results"]


def test_an_unknown_merge_base_is_found_by_a_job(worker, client, forked, name, index, store):
    for branch in ("dev", "other"):
        index(forked.folder, ref=Ref("branch", branch))
    body = {"query": "second", "range": "dev...other", "filters": {"repo": name}}
    missing = worker.post("/diff-search", json=body)
    assert missing.status_code == 404
    assert missing.get_json()["detail"].endswith("is not known yet; to find it, repeat the request with ?index=true")
    without = client.post("/diff-search", json=body).get_json()["detail"]
    assert "which can run: codequarry diff-search QUERY" in without
    response = worker.post("/diff-search?index=true", json={**body, "wait_ms": WAIT_MS})
    assert response.status_code == 200, response.text
    assert [(part["change"], part["path"]) for part in response.get_json()["results"]] == [("added", "other.py")]
    found = [job for job in list_jobs(store) if job.repo == name and job.kind == "merge-base"]
    assert [(job.state, job.commit) for job in found] == [("done", forked.git("merge-base", "dev", "other"))]


def test_a_comparison_waits_only_if_it_may_index(worker, client, repository, name):
    refused = compare(worker, name, "main", "v1", index="", wait_ms=5)
    assert refused.status_code == 400 and "?index=true" in refused.get_json()["detail"]
    missing = compare(worker, name, "main", "v1", index="")
    assert missing.status_code == 404
    assert missing.get_json()["detail"].endswith("; to index it, repeat the request with ?index=true")
    without = compare(client, name, "main", "v1", index="")
    assert "?index=true" not in without.get_json()["detail"]
    assert f"codequarry index {repository.folder} --branch v1 or --tag v1" in without.get_json()["detail"]


def test_a_version_in_several_repositories_is_indexed_after_one_is_named(worker, repository, indexed):
    response = worker.post("/search-code", json={"query": "x", "filters": {"branch": "nowhere"}})
    assert "name one repository in filters.repo" in response.get_json()["detail"]
