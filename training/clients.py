"""Fetches packages by the client of each registry, as set up on this machine: pip, npm, cargo, go, jgo, apt-get."""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from training.packages import Package, Registry
from training.poms import parent_of
from training.writing import whole

# Enough for a large archive over a slow line.
TIMEOUT_SECONDS = 600
# Licences are inherited; no project has more ancestors than this.
_MOST_PARENTS = 6
# Many packages share an ancestor, and jgo fails if two threads fetch the same file.
_ANCESTORS = threading.Lock()


class NotFetched(Exception):
    """A package cannot be fetched; the message gives the client's reason."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A package on this machine; ``metadata`` has the files that its registry keeps outside the archive (Maven)."""

    package: Package
    archive: Path
    metadata: tuple[Path, ...] = ()


def fetch(package: Package, folder: Path) -> Fetched:
    """Fetch a package, by default its newest version, unless ``folder`` has it; raise NotFetched if that fails."""
    # Clients run in other folders, and some accept no relative path.
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return _CLIENTS[package.registry](package, folder)


@dataclass(frozen=True, slots=True)
class _Downloader:
    """A client that writes one or several archives per call into the folder where it runs.

    Name and version are ``joined_by`` this; ``newest`` follows a name without a version. ``says`` returns the name and
    the version in an archive's file name, ``file_name`` returns a package's name as it is in file names.
    """

    command: tuple[str, ...]
    joined_by: str
    says: Callable[[str], tuple[str, str]]
    file_name: Callable[[str], str] = str
    newest: str = ""

    def download(self, packages: Sequence[Package], into: Path) -> list[Path]:
        """Return the fetched archives; raise NotFetched if any of them cannot be fetched."""
        _run([*self.command, *map(self._wanted, packages)], cwd=into, timeout=TIMEOUT_SECONDS * len(packages))
        return sorted(into.iterdir())

    def _wanted(self, package: Package) -> str:
        return package.name + (f"{self.joined_by}{package.version}" if package.version else self.newest)

    def is_of(self, package: Package, file: str) -> bool:
        """Return whether a file is the archive of a pinned package."""
        return self.says(file) == (self.file_name(package.name), package.version)


def _wheel_says(file: str) -> tuple[str, str]:
    name, _, rest = file.partition("-")
    return _wheel_name(name), rest.partition("-")[0]


def _wheel_name(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _tarball_says(file: str) -> tuple[str, str]:
    # SCOPE-NAME-VERSION.tgz: only a version begins with a digit and a dot after a hyphen.
    found = re.fullmatch(r"(.+?)-(\d+\.\d.*)\.tgz", file)
    return (found[1], found[2]) if found else ("", "")


def _deb_says(file: str) -> tuple[str, str]:
    name, _, rest = file.partition("_")
    return name, rest.partition("_")[0].replace("%3a", ":")


_DOWNLOADERS: Mapping[Registry, _Downloader] = {
    # Building a source package would run its code; a wheel is only unpacked.
    "pypi": _Downloader(
        (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"),
        "==",
        _wheel_says,
        _wheel_name,
    ),
    "npm": _Downloader(
        ("npm", "pack", "--silent"),
        "@",
        _tarball_says,
        lambda name: name.removeprefix("@").replace("/", "-"),
        newest="@latest",
    ),
    "debian": _Downloader(
        ("apt-get", "download", "-qq"),
        "=",
        _deb_says,
    ),
}


def fetch_together(packages: Sequence[Package], folder: Path) -> None:
    """Fetch missing packages in one call per client, ten times as fast; `fetch` then reports packages that fail."""
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for registry, client in _DOWNLOADERS.items():
        missing = [package for package in packages if package.registry == registry and not _kept(folder / package.key)]
        if not missing:
            continue
        with tempfile.TemporaryDirectory(dir=folder, suffix=".new") as into, suppress(NotFetched):
            for file in client.download(missing, Path(into)):
                for package in missing:
                    if client.is_of(package, file.name):
                        _keep(file, folder / package.key)


def _download(package: Package, folder: Path) -> Fetched:
    if package.version and (known := _kept(folder / package.key)):
        return Fetched(package, known)
    client = _DOWNLOADERS[package.registry]
    with tempfile.TemporaryDirectory(dir=folder, suffix=".new") as into:
        files = client.download([package], Path(into))
        if len(files) != 1:
            raise NotFetched(f"{package.key}: the client fetched {len(files)} files instead of one")
        found = replace(package, version=package.version or client.says(files[0].name)[1])
        return Fetched(found, _keep(files[0], folder / found.key))


def _keep(file: Path, place: Path) -> Path:
    """Move a file into a new folder, whole or not at all, and return its path."""
    if not _kept(place):
        with whole(place) as fresh:
            fresh.mkdir()
            file.replace(fresh / file.name)
    return place / file.name


def _kept(place: Path) -> Path | None:
    return next(place.glob("*"), None)


def _crates(package: Package, folder: Path) -> Fetched:
    home = folder / "cargo"
    if known := next(home.glob(f"registry/cache/*/{package.name}-{package.version or '*no*'}.crate"), None):
        return Fetched(package, known)
    wanted = f"{package.name}@{package.version}" if package.version else package.name
    # `cargo info` is the only command that fetches a single crate without its dependencies.
    output = _run(["cargo", "info", "--quiet", wanted], {"CARGO_HOME": str(home)}, cwd=folder)
    version = package.version or _field(output, "version")
    found = next(home.glob(f"registry/cache/*/{package.name}-{version}.crate"), None)
    if found is None:
        raise NotFetched(f"{package.key}: cargo fetched no archive")
    return Fetched(replace(package, version=version), found)


def _go(package: Package, folder: Path) -> Fetched:
    wanted = f"{package.name}@{package.version or 'latest'}"
    known = folder / "go/cache/download" / f"{_escaped(package.name)}/@v/{package.version}.zip"
    if package.version and known.is_file():
        return Fetched(package, known)
    environment = {"GOMODCACHE": str(folder / "go"), "GOFLAGS": "-modcacherw"}
    output = json.loads(_run(["go", "mod", "download", "-json", wanted], environment, cwd=folder))
    return Fetched(replace(package, version=output["Version"]), Path(output["Zip"]))


def _escaped(module: str) -> str:
    """Return a module's path as it is in the cache, which escapes capitals because of case-insensitive disks."""
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
        # jgo does not wrap the errors of its HTTP client and its parsers.
        raise NotFetched(f"{package.key}: {type(error).__name__} {error}") from error
    return Fetched(replace(package, version=archive.parent.name), archive, tuple(poms))


_CLIENTS: Mapping[Registry, Callable[[Package, Path], Fetched]] = {
    "pypi": _download,
    "npm": _download,
    "crates": _crates,
    "go": _go,
    "maven": _maven,
    "debian": _download,
}


def _run(
    command: list[str],
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> str:
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **(environment or {})},
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=True,
        )
    except FileNotFoundError as error:
        raise NotFetched(f"{command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise NotFetched(f"{' '.join(command[:3])}: no answer in {timeout} seconds") from error
    except subprocess.CalledProcessError as error:
        last = (error.stderr or error.stdout).strip().splitlines()[-1:] or ["no reason given"]
        raise NotFetched(f"{' '.join(command[:3])}: {last[0]}") from error
    return done.stdout


def _field(text: str, name: str) -> str:
    return next((line.split(":", 1)[1].split()[0] for line in text.splitlines() if line.startswith(f"{name}:")), "")
