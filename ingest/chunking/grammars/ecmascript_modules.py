"""Imports and exports of JavaScript and TypeScript, in both module systems."""

from tree_sitter import Node

from codequarry.ingest.chunking.language_spec import ImportedModule, NamePath, child_of
from codequarry.ingest.symbols.nodes import first_named, node_text


def imported(node: Node, data: bytes) -> list[ImportedModule]:
    """Read an ``import``, ``export … from``, ``import()`` or ``require()``, with the names that it binds."""
    source = node.child_by_field_name("source") or child_of(node, "import_require_clause")
    if node.type == "call_expression":
        return _required(node, data)
    if source is None:
        return []
    clause = child_of(node, "import_clause")
    names = tuple(_bound(clause, data)) if clause is not None else ()
    return [ImportedModule(node_text(source, data).strip("\"'`"), names)]


def _required(node: Node, data: bytes) -> list[ImportedModule]:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    source = first_named(arguments) if arguments is not None else None
    if function is None or source is None or node_text(function, data) not in {"require", "import"}:
        return []
    return [ImportedModule(node_text(source, data).strip("\"'`"), _required_names(node, data))]


def _required_names(node: Node, data: bytes) -> NamePath:
    """Return the names that ``const {a, b: c} = require(…)`` binds."""
    holder = node.parent
    while holder is not None and holder.type in {"member_expression", "await_expression", "call_expression"}:
        holder = holder.parent
    pattern = holder.child_by_field_name("name") if holder is not None else None
    if pattern is None or holder is None or holder.type != "variable_declarator":
        return ()
    if pattern.type == "identifier":
        return (node_text(pattern, data),)
    return tuple(node_text(child.child_by_field_name("value") or child, data) for child in pattern.named_children)


def _bound(clause: Node, data: bytes) -> list[str]:
    names = []
    for part in clause.named_children:
        if part.type == "identifier":
            names.append(node_text(part, data))
        elif part.type == "namespace_import":
            names += [node_text(child, data) for child in part.named_children]
        else:
            specifiers = (child for child in part.named_children if child.type == "import_specifier")
            for child in specifiers:
                local = child.child_by_field_name("alias") or child.child_by_field_name("name")
                names += [node_text(local, data)] if local is not None else []
    return names


def exported_names(node: Node, data: bytes) -> list[str]:
    """Return the names of ``export {…}``, ``exports.pay = …`` or ``module.exports = …``."""
    if node.type != "assignment_expression":
        return [node_text(node, data)]
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    target = node_text(left, data).removeprefix("module.") if left is not None else ""
    if target.startswith("exports."):
        return [target.removeprefix("exports.")]
    if target != "exports" or right is None:
        return []
    pairs = [right] if right.type == "identifier" else right.named_children
    keys = [pair.child_by_field_name("key") or pair for pair in pairs]
    return [node_text(key, data) for key in keys if key.type.endswith("identifier")]


def dependency(module: str) -> str | None:
    """Return the npm package, ``@scope/name`` or the first part, or None for a relative path."""
    if module.startswith((".", "/", "#")) or not module:
        return None
    parts = module.removeprefix("node:").split("/")
    return "/".join(parts[:2]) if module.startswith("@") else parts[0]


def exported(name: str, signature: str, wrapped: bool) -> bool | None:
    """Return True in an export statement, False for private members, or else None."""
    if wrapped:
        return True
    return False if name.startswith("#") or signature.startswith("private ") else None
