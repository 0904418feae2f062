"""Modules and use declarations of Rust.

A module is written as a folder or file without its ending, and names inside it after ``::``: ``./core/src/flags`` is
``core/src/flags.rs`` or ``core/src/flags/mod.rs``. ``~folder::names`` begins at that folder or one above it, if
the path does not show the root of the crate; any other module begins with the name of its crate.
"""

import re
from collections.abc import Iterator

from tree_sitter import Node

from codequarry.ingest.symbols.imported_files import joined_path
from codequarry.ingest.symbols.naming_rules import ImportedName, NameChain, PassedOnName
from codequarry.ingest.symbols.nodes import first_named, node_text

_OWN = "self::"
_ATTRIBUTE = "attribute_item"
_PATH = re.compile(r"""\bpath\s*=\s*"([^"]+)\"""")
MODULE_WORDS = frozenset({"crate", "super", _OWN})
"""Heads of paths that begin at a known module."""
_ROOTS = frozenset({"lib", "main", "mod"})
# Folders whose files are crates of their own.
_CRATES = frozenset({"tests", "benches", "examples", "bin"})
_MAX_NESTED = 20
# A longer list of names is generated.
_MAX_NAMES = 2_000


def own_module(path: str, package: str | None) -> str:
    """Return the module of a file."""
    folder, _, file = path.rpartition("/")
    stem = file.removesuffix(".rs")
    is_root = stem in _ROOTS or folder.rpartition("/")[2] in _CRATES
    return f"./{folder}" if is_root and stem in _ROOTS else "./" + "/".join(filter(None, (folder, stem)))


def _root(path: str) -> str:
    """Return the module at the root of a file's crate, or ``~`` and the file's folder if its path does not show it."""
    folders = path.split("/")[:-1]
    if "src" in folders:
        last = len(folders) - folders[::-1].index("src")
        return "./" + "/".join(folders[:last])
    return "~" + "/".join(folders)


def module_of(module: str, path: str) -> str:
    """Return the full module that a path in a use declaration means, given the file's path."""
    head, _, rest = module.removeprefix("::").partition("::")
    if head == "crate":
        return "::".join(filter(None, (_root(path), rest)))
    if head not in {"self", "super"}:
        return module.removeprefix("::")
    base = own_module(path, None)
    while head in {"self", "super"}:
        base = base.rpartition("/")[0] if head == "super" else base
        head, _, rest = rest.partition("::")
    return "::".join(filter(None, (base, head, rest)))


def written_module(names: NameChain, around: NameChain, path: str) -> tuple[str, NameChain] | None:
    """Return the module and the names in it of a path that begins with a known module or another crate.

    ``around`` are the names of the modules around it in its file.
    """
    head = names[0]
    if head == "crate":
        return _root(path), names[1:]
    base, inside, rest = own_module(path, None), around, names[1:]
    if head == _OWN:
        return base, (*inside, *rest)
    if head != "super":
        return (head, rest) if rest and head[:1].islower() else None
    rest = names
    while rest and rest[0] == "super":
        if not inside:
            base = base.rpartition("/")[0]
        inside, rest = inside[:-1], rest[1:]
    return base, (*inside, *rest)


def imports(node: Node, data: bytes) -> list[ImportedName]:
    """Read a use declaration, a declaration of a module in another file, or one of another crate."""
    if node.type != "use_declaration":
        name = node.child_by_field_name("name")
        alias = node.child_by_field_name("alias")
        if name is None:
            return []
        word, module = node_text(name, data), "self" if node.type == "mod_item" else ""
        bound = node_text(alias, data) if alias is not None else word
        if not module:
            return [ImportedName(bound, word, place=name)]
        return [ImportedName(bound, _in_nested(node, module, data), word, name)]
    return [
        ImportedName(name, _in_nested(node, module, data), member, place)
        for name, module, member, place in _used(node, data)
    ]


