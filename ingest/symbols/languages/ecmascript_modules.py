"""What modules import and pass on in JavaScript and TypeScript, in both module systems."""

import posixpath
import re
from collections.abc import Iterator

from tree_sitter import Node

from codequarry.ingest.symbols.languages.ecmascript_types import expression_names
from codequarry.ingest.symbols.naming_rules import ImportedName, NameChain, PassedOnName
from codequarry.ingest.symbols.nodes import node_text

_EXTENSION = re.compile(r"\.(?:[cm]?[jt]sx?|vue|svelte|json)$")
# Expressions that are another name of a symbol; any other is a value of its own.
_NAMES = {"identifier", "member_expression", "class", "function_expression"}
FILE = "#file"
"""After a module: the file itself."""
DEFAULT = "#default"
"""After a module: the first name means its default export, whatever that is called there."""


def imports(node: Node, data: bytes) -> list[ImportedName]:
    """Read an ``import``, ``export … from``, ``import()`` or ``require()``."""
    if node.type == "call_expression":
        return _required(node, data)
    required = _child(node, "import_require_clause")
    holder = required if required is not None else node
    module, source = _source(holder, data), holder.child_by_field_name("source")
    if not module or source is None:
        return []
    found = _file(module, source)
    clause = _child(node, "import_clause")
    if required is not None:
        found.append(_default(required.named_children[0], module, data))
    elif node.type == "export_statement":
        found += [ImportedName("", module, member, place) for _, member, place in _specifiers(node, data)]
    elif clause is not None:
        found += _bound(clause, module, data)
    return found


def _file(module: str, place: Node) -> list[ImportedName]:
    """Return a file itself, which its path names, as an import that binds nothing."""
    name = module.rstrip("/").rpartition("/")[2]
    stem = _EXTENSION.sub("", name)
    return [ImportedName("", f"{module}{FILE}", stem, place)] if module.startswith(".") and stem.strip(".") else []


def _bound(clause: Node, module: str, data: bytes) -> Iterator[ImportedName]:
    for part in clause.named_children:
        if part.type == "identifier":
            yield _default(part, module, data)
        elif part.type == "namespace_import":
            for name in part.named_children:
                yield ImportedName(node_text(name, data), module, place=name)
        else:
            for local, member, place in _specifiers(clause, data):
                yield (
                    ImportedName(local, f"{module}{DEFAULT}", local, place)
                    if member == "default"
                    else ImportedName(local, module, member, place)
                )


def _default(name: Node, module: str, data: bytes) -> ImportedName:
    return ImportedName(node_text(name, data), f"{module}{DEFAULT}", node_text(name, data), name)


def _specifiers(node: Node, data: bytes) -> Iterator[tuple[str, str, Node]]:
    """Yield the new name, the name in the module and the place of each name in braces."""
    for group in node.named_children:
        if group.type in {"named_imports", "export_clause"}:
            for child in group.named_children:
                name, alias = child.child_by_field_name("name"), child.child_by_field_name("alias")
                if name is not None:
                    yield node_text(alias if alias is not None else name, data), node_text(name, data), name


def _child(node: Node, kind: str) -> Node | None:
    return next((child for child in node.named_children if child.type == kind), None)


def _source(node: Node, data: bytes) -> str:
    source = node.child_by_field_name("source")
    return node_text(source, data).strip("\"'`") if source is not None else ""


