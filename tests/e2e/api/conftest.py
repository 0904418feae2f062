"""The service in this process, over a real embedded store with small repositories indexed by the real pipeline."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codequarry.ingest.run.pipeline import IndexRequest, Workshop, index_repository
from codequarry.search_api.http.app import create_app
from codequarry.shared.embedding.factory import open_embedder
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import open_store
from codequarry.shared.store.port import Store

CORE = {
    "src/retry.py": (
        '"""Retrying what failed."""\n\nimport time\n\nMAX_ATTEMPTS = 5\n\n\n'
        "class Retrier:\n"
        '    """Calls again what raised an error."""\n\n'
        "    def retry_later(self, job, attempt: int) -> float:\n"
        '        """Schedule a failed job again, each time after a longer pause."""\n'
        "        delay = 2.0**attempt\n        time.sleep(delay)\n        return self.run(job)\n\n"
        "    def run(self, job):\n        return job()\n\n\n"
        "def flush(buffer):\n    buffer.clear()\n"
    ),
    "src/pages.go": (
        "package pages\n\n// ReadPage reads a page of the file from disk.\n"
        "func ReadPage(number int) []byte {\n\treturn disk[number*size : (number+1)*size]\n}\n\n"
        "// FreePage gives a page back.\nfunc FreePage(number int) {\n\tfree = append(free, number)\n}\n"
    ),
    "tests/test_retry.py": (
        "from src.retry import Retrier\n\n\ndef test_retry_later():\n    assert Retrier().retry_later(str, 0) == ''\n"
    ),
    "README.md": (
        "# Core\n\nRetries failed jobs and reads pages from disk.\n\n## Retry\n\nA failed job is retried later.\n"
    ),
    "settings.yaml": "retry:\n  attempts: 5\npages:\n  size: 4096\n",
    "logo.png": b"\x89PNG\r\n\x1a\n\x00\x00",
    "many.py": "".join(f"def step_{number}(value):\n    return value + {number}\n\n\n" for number in range(40)),
}
SITE = {"app.ts": "export function renderPage(title: string): string {\n  return `<h1>${title}</h1>`\n}\n"}


@pytest.fixture(scope="session")
def embedder() -> Iterator[Embedder]:
    """Yield the real default model."""
    opened = open_embedder(SettingsModel().embedding, Path("no-models"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def place(new_workspace: Callable[[], Any]) -> Any:
    """Return a workspace for the repositories and the index of one module."""
    return new_workspace()


@pytest.fixture(scope="module")
def settings(place: Any) -> SettingsModel:
    """Return settings with that workspace's data folder."""
    api = {"max_body_bytes": 50_000, "trust_loopback": True}
    return SettingsModel.model_validate({"home": place.folder / "home", "api": api})


@pytest.fixture(scope="module")
def store(settings: SettingsModel, embedder: Embedder) -> Iterator[Store]:
    """Yield the open embedded store."""
    settings.home.mkdir(parents=True)
    opened = open_store(settings, embedder.dimension)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def index(settings: SettingsModel, store: Store, embedder: Embedder) -> Callable[..., Any]:
    """Return a function that indexes a work tree."""

    def run(folder: Path, **fields: Any) -> Any:
        return index_repository(IndexRequest(str(folder), **fields), Workshop(store, embedder, settings))

    return run


@pytest.fixture(scope="module")
def indexed(place: Any, index: Callable[..., Any]) -> dict[str, Any]:
    """Index the repositories `core` and `site`, and return them."""
    repositories = {name: place.repository(name, files) for name, files in (("core", CORE), ("site", SITE))}
    for repository in repositories.values():
        index(repository.folder)
    return repositories


@pytest.fixture(scope="module")
def app(settings: SettingsModel, store: Store, embedder: Embedder) -> Any:
    """Return the application over an index that may be empty."""
    return create_app(settings, store, embedder)


@pytest.fixture(scope="module")
def client(app: Any) -> Any:
    """Return a client of the application."""
    return app.test_client()


@pytest.fixture(scope="module")
def search(client: Any) -> Callable[..., Any]:
    """Return a function that searches and returns the body of a successful answer."""

    def ask(query: str, **fields: Any) -> Any:
        response = client.post("/search-code", json={"query": query, **fields})
        assert response.status_code == 200, response.text
        return response.get_json()

    return ask


@pytest.fixture(scope="module")
def refused(client: Any) -> Callable[..., Any]:
    """Return a function that sends a request that must be refused, and returns the problem."""

    def ask(status: int, **fields: Any) -> Any:
        response = client.post("/search-code", **fields)
        assert response.status_code == status, response.text
        assert response.mimetype == "application/problem+json"
        problem = response.get_json()
        assert problem["status"] == status
        assert problem["detail"] and problem["title"] and problem["type"] and problem["request_id"]
        return problem

    return ask
