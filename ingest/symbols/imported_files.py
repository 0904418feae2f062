"""Which file of the repository an import names, in languages whose imports name files."""

import posixpath
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from codequarry.ingest.symbols.naming_rules import ImportedName, NamingRules
from codequarry.ingest.symbols.scopes import ScopeTree
from codequarry.shared.relations import IMPORTED_FILE, Reference, Target

# A path with more steps up leaves the repository.
_MAX_STEPS = 50


def joined_path(folder: str, path: str) -> str:
    """Return a path below a folder of the repository, or nothing if it leaves the repository."""
    full = posixpath.normpath(posixpath.join(folder, path.lstrip("/")))
    return "" if full.startswith("..") or full == "." else full


def in_any_folder(path: str) -> str:
    """Return the pattern of a path that may lie in any folder, or nothing for an empty path."""
    parts = [part for part in path.split("/")[:_MAX_STEPS] if part not in {"", ".", ".."}]
    return "/".join(("**", *parts)) if parts else ""


def file_imports(
    nodes: Sequence[Node], rules: NamingRules, data: bytes, path: str, scopes: ScopeTree
) -> Iterator[tuple[int, Reference]]:
    """Yield a reference for each import that names a file, after the byte at which the import begins."""
    for node in nodes:
        paths = [found for found in rules.files_of(node, data, path) if found]
        if paths:
            at = node.start_byte
            target = Target("import", IMPORTED_FILE + "|".join(dict.fromkeys(paths)), (_file_name(paths),))
            yield at, Reference("import", node.start_point[0] + 1, target, scopes.definition_around(at))


def _file_name(paths: Sequence[str]) -> str:
    """Return the name by which the imports of a file are found: of a module that may be a folder, without an ending."""
    names = list(dict.fromkeys(path.rpartition("/")[2] for path in paths))
    return names[0] if len(names) == 1 else names[0].partition(".")[0]


def without_files(
    imports: Sequence[tuple[Node, ImportedName]], files: Sequence[tuple[int, Reference]]
) -> list[tuple[Node, ImportedName]]:
    """Return the imports that name no file themselves."""
    at = {start for start, _ in files}
    return [(node, found) for node, found in imports if node.start_byte not in at]
