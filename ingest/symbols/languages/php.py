"""Names in PHP."""

import re
from collections.abc import Iterable

from tree_sitter import Node

from codequarry.ingest.symbols.imported_files import in_any_folder, joined_path
from codequarry.ingest.symbols.naming_rules import DefinitionKind, ImportedName, NameChain, NamingRules, data_flow_query
from codequarry.ingest.symbols.nodes import node_text
from codequarry.shared.relations import UNKNOWN

_QUERY = """
[(anonymous_function) (arrow_function)] @scope
(simple_parameter name: (variable_name) @local)
(variadic_parameter name: (variable_name) @local)
(property_promotion_parameter name: (variable_name) @local)
(property_promotion_parameter name: (variable_name (name) @member))
(assignment_expression left: (variable_name) @local)
(foreach_statement (variable_name) @local)
(catch_clause name: (variable_name) @local)
(base_clause [(name) @inherits (qualified_name (name) @inherits)])
(class_interface_clause [(name) @implements (qualified_name (name) @implements)])
(use_declaration [(name) @inherits (qualified_name (name) @inherits)])
(attribute [(name) @decorates (qualified_name (name) @decorates)])
(member_access_expression name: (name) @mention)
(class_constant_access_expression (name) (name) @mention)
"""
_DATA_FLOW = data_flow_query(
    "(function_call_expression function: [(name) @name (qualified_name (name) @name)])",
    "(member_call_expression name: (name) @name)",
    "(nullsafe_member_call_expression name: (name) @name)",
    "(scoped_call_expression name: (name) @name)",
    "(object_creation_expression [(name) @name (qualified_name (name) @name)])",
    returned=["(return_statement CALL)"],
    arguments=["(argument CALL)"],
)

_CLASS = DefinitionKind("class", "class", has_members=True)
_FIELD = DefinitionKind("property", "block")
_INSIDE = {"optional_type", "named_type", "union_type", "parenthesized_expression", "clone_expression"}
_MAX_DEPTH = 30
_USE = re.compile(r"^use\s+(?:function\s+|const\s+)?(.*?);?\s*$", re.DOTALL)
_REQUIRING = ("require_expression", "require_once_expression", "include_expression", "include_once_expression")
_REQUIRED = re.compile(r"""(?:require|include)(?:_once)?\s*\(?([^"']*)["']([^"'$]+)["']\s*\)?\s*\Z""")
_ABOVE = re.compile(r"__DIR__|dirname\(\s*__FILE__\s*\)|dirname\(\s*__DIR__\s*(?:,\s*(\d{1,2})\s*)?\)")
_MAX_STEPS = 20


def _names_of(node: Node | None, data: bytes, depth: int = 0) -> NameChain | None:
    if node is None:
        return None
    kind = node.type
    if depth > _MAX_DEPTH:
        return None
    if kind in {"name", "qualified_name", "namespace_name"}:
        return tuple(part for part in node_text(node, data).split("\\") if part) or None
    if kind in {"variable_name", "relative_scope"}:
        return (node_text(node, data),)
    if kind in {"member_call_expression", "nullsafe_member_call_expression", "member_access_expression",
                "nullsafe_member_access_expression"}:  # fmt: skip
        return _of_member(node.child_by_field_name("object"), node.child_by_field_name("name"), data, depth)
    if kind == "scoped_call_expression":
        return _of_member(node.child_by_field_name("scope"), node.child_by_field_name("name"), data, depth)
    if kind == "class_constant_access_expression" and len(node.named_children) > 1:
        return _of_member(node.named_children[0], node.named_children[1], data, depth)
    if kind == "function_call_expression":
        function = node.child_by_field_name("function")
        return _names_of(function, data, depth + 1)
    if kind == "object_creation_expression" or kind in _INSIDE:
        return _first_names(node.named_children, data, depth)
    return None


def _first_names(nodes: Iterable[Node], data: bytes, depth: int = 0) -> NameChain | None:
    return next((names for node in nodes if (names := _names_of(node, data, depth + 1))), None)


