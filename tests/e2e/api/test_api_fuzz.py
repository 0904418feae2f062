"""The API description is true: what it allows is answered as described, and what it forbids is refused."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
import schemathesis

# Loaded now and not by the first test, because pytest parses its source. In Python 3.11 that fails if another thread
# parses at the same time (cpython issue 106905).
import schemathesis.specs.openapi.schemas
import schemathesis.transport.wsgi
from hypothesis import HealthCheck, given
from hypothesis import settings as generated
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from codequarry.search_api.http.app import create_app
from codequarry.shared.access.grants import SCOPES, Grant
from codequarry.shared.access.key_list import add_key
from codequarry.shared.access.keys import new_key
from codequarry.shared.jobs.job import Job, JobRequest
from codequarry.shared.jobs.job_list import submit
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.model import PathGlobs
from codequarry.shared.store.port import Store


def no_fault_of_the_service(_: Any, response: Any, case: Any) -> None:
    """Fail on status 500. 504 (the commit did not arrive) and 501 (no indexer) are described answers."""
    assert response.status_code != 500, case.as_curl_command()


CHECKS = [
    no_fault_of_the_service,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
OPERATIONS = [
    ("POST", "/search-code"),
    ("POST", "/diff-search"),
    ("GET", "/symbols"),
    ("POST", "/graph"),
    ("GET", "/symbols/versions"),
    ("GET", "/symbols/history"),
    ("GET", "/repos"),
    ("POST", "/repos"),
    ("DELETE", "/repos/{name}"),
    ("GET", "/jobs"),
    ("GET", "/jobs/{job_id}"),
    ("POST", "/jobs/{job_id}/retry"),
    ("POST", "/jobs/{job_id}/cancel"),
    ("POST", "/webhooks/github"),
    ("POST", "/webhooks/gitlab"),
    ("POST", "/webhooks/gitea"),
    ("POST", "/webhooks/generic"),
    ("GET", "/deliveries"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
]


NO_KEY: Mapping[str, str] = MappingProxyType({})


class Waiting:
    """Accepts jobs that no worker ever runs, so that nothing is fetched from made-up origins."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def submit(self, request: JobRequest, deadline: Deadline | None = None) -> Job:
        return submit(self._store, request)[0]

    def wake(self, job: Job) -> None:
        pass


def roomy(settings: Any) -> Any:
    """Return settings that accept long bodies, so that generated requests are refused for content, not size."""
    return settings.model_copy(update={"api": settings.api.model_copy(update={"max_body_bytes": 2_000_000})})


@pytest.fixture(scope="module")
def api(settings: Any, store: Store, embedder: Any, indexed: Any) -> Any:
    """Return the schema served by an application that accepts jobs."""
    app = create_app(roomy(settings), store, embedder, lambda _: Waiting(store))
    return schemathesis.openapi.from_wsgi("/openapi.json", app)


def fuzz(
    api: Any, method: str, path: str, mode: GenerationMode, headers: Mapping[str, str] = NO_KEY, examples: int = 40
) -> int:
    """Send generated requests, the same in every run, and return their number."""
    sent = 0

    @generated(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=api[path][method].as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        nonlocal sent
        sent += 1
        case.call_and_validate(checks=CHECKS, headers=dict(headers))

    send()
    return sent


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_allowed_requests_are_answered_as_described(api: Any, method: str, path: str) -> None:
    assert fuzz(api, method, path, GenerationMode.POSITIVE) > 0


@pytest.mark.parametrize("path", ["/search-code", "/diff-search", "/repos"])
def test_forbidden_requests_are_refused(api: Any, path: str) -> None:
    assert fuzz(api, "POST", path, GenerationMode.NEGATIVE) > 10


@pytest.fixture(scope="module")
def keys(store: Store, api: Any) -> dict[str, dict[str, str]]:
    """Return headers without a key, of an unknown key, and of a key of each scope that sees one repository in part."""
    headers: dict[str, dict[str, str]] = {"none": {}, "unknown": {"Authorization": "Bearer cq_000000000000_x"}}
    for scope in SCOPES:
        key, token = new_key(scope, [scope], [Grant("core", PathGlobs(("src/",)))])
        add_key(store, key)
        headers[scope] = {"Authorization": f"Bearer {token}"}
    return headers


@pytest.fixture(scope="module")
def guarded(settings: Any, store: Store, embedder: Any, keys: Any) -> Any:
    """Return the schema of a service with keys."""
    app = create_app(roomy(settings), store, embedder, lambda _: Waiting(store))
    return schemathesis.openapi.from_wsgi("/openapi.json", app)


@pytest.mark.parametrize("who", ["none", "unknown", *SCOPES])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_requests_with_any_key_or_none_are_answered_as_described(
    guarded: Any, keys: Any, method: str, path: str, who: str
) -> None:
    assert fuzz(guarded, method, path, GenerationMode.POSITIVE, keys[who], examples=6) > 0


def test_every_described_operation_is_tested(api: Any) -> None:
    described = {(result.ok().method.upper(), result.ok().path) for result in api.get_all_operations()}
    assert described == set(OPERATIONS)
