"""Downloads files from a Maven repository with jgo, in pure Python: neither Java nor Maven is needed.

jgo trusts its cache, so a failed download must leave no file behind. The caller must check the file's contents.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codequarry.shared.errors import CodequarryError

TIMEOUT_SECONDS = 60
ATTEMPTS = 3
# `requests`, which jgo uses, reads only the first two; companies with their own CA often set the others.
CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "PIP_CERT")
INSTALL_HINT = "pip install 'codequarry[node]'"


class MavenMissing(CodequarryError):
    """jgo is not installed."""


class MavenUnreachable(CodequarryError):
    """The file is not on this machine and can't be downloaded; the message gives only the kind of failure."""


@dataclass(frozen=True, slots=True)
class Coordinate:
    """The coordinates of a file in a Maven repository."""

    group: str
    name: str
    version: str
    packaging: str = "jar"

    @property
    def filename(self) -> str:
        """The file's name in the repository."""
        return f"{self.name}-{self.version}.{self.packaging}"

    @property
    def place(self) -> Path:
        """The file's path below the repository's root."""
        return Path(*self.group.split("."), self.name, self.version, self.filename)


def local_repository() -> Path:
    """Return Maven's own folder on this machine; raise MavenMissing if jgo is not installed."""
    try:
        from jgo.constants import default_maven_repo
    except ImportError as error:
        raise MavenMissing(INSTALL_HINT) from error
    return Path(default_maven_repo())


class Downloads:
    """Downloads into one folder, from the default repository or a mirror of it. Thread-safe."""

    def __init__(self, folder: Path | None = None, mirror: str | None = None) -> None:
        """Download into ``folder`` (Maven's own if None); raise MavenMissing if jgo is not installed."""
        folder = folder or local_repository()
        from jgo.maven import MavenContext

        remote = {"mirror": mirror.rstrip("/")} if mirror else None
        self._context = MavenContext(_resolver(), folder, [], remote, timeout=TIMEOUT_SECONDS)

    def fetch(self, wanted: Coordinate) -> Path:
        """Return the local file, downloading it if missing; raise MavenUnreachable if all attempts fail."""
        import requests
        import stamina

        component = self._context.project(wanted.group, wanted.name).at_version(wanted.version)
        try:
            for attempt in stamina.retry_context(requests.RequestException, attempts=ATTEMPTS, wait_initial=0.5):
                with attempt:
                    path = Path(component.artifact(packaging=wanted.packaging).resolve())
        # jgo raises RuntimeError if no repository has the file.
        except (requests.RequestException, RuntimeError) as error:
            raise MavenUnreachable(type(error).__name__) from error
        return path


def _resolver() -> Any:  # noqa: ANN401 - jgo's types are loose
    """Return jgo's resolver, modified to remove partial downloads."""
    from jgo.maven import PythonResolver

    class WholeFiles(PythonResolver):
        def download(self, artifact: Any) -> Path | None:  # noqa: ANN401
            try:
                path: Path | None = super().download(artifact)
            except BaseException:
                artifact.cached_path.unlink(missing_ok=True)
                raise
            return path

    return WholeFiles()


@contextmanager
def ca_from_environment() -> Iterator[None]:
    """Let ``requests`` use the CA file that the environment names for other programs."""
    named = next((os.environ[name] for name in CA_VARIABLES if os.environ.get(name)), None)
    before = os.environ.get(CA_VARIABLES[0])
    if named is None or before:
        yield
        return
    os.environ[CA_VARIABLES[0]] = named
    try:
        yield
    finally:
        del os.environ[CA_VARIABLES[0]]


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
