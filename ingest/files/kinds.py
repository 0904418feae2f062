"""Derives the kind of a file from its path: test, example, documentation, vendored code and so on."""

import re
from functools import lru_cache

from codequarry.ingest.chunking.languages import CONFIG_LANGUAGES, PROSE_LANGUAGES
from codequarry.ingest.files.attributes import UNSAID, PathAttributes
from codequarry.shared.model import KindOfFile

# Folders that a package manager fills. They get into a repository by accident, with more files than all others.
INSTALLED_FOLDERS = frozenset(
    {
        ".bundle", ".eggs", ".nox", ".pnpm-store", ".tox", ".venv", ".yarn", "Carthage", "Pods", "__pypackages__",
        "bower_components", "elm-stuff", "jspm_packages", "node_modules", "site-packages",
    }
)  # fmt: skip
# Folders for third-party code that a project keeps on purpose.
_COPIED_FOLDERS = frozenset(
    {
        "3rd-party", "3rd_party", "3rdparty", "_vendor", "godeps", "third-party", "third_party", "thirdparty", "vendor",
        "vendored", "vendors",
    }
)  # fmt: skip
# Below such a folder, the languages of the JVM name their packages: a shop has a package for its vendors.
_PACKAGES = re.compile(r"(?:^|/)src/\w+/(?:java|kotlin|scala|groovy)/", re.IGNORECASE)
LOCK_FILES = frozenset(
    {
        ".terraform.lock.hcl", "buf.lock", "bun.lock", "bun.lockb", "cabal.project.freeze", "cargo.lock",
        "cartfile.resolved", "composer.lock", "conan.lock", "deno.lock", "flake.lock", "gemfile.lock", "go.sum",
        "go.work.sum", "gradle.lockfile", "mix.lock", "module.bazel.lock", "npm-shrinkwrap.json", "package-lock.json",
        "package.resolved", "packages.lock.json", "paket.lock", "pdm.lock", "pipfile.lock", "pixi.lock",
        "pnpm-lock.yaml", "podfile.lock", "poetry.lock", "pubspec.lock", "pylock.toml", "rebar.lock", "stack.yaml.lock",
        "uv.lock", "yarn.lock",
    }
)  # fmt: skip
GENERATED_NAME = re.compile(
    r"(\.pb\.(go|cc|h|swift)|_pb2(_grpc)?\.pyi?|_pb\.(js|d\.ts)|\.pb-c\.[ch]|\.g\.(dart|cs)|\.freezed\.dart"
    r"|\.designer\.(cs|vb)|\.generated\.\w+|_generated\.\w+|(^|/)zz_generated\.[\w.]+)$"
)
MINIFIED_NAME = re.compile(r"[.-]min\.(js|mjs|cjs|css)$")
SOURCE_MAP_NAME = re.compile(r"\.([cm]?js|css|ts)\.map$")
_TEST_FOLDERS = frozenset(
    {"test", "tests", "testing", "testdata", "spec", "specs", "__tests__", "e2e", "fixtures", "androidtest"}
)
_TEST_NAME = re.compile(
    r"^(test_.*|tests?|conftest|.*[._-](test|tests|spec))\.\w+$|^.*(Test|Tests|TestCase|Spec|IT)\.(java|kt|cs|scala|php|swift)$"
)
_EXAMPLE_FOLDERS = frozenset({"example", "examples", "sample", "samples", "demo", "demos", "tutorial", "tutorials"})
_DOCS_FOLDERS = frozenset({"doc", "docs", "documentation", "man"})
# Languages that configure a build or a service but do not consist of keys and values.
_SETUP_LANGUAGES = frozenset({"cmake", "dockerfile", "hcl", "ignore list", "makefile", "pip requirements"})
_SETUP_NAMES = frozenset({"jenkinsfile", "pom.xml", "procfile", "vagrantfile"})


def kind_of_path(path: str, language: str | None = None, said: PathAttributes = UNSAID) -> KindOfFile:
    """Return the kind of file that a path indicates; if several fit, return the kind that searches weight lowest.

    What the attributes of the repository say about a file comes before what its name and its folders indicate.
    """
    folder, _, own_name = path.rpartition("/")
    folders = _words_of(folder)
    name = own_name.lower()
    if said.vendored or (said.vendored is None and (is_installed(path) or _is_copied(folder, folders))):
        return "vendored"
    if name in LOCK_FILES:
        return "lock"
    if said.generated or (said.generated is None and _is_named_generated(path.lower())):
        return "generated"
    if said.documentation:
        return "docs"
    if folders & _TEST_FOLDERS or _TEST_NAME.match(own_name):
        return "test"
    if folders & _EXAMPLE_FOLDERS:
        return "example"
    kind = _kind_of_text(name, language, folders)
    return "source" if kind == "docs" and said.documentation is False else kind


def is_installed(path: str) -> bool:
    """Return whether a path lies in a folder that a package manager fills."""
    return not INSTALLED_FOLDERS.isdisjoint(path.split("/")[:-1])


def outermost_vendored(path: str) -> str:
    """Return the outermost folder of third-party code that holds a file, or else the file's own folder."""
    folders = path.split("/")[:-1]
    is_vendored = (name in INSTALLED_FOLDERS or name.lower() in _COPIED_FOLDERS for name in folders)
    depth = next((depth for depth, found in enumerate(is_vendored, 1) if found), len(folders))
    return "/".join(folders[:depth]) or "."


def is_minified_name(path: str) -> bool:
    """Return whether a path is named like the output of a minifier."""
    return bool(MINIFIED_NAME.search(path.lower()))


def is_source_map_name(path: str) -> bool:
    """Return whether a path is named like the map from a minified file to its source."""
    return bool(SOURCE_MAP_NAME.search(path.lower()))


def _is_named_generated(path: str) -> bool:
    return any(pattern.search(path) for pattern in (GENERATED_NAME, MINIFIED_NAME, SOURCE_MAP_NAME))


def _is_copied(folder: str, folders: frozenset[str]) -> bool:
    if folders.isdisjoint(_COPIED_FOLDERS):
        return False
    packages = _PACKAGES.search(folder + "/")
    return packages is None or not _words_of(folder[: packages.start()]).isdisjoint(_COPIED_FOLDERS)


@lru_cache(maxsize=1024)
def _words_of(folder: str) -> frozenset[str]:
    """Return the names of the folders above a file, cached because neighbours in a listing share them."""
    return frozenset(folder.lower().split("/"))


def _kind_of_text(name: str, language: str | None, folders: frozenset[str]) -> KindOfFile:
    if language in CONFIG_LANGUAGES | _SETUP_LANGUAGES or name in _SETUP_NAMES or (not language and name[:1] == "."):
        return "config"
    if language in PROSE_LANGUAGES or (language is None and folders & _DOCS_FOLDERS):
        return "docs"
    return "source"
