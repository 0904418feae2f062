"""Whether a module named by an import is the file of a definition, by the conventions of each language."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from codequarry.search_api.graph.definitions import DefinedSymbol
from codequarry.shared.filters import literal_glob
from codequarry.shared.go_packages import go_package_name
from codequarry.shared.relations import OWN_TYPE

# After "#" stands what of a module of JavaScript or TypeScript is meant: the default export, or with this the file.
_FILE = "#file"
# A definition in the module itself.
EXACT = 1.0
# The module's path ends like the file's: a source root, an alias or a module name stands before it.
SUFFIX = 0.95
# The module is a folder above the file, and passes the name on.
REEXPORTED = 0.8

_EXTENSIONS = (".js", ".ts", ".mjs", ".cjs", ".mts", ".cts", ".jsx", ".tsx", ".vue", ".svelte")
_SOURCE_FOLDERS = frozenset({"src", "lib", "python", "source"})
# Families whose modules say which other modules' names they pass on.
STARS = frozenset({"ecmascript", "rust"})

MemberPath = tuple[str, ...]
ModuleReading = tuple[str, MemberPath]
"""A module and names in it that a target may mean."""


def match(module: str, names: MemberPath, found: DefinedSymbol) -> float:
    """Return how surely ``names`` of ``module`` mean a definition with the last of them: 0 to 1."""
    rule = _RULES.get(found.place.family, _by_tail)
    return max(rule(one, names, found) for one in module.split("|")) if "|" in module else rule(module, names, found)


def readings(family: str, module: str, names: MemberPath) -> list[ModuleReading]:
    """Return what names of a module may mean, the likeliest first."""
    plain, mark, _ = module.partition("#")
    if family != "ecmascript" or not mark:
        return [(module, names)]
    if module.endswith(_FILE):
        return [(module, names)]
    # Its own name first, because many files have a default export; a CommonJS module is its exports, or the file.
    rest = [(plain, names[1:])] if len(names) > 1 else [(f"{plain}{_FILE}", names)]
    return [(plain, names), (plain, ("default", *names[1:])), *rest]


@lru_cache(maxsize=65_536)
def dotted_module(path: str) -> str:
    """Return the dotted module of a Python file."""
    return path.rpartition(".")[0].replace("/", ".").removesuffix(".__init__")


def _python(module: str, names: MemberPath, found: DefinedSymbol) -> float:
    own = dotted_module(found.place.path)
    best = 0.0
    for cut in range(len(names)):
        wanted = ".".join(filter(None, (module, *names[:cut])))
        if found.path == names[cut:] and wanted:
            best = max(best, _dotted(wanted, own))
    return best


def _dotted(wanted: str, own: str) -> float:
    if own == wanted:
        return EXACT
    if own.endswith(f".{wanted}"):
        # `import redis` does not mean a module `redis` deep in a package; `import acme` may mean src/acme.
        before = own.removesuffix(f".{wanted}")
        return SUFFIX if "." in wanted or before.rpartition(".")[2] in _SOURCE_FOLDERS else 0.0
    if "." in own and wanted.endswith(f".{own}"):
        return SUFFIX
    return REEXPORTED if f".{own}.".find(f".{wanted}.") >= 0 else 0.0


@lru_cache(maxsize=65_536)
def _stem(path: str) -> str:
    folder, _, name = path.rpartition("/")
    stem = re.sub(r"(\.d)?\.\w+$", "", name)
    return f"{folder}/{stem}".strip("/")


def _ecmascript(module: str, names: MemberPath, found: DefinedSymbol) -> float:
    if found.path != names:
        return 0.0
    stem, wanted = _stem(found.place.path), _module_stem(module)
    if stem == wanted or stem == f"{wanted}/index".lstrip("/"):
        return EXACT
    if module.startswith("."):
        return 0.0
    if f"/{stem}".endswith((f"/{wanted}", f"/{wanted}/index")):
        return SUFFIX
    package = module.split("/")[1 if module.startswith("@") and "/" in module else 0]
    return REEXPORTED if f"/{stem}".find(f"/{package}/") >= 0 else 0.0


def meant_file(module: str) -> str:
    """Return the module of JavaScript or TypeScript whose file itself is meant, or nothing."""
    return module.removesuffix(_FILE) if module.startswith("./") and module.endswith(_FILE) else ""


@lru_cache(maxsize=65_536)
def module_paths(module: str) -> tuple[str, ...]:
    """Return patterns of the paths of the file of a module of JavaScript or TypeScript, the likeliest first."""
    stem = literal_glob(_module_stem(module))
    return f"{stem}.*", f"{stem}/index.*"


def is_module_file(module: str, path: str) -> bool:
    """Return whether a path is that of the file of a module of JavaScript or TypeScript."""
    wanted = _module_stem(module)
    return path.endswith(_EXTENSIONS) and _stem(path) in {wanted, f"{wanted}/index".lstrip("/")}


@lru_cache(maxsize=65_536)
def _module_stem(module: str) -> str:
    """Return a module without the end of its file name, and without the sign of an alias: ``@/shop`` is ``shop``."""
    return re.sub(r"^(?:\.|[@~#])/|\.(?:js|ts|mjs|cjs|mts|cts|jsx|tsx|vue|svelte)$", "", module)


def go_exports(names: MemberPath, found: DefinedSymbol) -> bool:
    """Return whether other Go packages can mean a definition by ``names``: it is exported, or the package itself."""
    is_package = found.definition.symbol_kind == "package" and not found.place.path.endswith("_test.go")
    return found.path == names and (names[0][:1].isupper() or is_package)


def _go(module: str, names: MemberPath, found: DefinedSymbol) -> float:
    folder = found.place.folder
    if module.startswith("./"):
        own, _, package = module[2:].partition("#")
        inside = folder == own and package == (found.place.package or "")
        return EXACT if inside and found.path == names and found.definition.symbol_kind != "package" else 0.0
    if not go_exports(names, found):
        return 0.0
    # The standard library's packages have no host; a package in a folder `errors` is not its `errors`.
    if "." not in module.partition("/")[0]:
        return 0.0
    if folder and (module.endswith(f"/{folder}") or folder.endswith(f"vendor/{module}")):
        return EXACT
    return SUFFIX if not folder and found.place.package == go_package_name(module) else 0.0


def _jvm(module: str, names: MemberPath, found: DefinedSymbol) -> float:
    # An extension is imported by its own name.
    path = found.path[-1:] if found.is_extension else found.path
    own = ".".join(filter(None, (found.place.package, *path)))
    wanted = ".".join(filter(None, (module.removesuffix(".*"), *names)))
    return EXACT if own == wanted else 0.0


@lru_cache(maxsize=65_536)
def rust_file(path: str) -> str:
    """Return the module of a Rust file: its path without the ending, or its folder for ``mod.rs`` and the like."""
    folder, _, file = path.rpartition("/")
    stem = file.removesuffix(".rs")
    return folder if stem in {"lib", "main", "mod"} else "/".join(filter(None, (folder, stem)))


def _rust(module: str, names: MemberPath, found: DefinedSymbol) -> float:
    head, _, rest = module.partition("::")
    inside = (*rest.split("::"), *names) if rest else names
    if inside[-len(found.path) :] != found.path:
        return 0.0
    own = "/".join(filter(None, (rust_file(found.place.path), *found.path)))
    wanted = "/".join(inside)
    if head.startswith("./"):
        return EXACT if own == "/".join(filter(None, (head[2:], wanted))) else 0.0
    if not head.startswith("~"):
        return 0.0
    root = own.removesuffix(wanted).rstrip("/")
    is_above = own.endswith(wanted) and (not root or f"{head[1:]}/".startswith(f"{root}/"))
    return EXACT if is_above else 0.0


def includes(module: str, path: str) -> bool:
    """Return whether one of the files that a target's module lists is a C or C++ file, or the header of one."""
    own, stem = f"/{path}", _stem(path).rpartition("/")[2]
    headers = [header for header in module.split("|") if not header.startswith(OWN_TYPE)]
    return any(own.endswith(f"/{header}") or _stem(header).rpartition("/")[2] == stem for header in headers if header)


def _c(module: str, names: MemberPath, found: DefinedSymbol) -> float:
    """Any file may define a name; which of several is nearest is decided by the place of the reference."""
    return EXACT if found.path[-len(names) :] == names else 0.0


def _by_tail(module: str, names: MemberPath, found: DefinedSymbol) -> float:
    """For other languages: the module is the package, or the path of the file ends like it."""
    if found.path != names[-len(found.path) :]:
        return 0.0
    wanted = re.sub(r"\\|::|/", ".", ".".join(filter(None, (module, *names[: -len(found.path)])))).strip(".")
    if wanted and wanted == (found.place.package or ""):
        return EXACT
    own = _stem(found.place.path).replace("/", ".")
    return SUFFIX if wanted and f".{own}".endswith(f".{wanted}") else 0.0


_RULES: Mapping[str, Callable[[str, MemberPath, DefinedSymbol], float]] = {
    "python": _python,
    "ecmascript": _ecmascript,
    "go": _go,
    "jvm": _jvm,
    "c#": _jvm,
    "php": _jvm,
    "rust": _rust,
    "c": _c,
}
