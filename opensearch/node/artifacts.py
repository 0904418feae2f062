"""A node's artifacts, pinned by version and SHA-256, and how they are fetched."""

import hashlib
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.maven import (
    Coordinate,
    Downloads,
    MavenMissing,
    MavenUnreachable,
    ca_from_environment,
    local_repository,
    sha256,
)

# Registries answer from a nearby cache: more connections gain nothing and look like an attack.
PARALLEL_DOWNLOADS = 4
INSTALL_HINT = "the local OpenSearch node needs two more packages: pip install 'codequarry[node]'"


class ArtifactsUnreachable(StoreUnavailable):
    """Parts of the node are not on this machine and cannot be downloaded."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """One pinned file; ``folder`` is where it goes below the node's home."""

    folder: str
    coordinate: Coordinate
    sha256: str

    @property
    def filename(self) -> str:
        """The file's name in a Maven repository."""
        return self.coordinate.filename


@dataclass(frozen=True, slots=True)
class Pins:
    """The contents of ``artifacts.json``: the server's version, its artifacts, and the class of each module."""

    version: str
    artifacts: tuple[Artifact, ...]
    modules: Mapping[str, str]
    digest: str


def read_pins() -> Pins:
    """Read the pinned artifacts."""
    text = (resources.files("codequarry.opensearch.node") / "artifacts.json").read_text("utf-8")
    body = json.loads(text)
    artifacts = tuple(
        _artifact(folder, coordinate, digest)
        for folder, files in body["folders"].items()
        for coordinate, digest in files.items()
    )
    return Pins(body["opensearch"], artifacts, body["modules"], hashlib.sha256(text.encode()).hexdigest())


def _artifact(folder: str, coordinate: str, digest: str) -> Artifact:
    """Parse Maven's ``group:name:version`` or ``group:name:packaging:version``."""
    group, name, *packaging, version = coordinate.split(":")
    return Artifact(folder, Coordinate(group, name, version, packaging[0] if packaging else "jar"), digest)


def fetch(
    artifacts: tuple[Artifact, ...], cache: Path, repository: str | None, say: Callable[[str], None]
) -> dict[Artifact, Path]:
    """Return each artifact's local file; download missing artifacts into ``cache``, from a Maven mirror if given."""
    try:
        folder = local_repository()
    except MavenMissing as error:
        raise StoreUnavailable(INSTALL_HINT) from error
    found = {artifact: path for artifact in artifacts if (path := _known(artifact, folder))}
    missing = [artifact for artifact in artifacts if artifact not in found]
    if missing:
        say(f"downloading {len(missing)} of {len(artifacts)} parts of the OpenSearch node")
        found.update(_download_all(missing, Downloads(cache, repository)))
    return found


def _known(artifact: Artifact, maven_folder: Path) -> Path | None:
    path = maven_folder / artifact.coordinate.place
    return path if path.is_file() and sha256(path) == artifact.sha256 else None


def _download_all(missing: list[Artifact], downloads: Downloads) -> dict[Artifact, Path]:
    with ca_from_environment(), ThreadPoolExecutor(PARALLEL_DOWNLOADS) as pool:
        futures = {artifact: pool.submit(_download, downloads, artifact) for artifact in missing}
        try:
            return {artifact: future.result() for artifact, future in futures.items()}
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _download(downloads: Downloads, artifact: Artifact) -> Path:
    try:
        path = downloads.fetch(artifact.coordinate)
    except MavenUnreachable as error:
        raise ArtifactsUnreachable(
            f"cannot download {artifact.filename}, a part of the OpenSearch node ({error}); check the "
            "network, HTTPS_PROXY and REQUESTS_CA_BUNDLE, or name a Maven mirror with --repository"
        ) from error
    if (actual := sha256(path)) != artifact.sha256:
        path.unlink()
        raise StoreUnavailable(f"{artifact.filename} has the wrong SHA-256, {actual}; nothing was started")
    return path
