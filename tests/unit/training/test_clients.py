import stat
from pathlib import Path

import pytest

from training.clients import NotFetched, fetch
from training.packages import Package

CARGO = """#!/bin/sh
mkdir -p "$CARGO_HOME/registry/cache/mirror"
echo crate > "$CARGO_HOME/registry/cache/mirror/bytes-1.2.0.crate"
echo "version: 1.2.0"
"""


@pytest.fixture
def cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `cargo` that brings one crate, first on the PATH; what is relative counts from a folder of its own."""
    client = tmp_path / "bin/cargo"
    client.parent.mkdir()
    client.write_text(CARGO)
    client.chmod(client.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(client.parent), prepend=":")
    monkeypatch.chdir(tmp_path)
    return client


@pytest.mark.usefixtures("cargo")
def test_a_relative_folder_is_the_same_one_for_a_client_that_runs_elsewhere(tmp_path: Path) -> None:
    found = fetch(Package("crates", "bytes", "1.2.0"), Path(".model/packages"))
    assert found.archive == tmp_path / ".model/packages/cargo/registry/cache/mirror/bytes-1.2.0.crate"
    assert found.archive.read_text() == "crate\n"


def test_what_was_brought_is_not_brought_again(cargo: Path) -> None:
    newest = fetch(Package("crates", "bytes", ""), Path("packages"))
    assert newest.package.version == "1.2.0"
    cargo.write_text("#!/bin/sh\nexit 1\n")
    assert fetch(newest.package, Path("packages")) == newest
    with pytest.raises(NotFetched, match="cargo info --quiet"):
        fetch(Package("crates", "other", "1.0.0"), Path("packages"))
