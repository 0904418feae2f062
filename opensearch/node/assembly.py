"""The assembly of a server's home from its artifacts; the folder exists completely or not at all."""

import fcntl
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from codequarry.opensearch.node.accounts import Account, server_account
from codequarry.opensearch.node.artifacts import Artifact, Pins, fetch, read_pins
from codequarry.opensearch.node.java import PROBE_TIMEOUT_SECONDS, Java
from codequarry.shared.data_folder import UMASK

MODULE_DESCRIPTOR = """\
description={name}
version={version}
name={name}
classname={classname}
java.version=21
opensearch.version={version}
extended.plugins=
has.native.controller=false
"""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder's lock, so that processes that start together assemble only once and start only one node."""
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def home_folder(folder: Path, pins: Pins) -> Path:
    """Return the path of the server's home, which differs for each set of artifacts."""
    return folder / f"opensearch-{pins.version}-{pins.digest[:8]}"


def assemble(folder: Path, repository: str | None, say: Callable[[str], None]) -> Path:
    """Return the server's home below ``folder``, assembling it if missing; the caller must hold the folder's lock."""
    pins = read_pins()
    home = home_folder(folder, pins)
    if home.is_dir():
        return home
    with _staging(folder) as staging:
        files = fetch(pins.artifacts, staging / "downloads", repository, say)
        _lay_out(staging / "home", pins, files)
        (staging / "home").rename(home)
    return home


def reachable_java(java: Java, folder: Path, account: Account | None) -> Java:
    """Return ``java``, or a copy of it below ``folder`` if ``account`` can't run it where it is."""
    if account is None or _runs_as(java.program, account):
        return java
    copied = folder / f"java-{java.version}"
    if not copied.is_dir():
        with _staging(folder) as staging:
            shutil.copytree(java.home, staging / "java", symlinks=False)
            _set_modes(staging / "java")
            (staging / "java").rename(copied)
    return Java(copied / "bin" / "java", java.version, java.has_vector)


def _runs_as(program: Path, account: Account) -> bool:
    try:
        subprocess.run(
            [program, "-version"],
            user=account.uid,
            group=account.gid,
            extra_groups=[],
            capture_output=True,
            cwd="/",
            timeout=PROBE_TIMEOUT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return True


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    """Yield an empty scratch folder beside the final folder, removing anything that a killed process left there."""
    staging = folder / ".staging"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _lay_out(home: Path, pins: Pins, files: Mapping[Artifact, Path]) -> None:
    for artifact, source in files.items():
        folder = home / artifact.folder
        folder.mkdir(parents=True, exist_ok=True)
        if artifact.coordinate.packaging == "zip":
            with zipfile.ZipFile(source) as archive:
                archive.extractall(folder)
        else:
            shutil.copyfile(source, folder / artifact.filename)
    for name, classname in pins.modules.items():
        descriptor = MODULE_DESCRIPTOR.format(name=name, version=pins.version, classname=classname)
        (home / "modules" / name / "plugin-descriptor.properties").write_text(descriptor, "utf-8")
    # The server requires this folder, and its account may not be allowed to create it.
    (home / "bin").mkdir()
    _set_modes(home)


def _set_modes(folder: Path) -> None:
    """Let the server's account (all users, if it is not ours) read and run the files, whatever the umask."""
    ours = server_account() is None
    for entry in (folder, *folder.rglob("*")):
        runnable = entry.is_dir() or (os.access(entry, os.X_OK) and entry.stat().st_mode & 0o100)
        mode = 0o755 if runnable else 0o644
        entry.chmod(mode & ~UMASK if ours else mode)
