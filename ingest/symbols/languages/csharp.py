"""Names in C#."""

import re
from collections.abc import Iterable

from tree_sitter import Node

from codequarry.ingest.symbols.naming_rules import (
    DefinitionKind,
    ImportedName,
    NameChain,
    NamingRules,
    data_flow_query,
    words,
)
from codequarry.ingest.symbols.nodes import node_text
from codequarry.shared.relations import UNKNOWN

_QUERY = """
[(block) (lambda_expression) (for_statement) (foreach_statement) (using_statement) (catch_clause)
 (switch_section)] @scope
(parameter name: (identifier) @local)
(variable_declarator name: (identifier) @local)
(foreach_statement left: (identifier) @local)
(catch_declaration name: (identifier) @local)
(declaration_pattern name: (identifier) @local)
(type_parameter name: (identifier) @local)
(base_list [(identifier) @inherits (generic_name (identifier) @inherits) (qualified_name name: (identifier) @inherits)])
(attribute name: (identifier) @decorates)
(argument (identifier) @mention)
(return_statement (identifier) @mention)
(assignment_expression (identifier) @mention)
(member_access_expression expression: (identifier) @mention)
(member_access_expression name: (identifier) @mention)
"""
_DATA_FLOW = data_flow_query(
    """(invocation_expression function: [(identifier) @name (generic_name (identifier) @name)
      (member_access_expression name: [(identifier) @name (generic_name (identifier) @name)])
      (conditional_access_expression (member_binding_expression name: (identifier) @name))])""",
    """(object_creation_expression type: [(identifier) @name (generic_name (identifier) @name)
      (qualified_name name: (identifier) @name)])""",
    returned=[
        "(return_statement [CALL (await_expression CALL)])",
        "(arrow_expression_clause [CALL (await_expression CALL)])",
    ],
    arguments=["(argument [CALL (await_expression CALL)])"],
)

_CLASS = DefinitionKind("class", "class", has_members=True)
_METHOD = DefinitionKind("method", "method", has_locals=True)
_FIELD = DefinitionKind("field", "block")
# Wrappers whose last argument is the type that matters.
_TRANSPARENT = words(
    "Task ValueTask List IList IEnumerable ICollection IReadOnlyList IReadOnlyCollection IQueryable Dictionary",
    "IDictionary HashSet Nullable Lazy Queue Stack IAsyncEnumerable ConcurrentDictionary ImmutableArray",
    "ImmutableList",
)
_INSIDE = {
    "await_expression", "parenthesized_expression", "nullable_type", "array_type", "element_access_expression",
    "type_parameter_constraint", "postfix_unary_expression",
}  # fmt: skip
_RUNTIME = "string object int bool String Object Console Math Exception Task Type Convert Guid DateTime nameof var"
_USING = re.compile(r"^(?:global\s+)?using\s+(static\s+)?(?:(\w+)\s*=\s*)?([\w.]+)")
_MAX_DEPTH = 30


def _names_of(node: Node | None, data: bytes, depth: int = 0) -> NameChain | None:
    if node is None:
        return None
    kind = node.type
    if depth > _MAX_DEPTH:
        return None
    if kind in {"identifier", "this", "base"}:
        return (node_text(node, data),)
    if kind in {"member_access_expression", "qualified_name", "conditional_access_expression"}:
        return _of_member(node, data, depth)
    if kind in {"invocation_expression", "object_creation_expression", "cast_expression"}:
        inner = node.child_by_field_name("function") or node.child_by_field_name("type")
        return _names_of(inner, data, depth + 1)
    if kind == "as_expression":
        return _first_names(reversed(node.named_children), data, depth)
    if kind == "generic_name":
        outer, arguments = node.named_children[0], node.named_children[-1]
        names = (node_text(outer, data),)
        if names[0] not in _TRANSPARENT or arguments.type != "type_argument_list":
            return names
        return _first_names(reversed(arguments.named_children), data, depth) or names
    return _first_names(node.named_children, data, depth) if kind in _INSIDE else None


