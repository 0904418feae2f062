"""Names in Kotlin."""

from collections.abc import Iterable

from tree_sitter import Node

from codequarry.ingest.symbols.languages.jvm import ELEMENT_CALLS, RUNTIME, TRANSPARENT, imports
from codequarry.ingest.symbols.naming_rules import DefinitionKind, NameChain, NamingRules, data_flow_query
from codequarry.ingest.symbols.nodes import node_text
from codequarry.shared.relations import UNKNOWN

_QUERY = """
[(lambda_literal) (control_structure_body) (getter) (setter) (anonymous_initializer) (secondary_constructor)
 (when_entry) (catch_block) (for_statement) (anonymous_function)] @scope
(parameter (simple_identifier) @local)
(class_parameter (simple_identifier) @local)
(variable_declaration (simple_identifier) @local)
(catch_block . (simple_identifier) @local)
(type_parameter (type_identifier) @local)
(delegation_specifier [(constructor_invocation (user_type (type_identifier) @inherits))
  (user_type (type_identifier) @implements) (explicit_delegation (user_type (type_identifier) @implements))])
(annotation [(user_type (type_identifier) @decorates)
  (constructor_invocation (user_type (type_identifier) @decorates))])
(callable_reference (simple_identifier) @call)
(infix_expression . (_) . (simple_identifier) @call)
(navigation_expression . (simple_identifier) @mention)
(navigation_suffix (simple_identifier) @mention)
(value_argument (simple_identifier) @mention)
(jump_expression (simple_identifier) @mention)
(property_declaration (simple_identifier) @mention)
(assignment (simple_identifier) @mention)
(directly_assignable_expression (simple_identifier) @mention)
(infix_expression (simple_identifier) @mention)
(additive_expression (simple_identifier) @mention)
(comparison_expression (simple_identifier) @mention)
(equality_expression (simple_identifier) @mention)
(elvis_expression (simple_identifier) @mention)
(interpolated_expression (simple_identifier) @mention)
(function_body (simple_identifier) @mention)
(indexing_expression (simple_identifier) @mention)
"""
_DATA_FLOW = data_flow_query(
    """(call_expression . [(simple_identifier) @name
      (navigation_expression (navigation_suffix (simple_identifier) @name))])""",
    returned=['(jump_expression "return" CALL)', "(function_body CALL)"],
    arguments=["(value_argument CALL)"],
)

_CLASS = DefinitionKind("class", "class", has_members=True)
_INTERFACE = DefinitionKind("interface", "interface", has_members=True)
_ENUM = DefinitionKind("enum", "enum", has_members=True)
_FUNCTION = DefinitionKind("function", "function", has_locals=True)
# The members of a type that are defined outside of it; they may be in any file.
_EXTENSION = DefinitionKind("extension", "function", has_locals=True)
_TYPES = {"user_type", "nullable_type", "parenthesized_type", "non_nullable_type"}
_INSIDE = {
    "postfix_expression", "indexing_expression", "nullable_type", "parenthesized_type", "parenthesized_expression",
    "type_projection", "elvis_expression", "constructor_invocation", "non_nullable_type", "delegation_specifier",
    "call_expression", "property_delegate", "value_argument", "spread_expression",
}  # fmt: skip
_MAX_DEPTH = 30
# `it` belongs to the lambda around it; statements nested deeper are rare.
_MAX_CLIMB = 12


def _names_of(node: Node, data: bytes, depth: int = 0) -> NameChain | None:
    kind = node.type
    if depth > _MAX_DEPTH:
        return None
    if kind == "simple_identifier" and data[node.start_byte : node.end_byte] == b"it":
        return _of_it(node, data, depth)
    if kind in {"simple_identifier", "type_identifier"}:
        return (node_text(node, data),)
    if kind in {"this_expression", "super_expression"}:
        label = next(iter(node.named_children), None)
        return (node_text(label, data),) if label is not None else (kind.removesuffix("_expression"),)
    if kind in {"navigation_expression", "callable_reference"}:
        return _of_member(node, data, depth)
    if kind == "as_expression":
        return _first_names(reversed(node.named_children), data, depth)
    if kind == "user_type":
        return _of_type(node, data, depth)
    if kind == "object_literal":
        return _first_names(node.named_children, data, depth)
    return _first_names(node.named_children, data, depth) if kind in _INSIDE else None


def _first_names(nodes: Iterable[Node], data: bytes, depth: int) -> NameChain | None:
    return next((names for node in nodes if (names := _names_of(node, data, depth + 1))), None)


def _of_member(node: Node, data: bytes, depth: int) -> NameChain | None:
    children = node.named_children
    last = children[-1] if children else None
    if last is not None and last.type == "navigation_suffix":
        last = next(iter(last.named_children), None)
    if last is None or last.type != "simple_identifier":
        return None
    if len(children) == 1:
        return (node_text(last, data),)
    return (*(_names_of(children[0], data, depth + 1) or (UNKNOWN,)), node_text(last, data))


def _of_type(node: Node, data: bytes, depth: int) -> NameChain | None:
    names = tuple(node_text(child, data) for child in node.named_children if child.type == "type_identifier")
    arguments = node.named_children[-1] if node.named_children else None
    if not names or names[-1] not in TRANSPARENT or arguments is None or arguments.type != "type_arguments":
        return names or None
    return _first_names(reversed(arguments.named_children), data, depth) or names


