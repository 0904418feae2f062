"""Fixtures shared by the tests of ingest."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codequarry.ingest.git.fetch import Fetched
from codequarry.ingest.git.fetch import fetch as fetch_version
from codequarry.ingest.git.mirrors import open_access
from codequarry.ingest.git.origins import parse_origin
from codequarry.shared.settings.git import GitSettings
from codequarry.shared.versions.refs import Ref


@pytest.fixture
def fetch(tmp_path: Path) -> Callable[..., Fetched]:
    """Return a function that fetches an origin into the mirrors of a temporary home."""

    def fetched(origin: str, branch: str | Ref | None = None, settings: GitSettings | None = None) -> Fetched:
        ref = Ref("branch", branch) if isinstance(branch, str) else branch
        return fetch_version(open_access(parse_origin(origin), settings or GitSettings(), tmp_path / "home"), ref)

    return fetched


@pytest.fixture
def silent_server() -> Iterator[int]:
    """Yield the port of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]
