"""Derives the kind of a file from its path: test, example, documentation, vendored code and so on."""

import re
from functools import lru_cache

from codequarry.ingest.chunking.languages import CONFIG_LANGUAGES, PROSE_LANGUAGES
from codequarry.shared.model import KindOfFile

# Folders for third-party code, copied or installed.
VENDORED_FOLDERS = frozenset(
    {
        ".bundle", ".eggs", ".tox", ".venv", ".yarn", "_vendor", "__pypackages__", "bower_components", "carthage",
        "godeps", "jspm_packages", "node_modules", "pods", "site-packages", "third-party", "third_party", "thirdparty",
        "vendor", "vendored", "venv",
    }
)  # fmt: skip
LOCK_FILES = frozenset(
    {
        "bun.lock", "bun.lockb", "cargo.lock", "composer.lock", "conan.lock", "deno.lock", "flake.lock", "gemfile.lock",
        "go.sum", "gradle.lockfile", "mix.lock", "npm-shrinkwrap.json", "package-lock.json", "package.resolved",
        "packages.lock.json", "pdm.lock", "pipfile.lock", "pixi.lock", "pnpm-lock.yaml", "podfile.lock", "poetry.lock",
        "pubspec.lock", "uv.lock", "yarn.lock",
    }
)  # fmt: skip
GENERATED_NAME = re.compile(
    r"(\.pb\.(go|cc|h|swift)|_pb2(_grpc)?\.pyi?|_pb\.(js|d\.ts)|\.pb-c\.[ch]|\.g\.(dart|cs)|\.freezed\.dart"
    r"|\.designer\.(cs|vb)|\.generated\.\w+|_generated\.\w+|(^|/)zz_generated\.[\w.]+|\.(js|css)\.map)$"
)
MINIFIED_NAME = re.compile(r"[.-]min\.(js|mjs|cjs|css)$")
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


def kind_of_path(path: str, language: str | None = None) -> KindOfFile:
    """Return the kind of file that a path indicates; if several fit, return the kind that searches weight lowest."""
    folder, _, own_name = path.rpartition("/")
    folders = _words_of(folder)
    name = own_name.lower()
    if folders & VENDORED_FOLDERS:
        return "vendored"
    if GENERATED_NAME.search(path.lower()) or MINIFIED_NAME.search(name):
        return "generated"
    if name in LOCK_FILES:
        return "lock"
    if folders & _TEST_FOLDERS or _TEST_NAME.match(own_name):
        return "test"
    if folders & _EXAMPLE_FOLDERS:
        return "example"
    return _kind_of_text(name, language, folders)


def is_minified_name(path: str) -> bool:
    """Return whether a path is named like the output of a minifier."""
    return bool(MINIFIED_NAME.search(path.lower()))


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
