"""Builders that the tests of the ingest room share."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codequarry.ingest.git import Fetched, synchronise
from codequarry.ingest.origins import parse_origin
from codequarry.shared.config import GitSettings


@pytest.fixture
def fetch(tmp_path: Path) -> Callable[..., Fetched]:
    """Return a function that brings an origin into the mirrors of a scratch home."""

    def fetched(origin: str, branch: str | None = None, settings: GitSettings | None = None) -> Fetched:
        return synchronise(parse_origin(origin), branch, settings or GitSettings(), tmp_path / "home")

    return fetched


@pytest.fixture
def silent_server() -> Iterator[int]:
    """Give the port of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]
