import stat
from dataclasses import replace
from pathlib import Path

import pytest

from training.clients import _DOWNLOADERS, NotFetched, fetch
from training.packages import Package

CARGO = """#!/bin/sh
mkdir -p "$CARGO_HOME/registry/cache/mirror"
echo crate > "$CARGO_HOME/registry/cache/mirror/bytes-1.2.0.crate"
echo "version: 1.2.0"
"""


@pytest.fixture
def cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a fake `cargo` that downloads one crate first on the PATH, and work in an empty folder."""
    client = tmp_path / "bin/cargo"
    client.parent.mkdir()
    client.write_text(CARGO)
    client.chmod(client.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(client.parent), prepend=":")
    monkeypatch.chdir(tmp_path)
    return client


@pytest.mark.usefixtures("cargo")
def test_a_relative_folder_is_resolved_before_the_client_runs(tmp_path: Path) -> None:
    found = fetch(Package("crates", "bytes", "1.2.0"), Path(".model/packages"))
    assert found.archive == tmp_path / ".model/packages/cargo/registry/cache/mirror/bytes-1.2.0.crate"
    assert found.archive.read_text() == "crate\n"


def test_a_downloaded_package_is_not_downloaded_again(cargo: Path) -> None:
    newest = fetch(Package("crates", "bytes", ""), Path("packages"))
    assert newest.package.version == "1.2.0"
    cargo.write_text("#!/bin/sh\nexit 1\n")
    assert fetch(newest.package, Path("packages")) == newest
    with pytest.raises(NotFetched, match="cargo info --quiet"):
        fetch(Package("crates", "other", "1.0.0"), Path("packages"))


@pytest.mark.parametrize(
    ("package", "file"),
    [
        (Package("pypi", "zope.interface", "7.2"), "zope_interface-7.2-cp311-cp311-manylinux1_x86_64.whl"),
        (Package("pypi", "ruamel.yaml", "0.18.6"), "ruamel.yaml-0.18.6-py3-none-any.whl"),
        (Package("npm", "@types/node", "22.1.0-rc.1"), "types-node-22.1.0-rc.1.tgz"),
        (Package("npm", "rxjs-7", "7.0.0"), "rxjs-7-7.0.0.tgz"),
        (Package("debian", "php-twig", "1:3.5.1-1+deb12u1"), "php-twig_1%3a3.5.1-1+deb12u1_all.deb"),
    ],
)
def test_an_archive_is_recognised_by_its_file_name(package: Package, file: str) -> None:
    client = _DOWNLOADERS[package.registry]
    assert client.is_of(package, file)
    assert not client.is_of(replace(package, name=f"{package.name}x"), file)
    assert not client.is_of(replace(package, version=f"{package.version}.1"), file)
