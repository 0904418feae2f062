"""Errors as callers of the API see them: without addresses of the machines behind the service."""

import pytest

from codequarry.shared.errors import EmbedderUnavailable, GitError, StoreError, StoreFull, StoreUnavailable, public


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (
            StoreUnavailable(
                "OpenSearch at http://10.1.2.3:9200, https://node-2.internal:9200 does not answer; start it"
            ),
            "OpenSearch does not answer; start it",
        ),
        (StoreFull("OpenSearch at http://[::1]:9200 has no room left"), "OpenSearch has no room left"),
        (StoreError("failed on [node-1][10.1.2.3:9300]"), "failed on [node-1](an address)"),
        (EmbedderUnavailable("http://models.internal/v1 does not answer"), "does not answer"),
        (GitError("https://example.org/x does not answer"), "https://example.org/x does not answer"),
        (StoreUnavailable("50 jobs that are at least as urgent are already waiting"), None),
    ],
)
def test_addresses_of_our_machines_are_left_out(error, shown):
    assert public(error) == (shown or str(error))