def files_of(node: Node, data: bytes, path: str) -> list[str]:
    """Return where the file of a module may be that is declared without a body."""
    name = node.child_by_field_name("name") if node.type == "mod_item" else None
    if name is None or node.child_by_field_name("body") is not None:
        return []
    attribute = node.prev_named_sibling
    named = _PATH.search(node_text(attribute, data)) if attribute is not None and attribute.type == _ATTRIBUTE else None
    if named is not None:
        return [joined_path(path.rpartition("/")[0], named[1])]
    inside = _in_nested(node, "self", data).split("::")[1:]
    own, folder = own_module(path, None)[2:], path.rpartition("/")[0]
    # A file of such a folder is the root of a crate, whose modules lie beside it, or a module of another such file.
    bases = [folder, own] if folder.rpartition("/")[2] in _CRATES else [own]
    modules = ["/".join(filter(None, (base, *inside, node_text(name, data)))) for base in bases]
    return [file for module in modules for file in (f"{module}.rs", f"{module}/mod.rs")]


def passed_on(node: Node, data: bytes) -> list[PassedOnName]:
    """Read the names that a module passes on with a public use declaration."""
    found = []
    for name, module, member, _ in _used(node, data):
        module = _in_nested(node, module, data)
        if name == "*":
            found.append(PassedOnName("*", ("*",), module))
        elif name not in {"", "_"}:
            found.append(PassedOnName(name, (member,) if member else (), module))
    return found


def _in_nested(node: Node, module: str, data: bytes) -> str:
    """Return a path from the file's own module that is written in a module inside the file."""
    head, _, rest = module.partition("::")
    if head not in {"self", "super"}:
        return module
    around: list[str] = []
    outer = node.parent
    for _ in range(_MAX_NESTED):
        if outer is None:
            break
        name = outer.child_by_field_name("name") if outer.type == "mod_item" else None
        around[:0] = [node_text(name, data)] if name is not None else []
        outer = outer.parent
    while head == "super" and around:
        around.pop()
        head, _, rest = rest.partition("::") if rest.startswith("super") else ("self", "", rest)
    return "::".join(filter(None, (head, *around, rest)))


def _used(node: Node, data: bytes) -> Iterator[tuple[str, str, str, Node]]:
    """Yield each bound name of a use declaration, its module, its name there and its place."""
    argument = node.child_by_field_name("argument")
    if argument is not None:
        for count, found in enumerate(_tree(argument, "", data, 0)):
            if count >= _MAX_NAMES:
                return
            yield found


def _tree(node: Node, prefix: str, data: bytes, depth: int) -> Iterator[tuple[str, str, str, Node]]:
    kind = node.type
    if depth > _MAX_NESTED or kind in {"line_comment", "block_comment"}:
        return
    if kind == "scoped_use_list":
        path, inner = node.child_by_field_name("path"), node.child_by_field_name("list")
        prefix = _joined(prefix, _path(path, data) if path is not None else "")
        yield from _tree(inner, prefix, data, depth + 1) if inner is not None else ()
    elif kind == "use_list":
        for child in node.named_children:
            yield from _tree(child, prefix, data, depth + 1)
    elif kind == "use_wildcard":
        path = first_named(node)
        yield "*", _joined(prefix, _path(path, data) if path is not None else ""), "", node
    elif kind == "use_as_clause":
        path, alias = node.child_by_field_name("path"), node.child_by_field_name("alias")
        if path is not None and alias is not None:
            yield _one(path, prefix, node_text(alias, data), data)
    else:
        yield _one(node, prefix, "", data)


def _one(path: Node, prefix: str, alias: str, data: bytes) -> tuple[str, str, str, Node]:
    text = _path(path, data)
    place = path.child_by_field_name("name") or path
    module, _, member = _joined(prefix, "" if text == "self" and prefix else text).rpartition("::")
    return alias or member, module or member, member if module else "", place


def _joined(prefix: str, path: str) -> str:
    return f"{prefix}::{path}" if prefix and path else prefix or path


def _path(node: Node, data: bytes) -> str:
    return re.sub(r"\s+", "", node_text(node, data)).removeprefix("::")
