"""The artifacts that a node is assembled from, pinned by version and SHA-256, and how they are fetched.

``jgo`` finds and downloads Maven artifacts in pure Python, so neither Java nor Maven is needed for it. It trusts what
it finds in its cache and only warns about a wrong checksum; here every file must have the pinned one.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from codequarry.shared.errors import StoreUnavailable

# A registry answers from a cache near by; more connections at once gain nothing and look like an attack.
PARALLEL_DOWNLOADS = 4
DOWNLOAD_TIMEOUT_SECONDS = 60
DOWNLOAD_ATTEMPTS = 3
# `requests`, which jgo uses, knows the first two alone; the others are as common where a company has its own CA.
CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "PIP_CERT")

INSTALL_HINT = "the local OpenSearch node needs two more packages: pip install 'codequarry[node]'"


class ArtifactsUnreachable(StoreUnavailable):
    """The parts of the node are not on this machine and can't be downloaded."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """One pinned file; ``folder`` is where it goes below the node's home."""

    folder: str
    group: str
    name: str
    version: str
    packaging: str
    sha256: str

    @property
    def filename(self) -> str:
        """The file's name in a Maven repository."""
        return f"{self.name}-{self.version}.{self.packaging}"


@dataclass(frozen=True, slots=True)
class Pins:
    """What ``artifacts.json`` says: the server's version, its artifacts, and the class of each module."""

    version: str
    artifacts: tuple[Artifact, ...]
    modules: Mapping[str, str]
    digest: str


def read_pins() -> Pins:
    """Read the pinned artifacts."""
    text = (resources.files("codequarry.opensearch.node") / "artifacts.json").read_text("utf-8")
    body = json.loads(text)
    artifacts = tuple(
        _artifact(folder, coordinate, sha256)
        for folder, files in body["folders"].items()
        for coordinate, sha256 in files.items()
    )
    return Pins(body["opensearch"], artifacts, body["modules"], hashlib.sha256(text.encode()).hexdigest())


def _artifact(folder: str, coordinate: str, sha256: str) -> Artifact:
    """Read ``group:name:version`` or ``group:name:packaging:version``, as Maven writes them."""
    group, name, *packaging, version = coordinate.split(":")
    return Artifact(folder, group, name, version, packaging[0] if packaging else "jar", sha256)


def fetch(
    artifacts: tuple[Artifact, ...], cache: Path, repository: str | None, say: Callable[[str], None]
) -> dict[Artifact, Path]:
    """Return the local file of each artifact, downloaded into ``cache`` where Maven's own folder does not have it.

    ``repository`` is the URL of a mirror; without it jgo's default one is asked.
    """
    try:
        from jgo.constants import default_maven_repo
    except ImportError as exc:
        raise StoreUnavailable(INSTALL_HINT) from exc
    found = {artifact: path for artifact in artifacts if (path := _known(artifact, default_maven_repo()))}
    missing = [artifact for artifact in artifacts if artifact not in found]
    if missing:
        say(f"downloading {len(missing)} of {len(artifacts)} parts of the OpenSearch node")
        found.update(_download_all(missing, cache, repository))
    return found


def _known(artifact: Artifact, maven_folder: Path) -> Path | None:
    path = maven_folder.joinpath(*artifact.group.split("."), artifact.name, artifact.version, artifact.filename)
    return path if path.is_file() and _sha256(path) == artifact.sha256 else None


def _download_all(missing: list[Artifact], cache: Path, repository: str | None) -> dict[Artifact, Path]:
    from jgo.maven import MavenContext

    remote = {"mirror": repository.rstrip("/")} if repository else None
    context = MavenContext(_resolver(), cache, [], remote, timeout=DOWNLOAD_TIMEOUT_SECONDS)
    with _ca_from_environment(), ThreadPoolExecutor(PARALLEL_DOWNLOADS) as pool:
        futures = {artifact: pool.submit(_download, context, artifact) for artifact in missing}
        try:
            return {artifact: future.result() for artifact, future in futures.items()}
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _download(context: Any, artifact: Artifact) -> Path:  # noqa: ANN401 - jgo's types are loose
    import requests
    import stamina

    component = context.project(artifact.group, artifact.name).at_version(artifact.version)
    try:
        for attempt in stamina.retry_context(requests.RequestException, attempts=DOWNLOAD_ATTEMPTS, wait_initial=0.5):
            with attempt:
                path = Path(component.artifact(packaging=artifact.packaging).resolve())
    except (requests.RequestException, RuntimeError) as exc:
        raise ArtifactsUnreachable(
            f"can't download {artifact.filename}, a part of the OpenSearch node ({type(exc).__name__}); check the "
            "network, HTTPS_PROXY and REQUESTS_CA_BUNDLE, or name a Maven mirror with --repository"
        ) from exc
    if (actual := _sha256(path)) != artifact.sha256:
        path.unlink()
        raise StoreUnavailable(f"{artifact.filename} was not what it should be: SHA-256 {actual}; nothing was started")
    return path


def _resolver() -> Any:  # noqa: ANN401 - jgo's types are loose
    """Return jgo's resolver, with broken downloads removed, which it would take for whole ones the next time."""
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
def _ca_from_environment() -> Iterator[None]:
    """Let ``requests`` use the CA that the environment names for other programs."""
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


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
