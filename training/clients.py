"""Packages by the ordinary client of each registry, as the machine has it set up: pip, npm, cargo, go, jgo, apt-get."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from training.packages import Package, Registry
from training.poms import parent_of

# A large archive over a slow line.
TIMEOUT_SECONDS = 600
# Licences are inherited; no project has more ancestors than this.
_MOST_PARENTS = 6
# Many packages have one ancestor, and jgo fails where two threads bring the same file.
_ANCESTORS = threading.Lock()


class NotFetched(Exception):
    """A package can't be had; the message says why, in the client's own words."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A package on this machine. ``metadata`` is what its registry says beside the archive, where it does (Maven)."""

    package: Package
    archive: Path
    metadata: tuple[Path, ...] = ()


def fetch(package: Package, folder: Path) -> Fetched:
    """Bring a package into ``folder``, once; a package without a version is brought in its newest one.

    Raise NotFetched where its client is not installed, fails, or has no such package.
    """
    # Clients run elsewhere, and some take no relative path.
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return _CLIENTS[package.registry](package, folder)


def _pypi(package: Package, folder: Path) -> Fetched:
    wanted = f"{package.name}=={package.version}" if package.version else package.name
    # Building a source package runs its code; a wheel is only unpacked.
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", wanted, "-d"]
    return _one_file(folder, lambda into: _run([*command, into]), package, lambda file: file.split("-")[1])


def _npm(package: Package, folder: Path) -> Fetched:
    command = ["npm", "pack", f"{package.name}@{package.version or 'latest'}", "--silent", "--pack-destination"]
    # The file is called SCOPE-NAME-VERSION.tgz; only versions begin with a digit and a dot after a hyphen.
    version = re.compile(r"-(\d+\.\d.*)\.tgz$")
    return _one_file(
        folder,
        lambda into: _run([*command, into]),
        package,
        lambda file: found[1] if (found := version.search(file)) else "",
    )


def _crates(package: Package, folder: Path) -> Fetched:
    home = folder / "cargo"
    if known := next(home.glob(f"registry/cache/*/{package.name}-{package.version or '*no*'}.crate"), None):
        return Fetched(package, known)
    wanted = f"{package.name}@{package.version}" if package.version else package.name
    # `cargo info` is the one command that brings a single crate without those it depends on.
    said = _run(["cargo", "info", "--quiet", wanted], {"CARGO_HOME": str(home)}, cwd=folder)
    version = package.version or _field(said, "version")
    found = next(home.glob(f"registry/cache/*/{package.name}-{version}.crate"), None)
    if found is None:
        raise NotFetched(f"{package.key}: cargo brought no archive")
    return Fetched(replace(package, version=version), found)


def _go(package: Package, folder: Path) -> Fetched:
    wanted = f"{package.name}@{package.version or 'latest'}"
    known = folder / "go/cache/download" / f"{_escaped(package.name)}/@v/{package.version}.zip"
    if package.version and known.is_file():
        return Fetched(package, known)
    environment = {"GOMODCACHE": str(folder / "go"), "GOFLAGS": "-modcacherw"}
    told = json.loads(_run(["go", "mod", "download", "-json", wanted], environment, cwd=folder))
    return Fetched(replace(package, version=told["Version"]), Path(told["Zip"]))


def _escaped(module: str) -> str:
    """Return a module's path as it is written in the cache, where capitals would meet small letters on some disks."""
    return re.sub(r"[A-Z]", lambda letter: f"!{letter[0].lower()}", module)


def _maven(package: Package, folder: Path) -> Fetched:
    from jgo.maven import MavenContext, PythonResolver

    group, name = package.name.split(":")
    context = MavenContext(PythonResolver(), folder / "maven", [], None, timeout=60)
    try:
        project = context.project(group, name)
        if not package.version:
            project.update()
        component = project.at_version(package.version or project.release)
        archive = Path(component.artifact(classifier="sources").resolve())
        with _ANCESTORS:
            poms = [Path(component.artifact(packaging="pom").resolve())]
            while len(poms) < _MOST_PARENTS and (parent := parent_of(poms[-1])):
                above = context.project(parent[0], parent[1]).at_version(parent[2])
                poms.append(Path(above.artifact(packaging="pom").resolve()))
    except Exception as error:
        # jgo lets through whatever its HTTP client and its parsers raise.
        raise NotFetched(f"{package.key}: {type(error).__name__} {error}") from error
    return Fetched(replace(package, version=archive.parent.name), archive, tuple(poms))


def _debian(package: Package, folder: Path) -> Fetched:
    wanted = f"{package.name}={package.version}" if package.version else package.name
    return _one_file(
        folder,
        lambda into: _run(["apt-get", "download", "-qq", wanted], cwd=Path(into)),
        package,
        lambda file: file.split("_")[1].replace("%3a", ":"),
    )


_CLIENTS: Mapping[Registry, Callable[[Package, Path], Fetched]] = {
    "pypi": _pypi,
    "npm": _npm,
    "crates": _crates,
    "go": _go,
    "maven": _maven,
    "debian": _debian,
}


def _one_file(
    folder: Path, download: Callable[[str], object], package: Package, version_of: Callable[[str], str]
) -> Fetched:
    """Return a package whose archive is the one file of a folder of its own, brought whole or not at all."""
    if package.version and (folder / package.key).is_dir():
        return Fetched(package, next((folder / package.key).iterdir()))
    with tempfile.TemporaryDirectory(dir=folder) as into:
        download(into)
        brought = list(Path(into).iterdir())
        if len(brought) != 1:
            raise NotFetched(f"{package.key}: {len(brought)} files were brought instead of one")
        found = replace(package, version=package.version or version_of(brought[0].name))
        place = folder / found.key
        if not place.is_dir():
            Path(into).chmod(0o755)
            shutil.copytree(into, place.with_suffix(".new"), dirs_exist_ok=True)
            place.with_suffix(".new").replace(place)
    return Fetched(found, next(place.iterdir()))


def _run(command: list[str], environment: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **(environment or {})},
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=True,
        )
    except FileNotFoundError as error:
        raise NotFetched(f"{command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise NotFetched(f"{' '.join(command[:3])}: no answer in {TIMEOUT_SECONDS} seconds") from error
    except subprocess.CalledProcessError as error:
        last = (error.stderr or error.stdout).strip().splitlines()[-1:] or ["no reason given"]
        raise NotFetched(f"{' '.join(command[:3])}: {last[0]}") from error
    return done.stdout


def _field(text: str, name: str) -> str:
    return next((line.split(":", 1)[1].split()[0] for line in text.splitlines() if line.startswith(f"{name}:")), "")
