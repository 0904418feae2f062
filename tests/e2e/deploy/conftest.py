"""The installation that the tests of this folder share."""

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import open_store
from codequarry.shared.store.port import Store
from tests.e2e.deploy.installation import DIMENSION, Installation, until


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Start queue, service, worker and beat, and wait until they are healthy."""
    with ExitStack() as stack:
        made = Installation(tmp_path_factory.mktemp("installation"), stack)
        stack.callback(made.embeddings.server_close)
        made.start("queue")
        own = {name: {"CODEQUARRY_METRICS__PORT": str(port)} for name, port in made.metrics.items()}
        made.start("api", "--port", str(made.port), **own["api"])
        until(lambda: made.healthy("api"), "the service did not become healthy")
        for name in ("worker", "beat"):
            made.start(name, **own[name])
        for name in ("worker", "beat"):
            until(lambda: made.healthy(name), f"{name} did not become healthy")  # noqa: B023
        yield made


@pytest.fixture(scope="module")
def store(installation: Installation) -> Iterator[Store]:
    """Yield the installation's store."""
    with closing(open_store(SettingsModel(home=installation.folder / "home"), DIMENSION)) as opened:
        yield opened
