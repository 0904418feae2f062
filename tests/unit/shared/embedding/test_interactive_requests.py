"""Queries to a server that is slow, that hangs, and that comes back."""

import time
from typing import Any

import numpy as np
import pytest

from codequarry.shared.embedding import interactive_requests, retries
from codequarry.shared.embedding.retries import Patience
from codequarry.shared.errors import EmbedderUnavailable
from codequarry.shared.liveness import pulse

SOON = 60
# Longer than any test run: who waits for it never comes back.
FOR_EVER = 100_000


@pytest.fixture(autouse=True)
def _only_signs_end_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "_known", {})
    monkeypatch.setattr(pulse, "PATIENCE_SECONDS", 0.02)
    monkeypatch.setattr(pulse, "AGAIN_SECONDS", 0.02)
    monkeypatch.setattr(pulse, "PAUSE_SECONDS", FOR_EVER)
    monkeypatch.setattr(retries, "QUERY_TIMEOUT_SECONDS", SOON)


@pytest.fixture
def _quick_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    gives_sign = interactive_requests._gives_sign
    monkeypatch.setattr(interactive_requests, "_gives_sign", lambda url, credentials, _: gives_sign(url, credentials, 0.3))


def until_it_answers(ask: Any) -> Any:
    deadline = time.monotonic() + SOON
    while True:
        try:
            return ask()
        except EmbedderUnavailable:
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.mark.usefixtures("_quick_signs")
def test_a_server_that_hangs_is_given_up_left_alone_and_asked_again_when_it_gives_a_sign(
    server: Any, connect: Any
) -> None:
    embedder = connect(max_retries=6, timeout_seconds=FOR_EVER)
    server.talks.clear()
    with pytest.raises(EmbedderUnavailable, match="shows no sign of life"):
        embedder.embed_query("one")
    with pytest.raises(EmbedderUnavailable, match="did not answer a moment ago"):
        connect(timeout_seconds=FOR_EVER).embed_query("two")
    server.talks.set()
    assert until_it_answers(lambda: embedder.embed_query("three")).shape == (8,)
    assert ["two"] not in [request["input"] for request in server.requests]


def test_a_server_that_is_slow_but_shows_life_is_waited_for(server: Any, connect: Any) -> None:
    def slow(body: dict[str, Any]) -> Any:
        deadline = time.monotonic() + SOON
        while server.signs < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        return server.Reply(200, server.right(body))

    server.script.append(slow)
    assert np.isfinite(connect(timeout_seconds=FOR_EVER).embed_query("one")).all()
    assert server.signs >= 5


def test_a_query_ends_at_its_limit_also_where_there_is_life_and_is_not_repeated(server: Any, connect: Any) -> None:
    server.script.extend([server.Reply(hang=True)] * 2)
    with pytest.raises(EmbedderUnavailable, match=r"did not answer within 0\.2 s"):
        connect(Patience(retries=1, timeout=0.2, first_wait=0.0, jitter=0.0)).embed_query("one")
    assert len(server.requests) == 1


@pytest.mark.usefixtures("_quick_signs")
def test_a_dimension_that_somebody_waits_for_is_not_waited_for_longer_than_a_query(server: Any, connect: Any) -> None:
    server.talks.clear()
    with pytest.raises(EmbedderUnavailable, match="shows no sign of life"):
        connect(max_retries=6, timeout_seconds=FOR_EVER, interactive_requests=True).dimension  # noqa: B018 - it asks the server
