"""Debian packages are read through a fake `dpkg-deb`, which can cut its tarball short."""

import io
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from training.archives import files_of

Deb = Callable[[int, int], Path]


@pytest.fixture
def deb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Deb:
    """Return a function (bytes, exit code) that makes a package whose tool stops after those bytes."""
    with tarfile.open(tmp_path / "data.tar", "w") as tar:
        for name in ("usr/lib/one.rb", "usr/lib/two.rb"):
            entry = tarfile.TarInfo(name)
            entry.size = 5_000
            tar.addfile(entry, io.BytesIO(b"x" * entry.size))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def make(given: int, code: int) -> Path:
        tool = tmp_path / "dpkg-deb"
        tool.write_text(
            f"#!/bin/sh\nhead -c {given} {tmp_path}/data.tar\necho dpkg-deb: error: cut short >&2\nexit {code}\n"
        )
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
        return tmp_path / "ruby-x.deb"

    return make


def test_a_complete_package_is_read_despite_messages_of_the_tool(deb: Deb, capfd: pytest.CaptureFixture[str]) -> None:
    assert [path for path, _ in files_of(deb(100_000, 0), frozenset({".rb"}))] == ["usr/lib/one.rb", "usr/lib/two.rb"]
    assert not capfd.readouterr().err


@pytest.mark.parametrize("given", [0, 5_632, 7_000])
def test_a_package_that_is_cut_short_is_an_error(deb: Deb, given: int) -> None:
    with pytest.raises(OSError, match="cut short"):
        list(files_of(deb(given, 2), frozenset({".rb"})))


def test_a_broken_tarball_is_an_error_even_if_the_tool_succeeds(deb: Deb) -> None:
    with pytest.raises(tarfile.ReadError):
        list(files_of(deb(7_000, 0), frozenset({".rb"})))


def test_a_reader_that_stops_early_gets_no_error(deb: Deb, capfd: pytest.CaptureFixture[str]) -> None:
    assert next(iter(files_of(deb(100_000, 2), frozenset({".rb"}))))[0] == "usr/lib/one.rb"
    assert not capfd.readouterr().err