def _first_names(nodes: Iterable[Node], data: bytes, depth: int = 0) -> NameChain | None:
    return next((names for node in nodes if (names := _names_of(node, data, depth + 1))), None)


def _of_member(node: Node, data: bytes, depth: int) -> NameChain | None:
    """Return the names of ``a.B``, ``a?.B`` and ``A.B``."""
    children = node.named_children
    if len(children) < 2:
        return None
    first, last = children[0], children[-1]
    name = last.named_children[-1] if last.type == "member_binding_expression" and last.named_children else last
    own = name.named_children[0] if name.type == "generic_name" else name
    if own.type != "identifier":
        return _names_of(last, data, depth + 1)
    return (*(_names_of(first, data, depth + 1) or (UNKNOWN,)), node_text(own, data))


def _expression_of(node: Node) -> Node:
    parent = node.parent
    if parent is not None and parent.type == "generic_name" and parent.named_children[0] == node:
        node, parent = parent, parent.parent
    if parent is not None and parent.type == "member_binding_expression":
        return parent.parent or node
    is_last = parent is not None and parent.named_children[-1] == node
    return (
        parent
        if parent is not None and is_last and parent.type in {"member_access_expression", "qualified_name"}
        else (node.named_children[0] if node.type == "generic_name" else node)
    )


def _type_of(node: Node, data: bytes) -> NameChain | None:
    """Return the names of the declared type of a definition or local, or of its value."""
    parent = node.parent
    if parent is None:
        return None
    holder = parent.parent if parent.type == "variable_declarator" else parent
    declared = None
    if holder is not None:
        declared = holder.child_by_field_name("returns") or holder.child_by_field_name("type")
    if declared is not None and declared.type != "implicit_type":
        return _names_of(declared, data)
    if parent.type == "foreach_statement":
        right = parent.child_by_field_name("right")
        return _names_of(right, data)
    return _first_names(parent.named_children[1:], data) if parent.type == "variable_declarator" else None


def _imports(node: Node, data: bytes) -> list[ImportedName]:
    """Read ``using A.B;``, ``using static A.B;`` and ``using C = A.B;``."""
    found = _USING.match(node_text(node, data))
    if found is None:
        return []
    alias, module = found[2], found[3]
    if not alias:
        return [ImportedName("*", module)]
    before, _, name = module.rpartition(".")
    return [ImportedName(alias, before, name)] if before else []


def _own_module(path: str, package: str | None) -> str:
    """Return the namespace and those around it, whose names a file sees too."""
    parts = (package or "").split(".")
    return "|".join(".".join(parts[:size]) for size in range(len(parts), 0, -1))


CSHARP_NAMES = NamingRules(
    query=_QUERY + _DATA_FLOW,
    definitions={
        "class_declaration": _CLASS,
        "struct_declaration": DefinitionKind("struct", "class", has_members=True),
        "record_declaration": DefinitionKind("record", "class", has_members=True),
        "interface_declaration": DefinitionKind("interface", "interface", has_members=True),
        "enum_declaration": DefinitionKind("enum", "enum", has_members=True),
        "enum_member_declaration": DefinitionKind("enum member", "block"),
        "delegate_declaration": DefinitionKind("delegate", "interface", has_locals=True),
        "method_declaration": _METHOD,
        "local_function_statement": DefinitionKind("function", "function", has_locals=True),
        "constructor_declaration": DefinitionKind("constructor", "method", has_locals=True),
        "property_declaration": DefinitionKind("property", "block", has_locals=True),
        "event_declaration": _FIELD,
        "field_declaration": _FIELD,
        "event_field_declaration": _FIELD,
    },
    names_of=_names_of,
    expression_of=_expression_of,
    type_of=_type_of,
    imports=_imports,
    own_module=_own_module,
    call_lists=frozenset({"argument_list"}),
    lambdas=frozenset({"lambda_expression"}),
    self_names=frozenset({"this"}),
    super_names=frozenset({"base"}),
    sees_members=True,
    sees_package=True,
    has_overloads=True,
    runtime=frozenset(_RUNTIME.split()),
)