def _of_member(holder: Node | None, name: Node | None, data: bytes, depth: int) -> NameChain | None:
    if holder is None or name is None or name.type != "name":
        return None
    return (*(_names_of(holder, data, depth + 1) or (UNKNOWN,)), node_text(name, data))


def _expression_of(node: Node) -> Node:
    parent = node.parent
    if parent is None:
        return node
    if parent.type == "qualified_name":
        return parent
    is_member = parent.child_by_field_name("name") == node or parent.type == "class_constant_access_expression"
    return parent if is_member and parent.named_children[0] != node else node


def _type_of(node: Node, data: bytes) -> NameChain | None:
    """Return the names of the declared type of a definition or local, or of its value."""
    parent = node.parent
    if parent is not None and parent.type == "variable_name":
        parent = parent.parent
    if parent is None:
        return None
    holder = parent.parent if parent.type == "property_element" else parent
    declared = None
    if holder is not None:
        declared = holder.child_by_field_name("return_type") or holder.child_by_field_name("type")
    if declared is not None:
        return _names_of(declared, data)
    value = parent.child_by_field_name("right") or parent.child_by_field_name("default_value")
    return _names_of(value, data)


def _imports(node: Node, data: bytes) -> list[ImportedName]:
    r"""Read ``use A\B as C;`` and ``use A\{B, C};``."""
    found = _USE.match(" ".join(node_text(node, data).split()))
    if found is None:
        return []
    base, group, inside = found[1].partition("{")
    imported = []
    for clause in (inside.rstrip("} ") if group else base).split(","):
        name, _, alias = clause.strip().partition(" as ")
        path = ((base if group else "") + name).strip("\\ ").replace("\\", ".")
        module, _, member = path.rpartition(".")
        if member:
            imported.append(ImportedName(alias.strip() or member, module, member))
    return imported


def _files_of(node: Node, data: bytes, path: str) -> list[str]:
    """Return where a required or included file may be."""
    found = _REQUIRED.match(node_text(node, data)) if node.type.endswith(_REQUIRING) else None
    if found is None:
        return []
    before, file, folder = found[1].strip(" ."), found[2], path.rpartition("/")[0]
    if not before:
        # Beside the file, or below the folder that the program runs in.
        return [joined_path(folder, file), joined_path("", file)]
    above = _ABOVE.fullmatch(before)
    if above is None:
        # A constant or variable of the program names the folder.
        return [in_any_folder(file)] if "/" in file.strip("/") else []
    steps = int(above[1] or 1) if before.startswith("dirname") and "__DIR__" in before else 0
    return [joined_path("/".join([folder, *[".."] * min(steps, _MAX_STEPS)]), file)]


PHP_NAMES = NamingRules(
    query=_QUERY + _DATA_FLOW,
    definitions={
        "class_declaration": _CLASS,
        "interface_declaration": DefinitionKind("interface", "interface", has_members=True),
        "trait_declaration": DefinitionKind("trait", "class", has_members=True),
        "enum_declaration": DefinitionKind("enum", "enum", has_members=True),
        "function_definition": DefinitionKind("function", "function", has_locals=True),
        "method_declaration": DefinitionKind("method", "method", has_locals=True),
        "property_element": _FIELD,
        "property_promotion_parameter": _FIELD,
        "enum_case": DefinitionKind("case", "block"),
        "const_element": DefinitionKind("constant", "block"),
    },
    names_of=_names_of,
    expression_of=_expression_of,
    type_of=_type_of,
    imports=_imports,
    files_of=_files_of,
    # A function that the namespace does not have is one of the global namespace.
    own_module=lambda path, package: f"{package}|" if package else "",
    call_lists=frozenset({"arguments"}),
    lambdas=frozenset({"anonymous_function", "arrow_function"}),
    self_names=frozenset({"$this", "self", "static"}),
    super_names=frozenset({"parent"}),
    sees_package=True,
)
