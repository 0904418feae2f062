"""The parts of a node are pinned, and only files with the pinned checksum are used."""

import gc
import hashlib
import re
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import stamina
import trustme

from codequarry.opensearch.node.artifacts import Artifact, ArtifactsUnreachable, fetch, read_pins
from codequarry.shared.errors import StoreUnavailable
from codequarry.shared.maven import Coordinate

CONTENT = b"a jar"
PATH = "/org/example/thing/1.0/thing-1.0.jar"


# jgo does not close the connection of a refused download.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def empty_maven_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("M2_REPO", str(tmp_path / "m2"))
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "PIP_CERT"):
        monkeypatch.delenv(name, raising=False)
    stamina.set_testing(True)
    yield tmp_path / "m2"
    stamina.set_testing(False)
    gc.collect()


def artifact(content: bytes = CONTENT) -> Artifact:
    return Artifact("lib", Coordinate("org.example", "thing", "1.0"), hashlib.sha256(content).hexdigest())


def get(wanted: Artifact, cache: Path, repository: str) -> Path:
    return fetch((wanted,), cache, repository, lambda _: None)[wanted]


def test_every_artifact_is_pinned_by_version_and_checksum() -> None:
    pins = read_pins()
    assert all(re.fullmatch(r"[0-9a-f]{64}", artifact.sha256) for artifact in pins.artifacts)
    assert {artifact.folder for artifact in pins.artifacts} == {
        "lib",
        "plugins/opensearch-knn",
        *(f"modules/{name}" for name in pins.modules),
    }
    assert [
        artifact.coordinate.packaging for artifact in pins.artifacts if artifact.coordinate.name == "opensearch-knn"
    ] == ["zip"]


def test_no_module_contains_a_jar_of_the_server() -> None:
    """The server refuses a module that contains a jar of the server itself: "jar hell"."""
    pins = read_pins()
    own = {artifact.coordinate.name for artifact in pins.artifacts if artifact.folder == "lib"}
    assert not own & {artifact.coordinate.name for artifact in pins.artifacts if artifact.folder.startswith("modules/")}


def test_an_artifact_is_downloaded_from_the_mirror(serve, tmp_path: Path) -> None:
    url = serve(lambda method, path, body: (200, {}, CONTENT) if path == PATH else (404, {}, b""))
    assert get(artifact(), tmp_path / "cache", f"{url}/").read_bytes() == CONTENT


def test_an_artifact_in_mavens_folder_is_not_downloaded(empty_maven_folder: Path, tmp_path: Path) -> None:
    known = empty_maven_folder / PATH.lstrip("/")
    known.parent.mkdir(parents=True)
    known.write_bytes(CONTENT)
    assert get(artifact(), tmp_path / "cache", "http://127.0.0.1:9") == known


def test_a_damaged_file_in_mavens_folder_is_downloaded_again(serve, empty_maven_folder: Path, tmp_path: Path) -> None:
    known = empty_maven_folder / PATH.lstrip("/")
    known.parent.mkdir(parents=True)
    known.write_bytes(CONTENT[:2])
    url = serve(lambda method, path, body: (200, {}, CONTENT) if path == PATH else (404, {}, b""))
    assert get(artifact(), tmp_path / "cache", url).read_bytes() == CONTENT


def test_a_file_with_another_checksum_is_refused_and_not_kept(serve, tmp_path: Path) -> None:
    url = serve(lambda method, path, body: (200, {}, b"something else") if path == PATH else (404, {}, b""))
    with pytest.raises(StoreUnavailable, match=r"thing-1\.0\.jar has the wrong SHA-256"):
        get(artifact(), tmp_path / "cache", url)
    assert not list((tmp_path / "cache").rglob("*.jar"))


def test_a_broken_download_leaves_no_jar_behind(serve, tmp_path: Path) -> None:
    url = serve(lambda method, path, body: (200, {"Content-Length": "999"}, CONTENT))
    with pytest.raises(ArtifactsUnreachable, match="cannot download"):
        get(artifact(), tmp_path / "cache", url)
    assert not list((tmp_path / "cache").rglob("*.jar"))


@pytest.mark.parametrize("status", [403, 404, 503])
def test_a_refusal_by_the_mirror_is_a_clear_error(serve, tmp_path: Path, status: int) -> None:
    url = serve(lambda method, path, body: (status, {}, b"no"))
    with pytest.raises(ArtifactsUnreachable, match=r"cannot download thing-1\.0\.jar.*--repository"):
        get(artifact(), tmp_path / "cache", url)


def test_a_missing_network_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ArtifactsUnreachable, match="HTTPS_PROXY"):
        get(artifact(), tmp_path / "cache", "http://127.0.0.1:9")


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "PIP_CERT"])
def test_the_ca_that_the_environment_names_is_used(
    serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    url = serve(lambda method, path, body: (200, {}, CONTENT) if path == PATH else (404, {}, b""), context)
    with pytest.raises(ArtifactsUnreachable):
        get(artifact(), tmp_path / "first", url)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv(variable, str(tmp_path / "ca.pem"))
    assert get(artifact(), tmp_path / "second", url).read_bytes() == CONTENT
