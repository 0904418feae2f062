"""Requests for every route. A test fails if a new route has no line here."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class Example:
    """One request; if ``pages`` is true, all its pages are read."""

    method: str
    path: str
    body: Any = field(default=None)
    pages: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.body or ''}"


Commits = Mapping[str, str]
QUERIES = (
    "where are failed jobs retried later", "retry_later", "ZanzibarRetrier", "xylophone", "quagmire pages",
    "kumquat_step_3", "step value", "zanzibr", "xylofone", "retry repo:vault", "retry -repo:vault",
    "retry path:secret/", "symbol:XylophoneKeys", "symbol:retry_later", '"zanzibar job"', "src/retry.py",
    "secret/keys.py", "nothing that anybody wrote",
)  # fmt: skip
FILTERS = (
    {}, {"repo": "core"}, {"repo": "vault"}, {"repo": "nowhere"}, {"repo": ["core", "vault"]}, {"repo": "vault-new"},
    {"repo": "team-new"}, {"repo": "team-none"}, {"path": "secret/"}, {"path": "kumquat.py"}, {"path": ["src/", "!x"]},
    {"language": "python"}, {"symbol_name": "XylophoneKeys"}, {"qualified_name": "ZanzibarRetrier.retry_later"},
    {"calls": "retry_later"}, {"defines": "kumquat_step_1"}, {"kind_of_file": "docs"},
)  # fmt: skip
VERSIONS = (
    {"branch": "dev"}, {"branch": "zanzibar-branch"}, {"branch": "nope"}, {"ref": "v1"}, {"ref": "refs/heads/dev"},
    {"ref": ["main", "zanzibar-branch"]}, {"ref": "pull/1"}, {"ref": "workspace:/zanzibar"},
    {"branch": ["main", "dev"]},
)  # fmt: skip


def _search(query: str, path: str = "/search-code", **fields: Any) -> Example:
    return Example("POST", path, {"query": query, **fields})


def _searches(commits: Commits) -> Iterator[Example]:
    for query, filters in product(QUERIES, FILTERS):
        yield _search(query, filters=filters)
    for query in QUERIES:
        yield _search(query, filters={"type": "commit", "repo": ["core", "site"]}, explain=True)
        yield _search(query, filters={"type": "diff"}, explain=True)
        yield _search(query, filters={"type": ["commit", "diff"], "author": "a", "ref": "dev"})
    for query in QUERIES:
        yield _search(query, explain=True, top_k=50)
        yield Example("POST", "/search-code", {"query": query, "top_k": 5}, pages=True)
    yield Example("POST", "/search-code", {"query": "step value", "top_k": 3, "max_per_file": 50}, pages=True)
    for repo, version in product((None, "core", "vault", "nowhere"), VERSIONS):
        yield _search("retry", filters={"repo": repo, **version})
        yield _search("retry", "/search-code?index=true", filters={"repo": repo, **version}, wait_ms=0)
    for commit in commits.values():
        for text in (commit, commit[:7], commit[:12]):
            yield _search("retry", filters={"commit": text})
            yield _search("retry", filters={"commit": text, "repo": "core"})
            yield _search("retry", filters={"ref": text, "repo": "vault"})
            yield _search("retry", filters={"repo": "core"}, min_commit=text, wait_ms=0)
            for repo in ("core", "vault"):
                filters = {"repo": repo}
                yield _search("retry", "/search-code?index=true", filters=filters, min_commit=text, wait_ms=0)
            yield _search("retry", filters={"repo": "vault"}, min_commit=text, wait_ms=0)
    yield _search("retry", filters={"commit": "1234567"})
    yield _search("retry", min_commit="1234567", wait_ms=0)
    for repos in (
        [{"name": "core"}], [{"name": "vault"}], [{"name": "core", "versionSpecifier": "dev"}, {"name": "vault"}],
        [{"originUri": "https://git.example/zanzibar/new"}], [{"originUri": "https://git.example/team/new"}],
        [{"checkoutPath": "/zanzibar"}], [{"name": "core", "versionSpecifier": "workspace"}],
    ):  # fmt: skip
        yield _search("retry", repos=repos)
        yield _search("retry", "/search-code?index=true", repos=repos, wait_ms=0)
    for body in (None, {}, [], {"query": ""}, {"query": "x", "cursor": "zanzibar"}, {"query": "x", "nonsense": 1}):
        yield Example("POST", "/search-code", body)
    yield Example("POST", "/search-code?index=zanzibar", {"query": "x"})


def _comparisons(commits: Commits) -> Iterator[Example]:
    ends = ("main", "dev", "v1", "zanzibar-branch", "nope", commits["core/main"][:12], commits["vault/dev"])
    for (before, after), filters in product(product(ends, ends), ({}, {"repo": "core"}, {"repo": "vault"})):
        yield _search("retry step", "/diff-search", **{"from": before, "to": after, "filters": filters, "all": True})
        ends_and_filters = {"from": before, "to": after, "filters": filters}
        yield _search("retry step", "/diff-search?index=true", **ends_and_filters, wait_ms=0)
    for dots, filters in product(("..", "..."), ({}, {"repo": "core"}, {"repo": "vault"})):
        for versions in ("main{}dev", "{}dev", "v1{}main", "main{}zanzibar-branch", "{}" + commits["vault/dev"]):
            named = {"range": versions.format(dots), "filters": filters}
            yield _search("retry step", "/diff-search", **named)
            yield _search("retry step", "/diff-search?index=true", **named, wait_ms=0)
    for number in (7, 8):
        yield _search("retry step", "/diff-search", pull=number)
        yield _search("retry step", "/diff-search", pull=number, filters={"repo": "vault"})
    yield Example("POST", "/diff-search", {"query": "x"})


def _symbol_histories(commits: Commits) -> Iterator[Example]:
    names = ("retry_later", "ZanzibarRetrier.retry_later", "XylophoneKeys", "kumquat_step_1", "page", "nobody_wrote_it")
    filters = ("", "&repo=core", "&repo=vault", "&path=secret/", "&language=python", "&branch=dev", "&limit=1",
               "&branch=zanzibar-branch", "&ref=main&ref=dev", f"&commit={commits['core/main'][:12]}",
               f"&commit={commits['vault/dev']}", "&cursor=zanzibar")  # fmt: skip
    for name, asked in product(names, filters):
        yield Example("GET", f"/symbols/history?name={name}{asked}")
    for asked in ("", "?name=", "?name=1", "?name=load&zanzibar=1"):
        yield Example("GET", f"/symbols/history{asked}")


def _jobs(_: Commits) -> Iterator[Example]:
    for query in ("", "?state=failed", "?state=queued&state=running", "?repo=core", "?repo=vault", "?repo=nowhere",
                  "?limit=1", "?limit=0", "?zanzibar=1"):  # fmt: skip
        yield Example("GET", f"/jobs{query}")


def _job_ids() -> Iterator[str]:
    names = ((1, "core"), (2, "core"), (3, "site"), (4, "core"), (5, "team-new"), (6, "vault"), (7, "vault"), (8, "no"))
    for number, repo in names:
        yield f"{repo} {number}".encode().hex()[:32].ljust(32, "0")


def _each_job(path: str, method: str) -> Callable[[Commits], Iterator[Example]]:
    return lambda _: (Example(method, path.format(job)) for job in (*_job_ids(), "nope"))


def _adding(_: Commits) -> Iterator[Example]:
    origins = (*(f"https://git.example/{owner}/new" for owner in ("zanzibar", "team", "other")), "/zanzibar")
    for origin, name in product(origins, (None, "vault", "vault-new", "core", "team-other", "team-new")):
        yield Example("POST", "/repos", {"origin": origin, "name": name})
    yield Example("POST", "/repos", {"origin": "https://git.example/team/new", "ref": "dev"})
    yield Example("POST", "/repos", {})


def _symbol_versions(_: Commits) -> Iterator[Example]:
    names = ("retry_later", "Retrier.retry_later", "XylophoneKeys", "ZanzibarRetrier", "step_3", "nowhere")
    for name in names:
        for asked in ("", "&repo=core", "&repo=vault", "&ref=main", "&ref=feature/*", "&path=secret/**"):
            yield Example("GET", f"/symbols/versions?name={name}{asked}")
    yield Example("GET", "/symbols/versions?repo=vault")


_NAMES = ("retry_later", "ZanzibarRetrier.retry_later", "XylophoneKeys", "kumquat_step_1", "page", "nobody_wrote_it")


def _definitions(_: Commits) -> Iterator[Example]:
    for name in _NAMES:
        for asked in ("", "&repo=core", "&repo=vault", "&ref=main", "&ref=*", "&path=secret/**", "&limit=1"):
            yield Example("GET", f"/symbols?name={name}{asked}")
    yield Example("GET", "/symbols?repo=vault")


def _edges(commits: Commits) -> Iterator[Example]:
    filters = ({}, {"repo": "core"}, {"repo": "vault"}, {"path": "secret/"}, {"branch": "zanzibar-branch"},
               {"commit": commits["core/main"][:12]}, {"commit": commits["vault/dev"]})  # fmt: skip
    names = (*_NAMES, "src/retry.py", "secret/keys.py", "keys.py", "README.md")
    for name, asked, direction in product(names, filters, ("in", "out", "both")):
        yield Example("POST", "/graph", {"name": name, "filters": asked, "direction": direction, "min_confidence": 0})
    for name in names:
        yield Example("POST", "/graph", {"name": name, "direction": "both", "depth": 3, "limit": 2})
    for body in (None, {}, {"name": "x", "kinds": ["zanzibar"]}, {"chunk_id": "zanzibar"}):
        yield Example("POST", "/graph", body)


def _plain(method: str, *paths: str) -> Callable[[Commits], Iterator[Example]]:
    return lambda _: (Example(method, path) for path in paths)


EXAMPLES: Mapping[str, Callable[[Commits], Iterator[Example]]] = MappingProxyType(
    {
        "GET /repos": _plain("GET", "/repos", "/repos?zanzibar=1"),
        "GET /jobs": _jobs,
        "GET /jobs/<job_id>": _each_job("/jobs/{}", "GET"),
        "GET /deliveries": _plain("GET", "/deliveries", "/deliveries?limit=1"),
        "POST /search-code": _searches,
        "POST /diff-search": _comparisons,
        "GET /symbols": _definitions,
        "POST /graph": _edges,
        "GET /symbols/versions": _symbol_versions,
        "GET /symbols/history": _symbol_histories,
        "POST /repos": _adding,
        "POST /jobs/<job_id>/retry": _each_job("/jobs/{}/retry", "POST"),
        "POST /jobs/<job_id>/cancel": _each_job("/jobs/{}/cancel", "POST"),
        "DELETE /repos/<name>": _plain("DELETE", "/repos/core", "/repos/vault", "/repos/vault-new", "/repos/nowhere"),
        "GET /healthz": _plain("GET", "/healthz"),
        "GET /readyz": _plain("GET", "/readyz"),
        "GET /openapi.json": _plain("GET", "/openapi.json"),
        "GET /metrics": _plain("GET", "/metrics"),
    }
)
"""Keyed by route as in ``admission.NEEDS``; routes that change something come after routes that only read."""
