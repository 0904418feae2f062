"""Packages that repositories declare in manifests; by their names, imports reach into other repositories."""

import json
import posixpath
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass

from codequarry.search_api.graph.definitions import DefinedSymbol, FilePlace
from codequarry.search_api.graph.maven_projects import read_pom
from codequarry.search_api.graph.modules import EXACT, REEXPORTED, SUFFIX, MemberPath, go_exports, match, rust_file

MANIFESTS = ("go.mod", "package.json", "pyproject.toml", "setup.cfg", "Cargo.toml", "pom.xml")
"""File names of manifests. Java's and Kotlin's packages are unique by convention; POMs tell copies apart."""

# The POMs do not name a definition's project as a dependency, but a dependency of theirs may bring it.
_NOT_DECLARED = 0.7
# Only one of both repositories has POMs.
_UNKNOWN_PROJECT = 0.95
_SOURCE_FOLDERS = ("src", "lib", "source")
_GO_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)
_SETUP_NAME = re.compile(r"^\[metadata\][^\[]*?^name\s*=\s*(\S+)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class DeclaredPackage:
    """A package, the folder of its manifest, and the family of languages that imports it."""

    family: str
    name: str
    folder: str
    main: str = ""
    """The file of the package itself, if the manifest names it."""
    dependencies: frozenset[str] = frozenset()
    """The packages that it needs, in a language whose imports do not name packages."""


def read_manifest(path: str, text: str) -> DeclaredPackage | None:
    """Return the package that a manifest declares, or None if it declares none or can't be read."""
    folder, _, file = path.rpartition("/")
    if file == "pom.xml":
        project = read_pom(text)
        return DeclaredPackage("jvm", project.name, folder, dependencies=project.dependencies) if project else None
    try:
        family, name, *main = _READERS[file](text)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return None
    if not name or not isinstance(name, str):
        return None
    return DeclaredPackage(family, name, folder, main[0] if main and isinstance(main[0], str) else "")


def _go_mod(text: str) -> tuple[str, str]:
    found = _GO_MODULE.search(text)
    return "go", found[1] if found else ""


def _package_json(text: str) -> tuple[str, str, str]:
    body = json.loads(text)
    return "ecmascript", body["name"], body.get("source") or body.get("main") or ""


def _pyproject(text: str) -> tuple[str, str]:
    body = tomllib.loads(text)
    project = body.get("project") or body["tool"]["poetry"]
    return "python", project["name"]


def _setup_cfg(text: str) -> tuple[str, str]:
    found = _SETUP_NAME.search(text)
    return "python", found[1] if found else ""


def _cargo(text: str) -> tuple[str, str]:
    return "rust", tomllib.loads(text)["package"]["name"]


_READERS = {
    "go.mod": _go_mod,
    "package.json": _package_json,
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "Cargo.toml": _cargo,
}


def module_match(
    module: str,
    names: MemberPath,
    found: DefinedSymbol,
    place: FilePlace,
    packages: Iterable[DeclaredPackage],
    own: Iterable[DeclaredPackage] = (),
) -> float:
    """Return how surely ``names`` of ``module``, imported at ``place``, mean a definition: 0 to 1.

    ``packages`` are those of the definition's repository, ``own`` those of the importing one. A definition in another
    repository must be in a package that the module names, or for Java and Kotlin, in a package of the same full name.
    """
    if place.family == "ecmascript" and found.path != names:
        return 0.0
    packages = [package for package in packages if package.family == place.family]
    declared = max((_package_match(module, names, found, package) for package in packages), default=0.0)
    if place.family == "go" and not module.startswith("./") and packages:
        # The paths of Go's packages are known exactly; the end of another module's path may look the same.
        is_vendored = found.place.repo == place.repo and found.place.folder.endswith(f"vendor/{module}")
        return EXACT if is_vendored and go_exports(names, found) else declared
    if found.place.repo == place.repo:
        beside = ".".join(filter(None, (*place.folder.split("/"), module)))
        # Scripts import the modules in their own folder.
        is_beside = place.family == "python" and match(beside, names, found) == EXACT
        if place.family == "rust" and module[:1] not in {".", "~"}:
            # `use shapes::Circle` beside `mod shapes;`, where no crate has the name.
            is_beside = match(f"./{rust_file(place.path)}::{module}", names, found) == EXACT
        return max(declared, SUFFIX if is_beside else 0.0, match(module, names, found))
    if found.place.family != "jvm":
        return declared
    matched = match(module, names, found)
    return matched * _maven_match(found.place, place, packages, own) if matched else 0.0


def _maven_match(
    found: FilePlace, place: FilePlace, packages: Iterable[DeclaredPackage], own: Iterable[DeclaredPackage]
) -> float:
    """Return how surely a file of Java or Kotlin is of a project on which the importing file's projects depend.

    Their packages begin with a domain, so without any POM the name of a package is enough.
    """
    providing = [package for package in packages if package.family == "jvm" and _is_inside(found.path, package.folder)]
    # The POMs in the folders around a file: its project, and the parents from which it inherits dependencies.
    using = [package for package in own if package.family == "jvm" and _is_inside(place.path, package.folder)]
    if not providing or not using:
        return _UNKNOWN_PROJECT if providing or using else EXACT
    provider = max(providing, key=lambda package: len(package.folder))
    return EXACT if any(provider.name in package.dependencies for package in using) else _NOT_DECLARED


def _package_match(module: str, names: MemberPath, found: DefinedSymbol, package: DeclaredPackage) -> float:
    if not _is_inside(found.place.path, package.folder):
        return 0.0
    if package.family == "python":
        first = (module or names[0]).partition(".")[0]
        return match(module, names, found) if _as_module(package.name) == first.lower() else 0.0
    if package.family == "rust":
        crate, _, rest = module.partition("::")
        if _as_module(package.name) != crate.lower():
            return 0.0
        inside = f"::{rest}" if rest else ""
        roots = (f"./{'/'.join(filter(None, (package.folder, folder)))}{inside}" for folder in ("src", ""))
        exact = max(match(root, names, found) for root in roots)
        passed_on = found.path == names and found.definition.exported is not False
        return exact or (REEXPORTED if passed_on else 0.0)
    if package.family == "ecmascript" and module in {f"./{package.folder}", package.name} and package.main:
        main = match("./" + posixpath.normpath(posixpath.join(package.folder, package.main)), names, found)
        if main:
            return main
    if module != package.name and not module.startswith(f"{package.name}/"):
        return 0.0
    if package.family == "go":
        folder = "/".join(filter(None, (package.folder, module[len(package.name) + 1 :])))
        return EXACT if found.place.folder == folder and go_exports(names, found) else 0.0
    inside = module[len(package.name) + 1 :] or "index"
    sources = (posixpath.join(package.folder, folder, inside) for folder in ("", *_SOURCE_FOLDERS))
    if any(match(f"./{source}", names, found) for source in sources):
        return SUFFIX
    return REEXPORTED if found.path == names[-len(found.path) :] and found.definition.exported is not False else 0.0


def _as_module(name: str) -> str:
    return name.lower().replace("-", "_")


def _is_inside(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")