def _of_it(node: Node, data: bytes, depth: int) -> NameChain | None:
    """Return the names of ``xs`` for ``it`` in ``xs.forEach { it… }``."""
    current = node.parent
    for _ in range(_MAX_CLIMB):
        if current is None or current.type == "lambda_literal":
            break
        current = current.parent
    return _element_names(current, data, depth) or (UNKNOWN,)


def _element_names(function: Node | None, data: bytes, depth: int) -> NameChain | None:
    call = function.parent if function is not None and function.type == "lambda_literal" else None
    while call is not None and call.type in {"annotated_lambda", "call_suffix"}:
        call = call.parent
    if call is None or call.type != "call_expression" or not call.named_children:
        return None
    names = _names_of(call.named_children[0], data, depth + 1)
    return names[:-1] or None if names is not None and names[-1] in ELEMENT_CALLS else None


def _expression_of(node: Node) -> Node:
    parent = node.parent
    if parent is not None and parent.type == "navigation_suffix" and parent.parent is not None:
        return parent.parent
    if parent is None or parent.type not in {"user_type", "callable_reference"}:
        return node
    last = [child for child in parent.named_children if child.type.endswith("identifier")][-1:]
    return parent if parent.type == "callable_reference" and last == [node] else _outer_type(node, parent, last)


def _outer_type(node: Node, parent: Node, last: list[Node]) -> Node:
    """Return the whole of ``Outer.Inner`` for its last name; a wrapper such as ``List`` means itself."""
    several = sum(child.type == "type_identifier" for child in parent.named_children) > 1
    return parent if several and last == [node] else node


def _type_of(node: Node, data: bytes) -> NameChain | None:
    """Return the names of the declared type of a definition or local, or of its value."""
    parent = node.parent
    if parent is None:
        return None
    if parent.type == "enum_entry":
        body = parent.parent
        holder = body.parent.named_children if body is not None and body.parent is not None else []
        return next(((node_text(child, data),) for child in holder if child.type == "type_identifier"), None)
    if parent.type == "type_parameter":
        return _first_names(parent.named_children[1:], data, 0)
    receiver = parent.child_by_field_name("receiver")
    declared = [child for child in parent.named_children if child.type in _TYPES and child != receiver]
    if declared:
        return _names_of(declared[0], data)
    if parent.type == "function_declaration":
        return _of_body(parent.named_children[-1], data)
    return _value_names(parent, data) if parent.type == "variable_declaration" else None


def _of_body(body: Node, data: bytes) -> NameChain | None:
    inner = body.named_children[0] if body.type == "function_body" and body.named_children else None
    return _names_of(inner, data) if inner is not None and inner.type != "statements" else None


def _value_names(variable: Node, data: bytes) -> NameChain | None:
    holder = variable.parent
    if holder is None or holder.type == "multi_variable_declaration":
        return None
    if holder.type == "lambda_parameters":
        return _element_names(holder.parent, data, 0)
    after = [child for child in holder.named_children if child.start_byte >= variable.end_byte]
    if not after or holder.type not in {"property_declaration", "for_statement"}:
        return None
    if after[0].type == "getter":
        return _of_body(after[0].named_children[-1], data) if after[0].named_children else None
    return _of_delegate(after[0], data) if after[0].type == "property_delegate" else _names_of(after[0], data)


def _of_delegate(delegate: Node, data: bytes) -> NameChain | None:
    """Return the names of the value of ``by lazy { … }``."""
    node: Node | None = delegate
    while node is not None and node.type != "statements":
        node = node.named_children[-1] if node.named_children else None
    return _names_of(node.named_children[-1], data) if node is not None and node.named_children else None


def _kind_of(node: Node, kind: DefinitionKind, data: bytes) -> DefinitionKind | None:
    if kind is _FUNCTION:
        return _EXTENSION if node.child_by_field_name("receiver") is not None else kind
    if kind is not _CLASS:
        return kind
    words = {child.type for child in node.children}
    if "interface" in words:
        return _INTERFACE
    return _ENUM if words & {"enum", "enum_class_body"} else kind


def _owner_of(node: Node, data: bytes) -> NameChain:
    receiver = node.child_by_field_name("receiver") if node.type == "function_declaration" else None
    names = _first_names(receiver.named_children, data, 0) if receiver is not None else None
    return names[-1:] if names is not None else ()


KOTLIN_NAMES = NamingRules(
    query=_QUERY + _DATA_FLOW,
    definitions={
        "class_declaration": _CLASS,
        "object_declaration": DefinitionKind("object", "class", has_members=True),
        # The members of a companion are called as those of the class around it.
        "companion_object": DefinitionKind("companion", "block"),
        "function_declaration": _FUNCTION,
        "property_declaration": DefinitionKind("property", "block"),
        "class_parameter": DefinitionKind("property", "block"),
        "enum_entry": DefinitionKind("enum entry", "block"),
        "type_alias": DefinitionKind("typealias", "class", has_members=True),
    },
    names_of=_names_of,
    kind_of=_kind_of,
    expression_of=_expression_of,
    type_of=_type_of,
    owner_of=_owner_of,
    imports=imports,
    call_lists=frozenset({"call_suffix"}),
    # A return in a lambda is one of the function around it.
    lambdas=frozenset({"anonymous_function"}),
    self_names=frozenset({"this"}),
    super_names=frozenset({"super"}),
    sees_members=True,
    sees_package=True,
    builtins=RUNTIME,
)
