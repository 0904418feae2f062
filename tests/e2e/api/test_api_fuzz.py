"""The description of the API is true: whatever it allows is answered as it says, whatever it forbids is refused."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given
from hypothesis import settings as generated
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from codequarry.search_api.app import create_app
from codequarry.shared.job_list import submit
from codequarry.shared.jobs import Job, JobRequest
from codequarry.shared.store.port import Store

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
OPERATIONS = [
    ("POST", "/search-code"),
    ("POST", "/diff-search"),
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


class Waiting:
    """Takes jobs, and leaves them to workers of which there are none: nothing is fetched from made-up origins."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def submit(self, request: JobRequest) -> Job:
        return submit(self._store, request)[0]

    def wake(self, job: Job) -> None:
        pass


@pytest.fixture(scope="module")
def api(settings: Any, store: Store, embedder: Any, indexed: Any) -> Any:
    """Give the schema as an application serves it that takes jobs."""
    app = create_app(settings, store, embedder, lambda _: Waiting(store))
    return schemathesis.openapi.from_wsgi("/openapi.json", app)


def fuzz(api: Any, method: str, path: str, mode: GenerationMode) -> int:
    """Send generated requests, the same ones in every run, and return how many."""
    sent = 0

    @generated(
        max_examples=40,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=api[path][method].as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        nonlocal sent
        sent += 1
        case.call_and_validate(checks=CHECKS)

    send()
    return sent


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_what_the_description_allows_is_answered_as_it_says(api: Any, method: str, path: str) -> None:
    assert fuzz(api, method, path, GenerationMode.POSITIVE) > 0


@pytest.mark.parametrize("path", ["/search-code", "/diff-search", "/repos"])
def test_what_the_description_forbids_is_refused(api: Any, path: str) -> None:
    assert fuzz(api, "POST", path, GenerationMode.NEGATIVE) > 10


def test_every_operation_of_the_description_is_tried(api: Any) -> None:
    described = {(result.ok().method.upper(), result.ok().path) for result in api.get_all_operations()}
    assert described == set(OPERATIONS)
