"""The folders at the root are installed below one name; none may be missing from the wheel or imported bare."""

import ast
import importlib
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from codequarry.shared.known_models import TABLE_FILES

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PROJECT["tool"]["setuptools"]
FOLDERS: dict[str, Path] = {name: ROOT / folder for name, folder in SETUPTOOLS["package-dir"].items()}
BARE_NAMES = {folder.name for folder in FOLDERS.values()}
UNBUILT = shutil.ignore_patterns("__pycache__")


def python_files() -> list[Path]:
    places = [*FOLDERS.values(), ROOT / "tests", ROOT / "bench"]
    return [path for place in places for path in sorted(place.rglob("*.py"))]


def test_every_folder_with_code_is_listed_as_a_package() -> None:
    found = {
        ".".join((name, *module.parent.relative_to(folder).parts))
        for name, folder in FOLDERS.items()
        for module in folder.rglob("*.py")
    }
    assert sorted(SETUPTOOLS["packages"]) == sorted(found)


def test_every_package_is_a_regular_package() -> None:
    """Only the outermost name is a namespace: `importlib.resources` and mypy need the `__init__.py` of the others."""
    folders = {module.parent for folder in FOLDERS.values() for module in folder.rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def folder_of(package: str) -> Path:
    """Return where a package of any depth lies in the work tree."""
    _, room, *inner = package.split(".")
    return FOLDERS[f"codequarry.{room}"].joinpath(*inner)


def test_every_file_beside_the_code_is_package_data() -> None:
    data = SETUPTOOLS["package-data"]
    listed = {path for package, globs in data.items() for glob in globs for path in folder_of(package).glob(glob)}
    beside = {
        path
        for folder in FOLDERS.values()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
    }
    assert sorted(str(path.relative_to(ROOT)) for path in beside - listed) == []


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Build a source distribution and a wheel of a copy of the work tree; return the names of the files in each."""
    tree, target = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    for name in (*BARE_NAMES, "pyproject.toml", "README.md", "LICENSE"):
        place = ROOT / name
        shutil.copytree(place, tree / name, ignore=UNBUILT) if place.is_dir() else shutil.copy(place, tree / name)
    # The backend sets sys.argv anew.
    code = (
        "import sys; from setuptools import build_meta as backend; target = sys.argv[1]; "
        "backend.build_sdist(target); backend.build_wheel(target)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(target)], cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (archive,), (wheel,) = target.glob("*.tar.gz"), target.glob("*.whl")
    with tarfile.open(archive) as packed, zipfile.ZipFile(wheel) as zipped:
        return {"sdist": packed.getnames(), "wheel": zipped.namelist()}


@pytest.mark.parametrize("kind", ["sdist", "wheel"])
def test_what_is_distributed_has_the_models_files(distributions: dict[str, list[str]], kind: str) -> None:
    for name in TABLE_FILES:
        assert [one for one in distributions[kind] if one.endswith(f"shared/embedding/codequarry-1/{name}")], name


def test_no_package_of_another_model_is_needed() -> None:
    needed = " ".join(PROJECT["project"]["dependencies"])
    assert not [one for one in ("wordllama", "tokenizers", "safetensors", "onnx", "torch") if one in needed]


def test_there_is_no_folder_that_would_hide_the_installed_package() -> None:
    assert not (ROOT / "codequarry").exists()


@pytest.mark.parametrize("path", python_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_imports_a_folder_by_its_bare_name(path: Path) -> None:
    """PyPI has packages called `shared` and `opensearch`: a bare import may find those."""
    bare = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        bare += [name for name in names if name.partition(".")[0] in BARE_NAMES]
    assert bare == []


def test_the_console_script_exists() -> None:
    module, _, function = PROJECT["project"]["scripts"]["codequarry"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_what_the_code_imports_is_what_it_declares() -> None:
    """A package that only the tests require would be missing in an installation."""
    groups = [PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"].values()]
    declared = {re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0].lower() for group in groups for text in group}
    # What a declared package is made of, and speaks of in its own documentation.
    declared |= {"werkzeug", "kombu", "urllib3", "mcp-types", "opentelemetry-api"}
    owners = metadata.packages_distributions()
    undeclared = {
        (str(path.relative_to(ROOT)), name)
        for folder in FOLDERS.values()
        for path in sorted(folder.rglob("*.py"))
        for name in imported(path)
        if name not in sys.stdlib_module_names | {"codequarry"}
        and not declared & {owner.lower().replace("_", "-") for owner in owners.get(name, ())}
    }
    assert undeclared == set()


def imported(path: Path) -> set[str]:
    """Return the top-level names that a module imports, including imports inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - {"_typeshed"}
