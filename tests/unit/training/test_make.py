"""Packages come from a fake `npm`, which packs whatever is requested; everything else is real."""

import stat
import sys
from pathlib import Path

import pytest

from training.clients import NotFetched, fetch, fetch_together
from training.extract import read_pairs
from training.make import make_pairs
from training.packages import Package

NPM = f"""#!{sys.executable}
import io, json, sys, tarfile
wanted = [word for word in sys.argv[2:] if not word.startswith("-")]
with open(LOG, "a") as log:
    print(len(wanted), file=log)
if any(word.startswith("gone@") for word in wanted):
    sys.exit("npm error 404 gone is not in this registry")
for name, version in (word.split("@") for word in wanted):
    code = "".join(
        f"/** Removes the {{name}} number {{at}} from a queue. */\\n"
        f"function remove{{name.title()}}{{at}}(queue) {{{{\\n"
        f"  const found = queue.find((one) => one.id === {{at}});\\n"
        f"  queue.delete(found);\\n  return found;\\n}}}}\\n"
        for at in range(9)
    )
    licence = "GPL-3.0-only" if name == "copyleft" else "MIT"
    files = {{"package.json": json.dumps({{"name": name, "version": version, "license": licence}}), "remove.js": code}}
    with tarfile.open(f"{{name}}-{{version}}.tgz", "w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"package/{{path}}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
"""


def packages(*names: str) -> list[Package]:
    return [Package("npm", name, "1.0.0", "MIT") for name in names]


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a log with a line for each call of the client: the number of requested packages."""
    log, client = tmp_path / "calls", tmp_path / "bin/npm"
    client.parent.mkdir()
    client.write_text(NPM.replace("LOG", repr(str(log))))
    client.chmod(client.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(client.parent), prepend=":")
    return log


def test_missing_packages_are_downloaded_by_one_call(calls: Path, tmp_path: Path) -> None:
    wanted = packages("one", "two", "three")
    fetch_together(wanted, tmp_path / "packages")
    fetch_together([*wanted, *packages("four")], tmp_path / "packages")
    assert [fetch(package, tmp_path / "packages").archive.name for package in wanted] == [
        "one-1.0.0.tgz", "two-1.0.0.tgz", "three-1.0.0.tgz",
    ]  # fmt: skip
    assert calls.read_text().split() == ["3", "1"]


def test_an_unavailable_package_is_named_and_the_others_are_downloaded(calls: Path, tmp_path: Path) -> None:
    folder = tmp_path / "packages"
    fetch_together(packages("one", "gone"), folder)
    assert fetch(packages("one")[0], folder).archive.is_file()
    with pytest.raises(NotFetched, match="gone is not in this registry"):
        fetch(packages("gone")[0], folder)
    assert calls.read_text().split() == ["2", "1", "1"]


def test_pairs_are_cut_from_each_package_unless_its_licence_changed(
    calls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = packages(*(f"queue{chr(97 + at)}" for at in range(26)), *(f"stack{chr(97 + at)}" for at in range(26)))
    make_pairs(tmp_path, [*many, *packages("copyleft")])
    assert sum(map(int, calls.read_text().split())) == 53
    assert len(calls.read_text().split()) == 3
    texts = {
        pair.text for package in many for pair in read_pairs(tmp_path / "pairs", package.key) if pair.kind == "doc"
    }
    assert {"Removes the queuea number 3 from a queue.", "Removes the stackz number 8 from a queue."} <= texts
    assert len(list((tmp_path / "pairs").iterdir())) == 52
    assert "npm-copyleft-1.0.0: its licence was pinned as MIT and is None now" in capsys.readouterr().err
    before = calls.read_text()
    make_pairs(tmp_path, many)
    assert calls.read_text() == before, "finished packages were downloaded or cut again"


@pytest.mark.usefixtures("calls")
def test_too_many_missing_packages_end_the_run_and_downloads_are_kept(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="2 of 3 packages are missing; run it again"):
        make_pairs(tmp_path, packages("one", "gone", "copyleft"))
    assert fetch(packages("one")[0], tmp_path / "packages").archive.is_file()