def _required(node: Node, data: bytes) -> list[ImportedName]:
    """Read ``require("m")``: what the declaration around it binds."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    source = next(iter(arguments.named_children), None) if arguments is not None else None
    if function is None or source is None or node_text(function, data) not in {"require", "import"}:
        return []
    module = node_text(source, data).strip("\"'`")
    holder, member = node.parent, ""
    while holder is not None and holder.type in {"member_expression", "await_expression", "parenthesized_expression"}:
        found = holder.child_by_field_name("property")
        member = node_text(found, data) if found is not None and not member else member
        holder = holder.parent
    pattern = holder.child_by_field_name("name") if holder is not None else None
    found_file = _file(module, source)
    if pattern is None or holder is None or holder.type != "variable_declarator":
        return found_file
    if pattern.type == "identifier":
        name = node_text(pattern, data)
        bound = ImportedName(name, module, member, pattern) if member else _default(pattern, module, data)
        return [*found_file, bound]
    return [*found_file, *_destructured(pattern, module, data)]


def _destructured(pattern: Node, module: str, data: bytes) -> Iterator[ImportedName]:
    for child in pattern.named_children:
        key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
        left = child.child_by_field_name("left")
        if key is not None and value is not None and value.type == "identifier":
            yield ImportedName(node_text(value, data), module, node_text(key, data), key)
        elif child.type == "shorthand_property_identifier_pattern" or left is not None:
            name = node_text(left if left is not None else child, data)
            yield ImportedName(name, module, name, child)


def passed_on(node: Node, data: bytes) -> list[PassedOnName]:
    """Read an export of other names, of another module, or the default one; and those of CommonJS."""
    if node.type == "assignment_expression":
        return list(_assigned_exports(node, data))
    module = _source(node, data)
    found = []
    for name, member, _ in _specifiers(node, data):
        if module and member == "default":
            found.append(PassedOnName(name, (name,), f"{module}{DEFAULT}"))
        else:
            found.append(PassedOnName(name, (member,), module))
    namespace = _child(node, "namespace_export")
    if namespace is not None:
        found += [PassedOnName(node_text(name, data), (), module) for name in namespace.named_children]
    elif module and _child(node, "export_clause") is None:
        found.append(PassedOnName("*", (), module))
    return found or list(_default_export(node, data))


def _default_export(node: Node, data: bytes) -> Iterator[PassedOnName]:
    """Yield the default export: ``export default …`` or ``export = …``."""
    words = {child.type for child in node.children if not child.is_named}
    if not words & {"default", "="}:
        return
    value = node.child_by_field_name("value")
    declaration = node.child_by_field_name("declaration")
    if value is None and declaration is None:
        value = next((child for child in node.named_children if child.type != "comment"), None)
    if declaration is not None:
        named = declaration.child_by_field_name("name")
        yield PassedOnName("default", (node_text(named, data),) if named is not None else ())
    elif value is not None:
        yield PassedOnName("default", _value_names(value, data), is_value=value.type not in _NAMES)


def _value_names(value: Node, data: bytes) -> NameChain:
    named = value.child_by_field_name("name") if value.type in {"function_expression", "class"} else None
    return expression_names(named if named is not None else value, data) or ()


def _assigned_exports(node: Node, data: bytes) -> Iterator[PassedOnName]:
    """Yield the names of ``module.exports = …`` and ``exports.pay = …``."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return
    target = node_text(left, data).removeprefix("module.")
    if target.startswith("exports.") and "." not in target[8:]:
        names = _value_names(right, data)
        if names:
            yield PassedOnName(target[8:], names, is_value=right.type not in _NAMES)
    if target != "exports":
        return
    if right.type != "object":
        yield PassedOnName("default", _value_names(right, data), is_value=right.type not in _NAMES)
        return
    for child in right.named_children:
        key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
        if child.type == "shorthand_property_identifier":
            yield PassedOnName(node_text(child, data), (node_text(child, data),))
        elif key is not None and value is not None and (held := expression_names(value, data)):
            yield PassedOnName(node_text(key, data).strip("\"'"), held, is_value=value.type not in _NAMES)


def module_of(module: str, path: str) -> str:
    """Return a relative module as a path from the root of the repository, after ``./``; others as they are."""
    if not module.startswith("."):
        return module
    name, mark, meaning = module.partition("#")
    full = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    return f"./{'' if full == '.' else full}{mark}{meaning}"
