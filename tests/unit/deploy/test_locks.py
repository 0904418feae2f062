"""The locks hold versions that satisfy pyproject.toml, with hashes, and installations use only them."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
LOCKS = ROOT / "deploy" / "locks"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
GROUPS: dict[str, list[str]] = PROJECT["dependency-groups"]
REQUIRED: dict[str, list[str]] = {
    "service": [*PROJECT["project"]["dependencies"], *EXTRAS["otel"], *GROUPS["build"]],
    "development": [
        *PROJECT["project"]["dependencies"],
        *(requirement for extra in EXTRAS.values() for requirement in extra),
        *(requirement for group in GROUPS.values() for requirement in group),
    ],
}
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def entries(lock: str) -> list[str]:
    """Return the entries of a lock, one line each."""
    lines = (LOCKS / f"{lock}.txt").read_text().replace("\\\n", " ").splitlines()
    return [line for line in lines if line and not line.lstrip().startswith("#")]


def versions(lock: str) -> dict[str, set[str]]:
    """Return the locked versions by name; several if they differ by Python version or platform."""
    found: dict[str, set[str]] = {}
    for entry in entries(lock):
        requirement = Requirement(entry.partition("--hash")[0].strip())
        (pin,) = requirement.specifier
        assert pin.operator == "==", entry
        found.setdefault(canonicalize_name(requirement.name), set()).add(pin.version)
    return found


@pytest.mark.parametrize("lock", REQUIRED)
def test_every_requirement_is_locked_to_a_matching_version(lock: str) -> None:
    locked = versions(lock)
    for asked in map(Requirement, REQUIRED[lock]):
        found = locked.get(canonicalize_name(asked.name), set())
        assert found, f"{asked.name} is in no lock: run make lock"
        assert all(asked.specifier.contains(version) for version in found), f"{asked}: locked in {found}; run make lock"


@pytest.mark.parametrize("lock", REQUIRED)
def test_every_entry_has_hashes_and_no_url(lock: str) -> None:
    for entry in entries(lock):
        assert HASH.search(entry), entry
        assert "://" not in entry and " @ " not in entry and not entry.startswith("-"), entry


def test_development_and_service_locks_have_the_same_versions() -> None:
    development = versions("development")
    differing = {name for name, found in versions("service").items() if development.get(name) != found}
    assert differing == set()


def test_every_installation_uses_a_lock() -> None:
    makefile = (ROOT / "Makefile").read_text()
    installs = [line for line in makefile.splitlines() if "pip install" in line]
    assert len(installs) == 3
    for line in installs:
        is_locked = "--require-hashes --only-binary :all:" in line
        is_our_code = "--no-deps" in line and ("--no-build-isolation" in line or "build/wheel/" in line)
        assert is_locked or is_our_code, line
    assert "--no-isolation" in next(line for line in makefile.splitlines() if "-m build" in line)


def test_the_bill_of_materials_names_every_shipped_package_with_its_hashes(tmp_path: Path) -> None:
    target = tmp_path / "bill.json"
    recipe = next(part for part in (ROOT / "Makefile").read_text().split("\n\n") if part.startswith("sbom:"))
    command = recipe.partition("$(BIN)/cyclonedx-py ")[2].replace("\\\n", " ")
    command = command.replace("$(LOCKS)", str(LOCKS)).replace("pyproject.toml", str(ROOT / "pyproject.toml"))
    words = command.replace("dist/codequarry.cdx.json", str(target)).split()
    subprocess.run([sys.executable, "-m", "cyclonedx_py", *words], check=True, capture_output=True)
    bill = json.loads(target.read_text())
    assert bill["metadata"]["component"]["name"] == "codequarry"
    found: dict[str, set[str]] = {}
    for component in bill["components"]:
        assert component["externalReferences"][0]["hashes"], component["name"]
        found.setdefault(canonicalize_name(component["name"]), set()).add(component["version"])
    assert found == versions("service")
