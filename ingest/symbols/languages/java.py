"""Names in Java."""

from collections.abc import Iterable

from tree_sitter import Node

from codequarry.ingest.symbols.languages.jvm import ELEMENT_CALLS, RESULT_TYPES, RUNTIME, TRANSPARENT, imports
from codequarry.ingest.symbols.naming_rules import DefinitionKind, NameChain, NamingRules, data_flow_query
from codequarry.ingest.symbols.nodes import node_text
from codequarry.shared.relations import UNKNOWN

_QUERY = """
[(block) (lambda_expression) (for_statement) (enhanced_for_statement) (try_with_resources_statement) (catch_clause)
 (switch_block_statement_group) (switch_rule) (constructor_body)] @scope
[(field_access) (scoped_type_identifier) (scoped_identifier) (method_reference)] @qualified
(method_invocation) @named
(formal_parameter name: (identifier) @local)
(spread_parameter (variable_declarator name: (identifier) @local))
(local_variable_declaration declarator: (variable_declarator name: (identifier) @local))
(enhanced_for_statement name: (identifier) @local)
(resource name: (identifier) @local)
(catch_formal_parameter name: (identifier) @local)
(lambda_expression parameters: (identifier) @local)
(inferred_parameters (identifier) @local)
(instanceof_expression name: (identifier) @local)
(type_pattern (identifier) @local)
(record_pattern_component (identifier) @local)
(type_parameter (type_identifier) @local)
(record_declaration parameters: (formal_parameters (formal_parameter name: (identifier) @property)))
(superclass [(type_identifier) @inherits (scoped_type_identifier (type_identifier) @inherits .)
  (generic_type [(type_identifier) @inherits (scoped_type_identifier (type_identifier) @inherits .)])])
(extends_interfaces (type_list [(type_identifier) @inherits (scoped_type_identifier (type_identifier) @inherits .)
  (generic_type [(type_identifier) @inherits (scoped_type_identifier (type_identifier) @inherits .)])]))
(super_interfaces (type_list [(type_identifier) @implements (scoped_type_identifier (type_identifier) @implements .)
  (generic_type [(type_identifier) @implements (scoped_type_identifier (type_identifier) @implements .)])]))
(annotation name: [(identifier) @decorates (scoped_identifier name: (identifier) @decorates)])
(marker_annotation name: [(identifier) @decorates (scoped_identifier name: (identifier) @decorates)])
(method_invocation object: (identifier) @mention)
(method_reference . (identifier) @mention)
(argument_list (identifier) @mention)
(field_access object: (identifier) @mention)
(field_access field: (identifier) @mention)
(assignment_expression (identifier) @mention)
(variable_declarator value: (identifier) @mention)
(return_statement (identifier) @mention)
(binary_expression (identifier) @mention)
(unary_expression (identifier) @mention)
(update_expression (identifier) @mention)
(ternary_expression (identifier) @mention)
(parenthesized_expression (identifier) @mention)
(cast_expression value: (identifier) @mention)
(array_access (identifier) @mention)
(array_initializer (identifier) @mention)
(enhanced_for_statement value: (identifier) @mention)
(element_value_pair value: (identifier) @mention)
(lambda_expression body: (identifier) @mention)
"""
_DATA_FLOW = data_flow_query(
    "(method_invocation name: (identifier) @name)",
    """(object_creation_expression type: [(type_identifier) @name (generic_type (type_identifier) @name)
      (scoped_type_identifier (type_identifier) @name .)])""",
    returned=["(return_statement CALL)"],
    arguments=["(argument_list CALL)"],
)

_METHOD = DefinitionKind("method", "method", has_locals=True)
_CONSTRUCTOR = DefinitionKind("constructor", "method", has_locals=True)
_FIELD = DefinitionKind("field", "block")
_CLASS = DefinitionKind("class", "class", has_members=True)
_CONSTANT_WITH_BODY = DefinitionKind("enum constant", "block", has_members=True)
_INSIDE = {"parenthesized_expression", "annotated_type", "array_type", "array_access", "type_bound", "catch_type"}
_MAX_DEPTH = 30
_LITERALS = {
    "string_literal": "String", "character_literal": "char", "true": "boolean", "false": "boolean",
    "null_literal": "null", "decimal_floating_point_literal": "double", "hex_integer_literal": "int",
    "lambda_expression": "->", "method_reference": "->", "class_literal": "Class",
}  # fmt: skip


def _names_of(node: Node | None, data: bytes, depth: int = 0) -> NameChain | None:
    if node is None:
        return None
    kind = node.type
    if depth > _MAX_DEPTH:
        return None
    if kind in {"identifier", "type_identifier", "this", "super"}:
        return (node_text(node, data),)
    if kind in {"field_access", "method_invocation", "scoped_identifier"}:
        return _of_member(node, data, depth)
    if kind in {"object_creation_expression", "cast_expression"}:
        type_ = node.child_by_field_name("type")
        return _names_of(type_, data, depth + 1)
    if kind == "scoped_type_identifier":
        return tuple(name for part in node.named_children for name in _names_of(part, data, depth + 1) or ())
    if kind == "generic_type":
        return _of_generic(node, data, depth)
    if kind == "method_reference":
        first, *rest = node.named_children
        return (*(_names_of(first, data, depth + 1) or (UNKNOWN,)), node_text(rest[-1], data)) if rest else None
    if kind in {"ternary_expression", "assignment_expression"}:
        return _first_names(node.named_children[1:], data, depth)
    return _first_names(node.named_children, data, depth) if kind in _INSIDE else None


def _first_names(nodes: Iterable[Node], data: bytes, depth: int) -> NameChain | None:
    return next((names for node in nodes if (names := _names_of(node, data, depth + 1))), None)


def _of_member(node: Node, data: bytes, depth: int) -> NameChain | None:
    """Return the names of a field or call; ``Outer.this.x`` is ``Outer.x``, as is ``Outer.super.x``."""
    holder = node.child_by_field_name("object") or node.child_by_field_name("scope")
    name = node.child_by_field_name("name") or node.child_by_field_name("field")
    if name is None:
        return None
    own = () if name.type in {"this", "super"} else (node_text(name, data),)
    if holder is None:
        return own
    return (*(_names_of(holder, data, depth + 1) or (UNKNOWN,)), *own)


def _of_generic(node: Node, data: bytes, depth: int) -> NameChain | None:
    first, *rest = node.named_children
    outer = _names_of(first, data, depth + 1)
    if outer is None or outer[-1] not in TRANSPARENT or not rest:
        return outer
    inner = _first_names(reversed(rest[-1].named_children), data, depth)
    return inner if inner is not None else outer


def _type_of(node: Node, data: bytes) -> NameChain | None:
    """Return the names of the type of a definition or local; ``var`` has that of its value."""
    parent = node.parent
    if parent is None:
        return None
    if parent.type == "enum_constant":
        body = parent.parent
        holder = body.parent if body is not None else None
        name = holder.child_by_field_name("name") if holder is not None else None
        return (node_text(name, data),) if name is not None else None
    if parent.type in {"lambda_expression", "inferred_parameters"}:
        return _element_names(node, parent, data)
    if parent.type in {"catch_formal_parameter", "type_pattern", "record_pattern_component"}:
        return _first_names((child for child in parent.named_children if child != node), data, 0)
    if parent.type == "instanceof_expression":
        right = parent.child_by_field_name("right")
        return _names_of(right, data)
    if parent.type == "type_parameter":
        return _first_names(parent.named_children[1:], data, 0)
    holder = parent.parent if parent.type == "variable_declarator" else parent
    declared = holder.child_by_field_name("type") if holder is not None else None
    if declared is None and holder is not None and holder.type == "spread_parameter":
        return _first_names(holder.named_children[:-1], data, 0)
    if declared is None or node_text(declared, data) != "var":
        return _names_of(declared, data)
    value = parent.child_by_field_name("value")
    return _names_of(value, data)


def _evident_type(node: Node, data: bytes) -> tuple[str, str]:
    """Return the type of an argument, or the name of the variable or own method that has it."""
    kind = node.type
    if kind in _LITERALS:
        return _LITERALS[kind], ""
    if kind == "decimal_integer_literal":
        return "long" if data[node.end_byte - 1] in b"lL" else "int", ""
    if kind == "identifier":
        return "", node_text(node, data)
    if kind in {"object_creation_expression", "cast_expression"}:
        return _type_word(node.child_by_field_name("type"), data), ""
    if kind == "method_invocation":
        name = node.child_by_field_name("name")
        called = node_text(name, data) if name is not None else ""
        return RESULT_TYPES.get(called, ""), called if node.child_by_field_name("object") is None else ""
    if kind == "binary_expression":
        parts = (node.child_by_field_name("left"), node.child_by_field_name("right"))
        types = {_evident_type(part, data)[0] for part in parts if part is not None}
        return "String" if "String" in types else "", ""
    return "", ""


def _type_word(type_: Node | None, data: bytes) -> str:
    """Return a type as a parameter writes it, without packages and type arguments."""
    if type_ is None:
        return ""
    text = node_text(type_, data)
    rank = "[]" * text.count("[]") if type_.type == "array_type" else ""
    return text.partition("<")[0].partition("[")[0].strip().rpartition(".")[2] + rank


def _declared_type(name: Node, data: bytes) -> str:
    parent = name.parent
    holder = parent.parent if parent is not None and parent.type == "variable_declarator" else parent
    if holder is None or holder.type == "spread_parameter":
        return _type_word(holder.named_children[-2], data) + "[]" if holder is not None else ""
    word = _type_word(holder.child_by_field_name("type"), data)
    return word if word != "var" else ""


def _element_names(parameter: Node, holder: Node, data: bytes) -> NameChain | None:
    """Return the names of ``xs`` for the parameter of a function that ``xs.forEach`` or the like calls."""
    function = holder.parent if holder.type == "inferred_parameters" else holder
    if function is None or (holder.type == "inferred_parameters" and holder.named_children[0] != parameter):
        return None
    call = function.parent.parent if function.parent is not None else None
    if call is None or call.type != "method_invocation":
        return None
    names = _names_of(call, data)
    return names[:-1] or None if names is not None and names[-1] in ELEMENT_CALLS else None


def _kind_of(node: Node, kind: DefinitionKind, data: bytes) -> DefinitionKind:
    """Return the kind of a definition; the body of an enum constant is that of a class of its own."""
    has_body = node.type == "enum_constant" and node.child_by_field_name("body") is not None
    return _CONSTANT_WITH_BODY if has_body else kind


JAVA_NAMES = NamingRules(
    query=_QUERY + _DATA_FLOW,
    definitions={
        "class_declaration": _CLASS,
        "interface_declaration": DefinitionKind("interface", "interface", has_members=True),
        "annotation_type_declaration": DefinitionKind("annotation", "interface", has_members=True),
        "enum_declaration": DefinitionKind("enum", "enum", has_members=True),
        "record_declaration": DefinitionKind("record", "class", has_members=True),
        "method_declaration": _METHOD,
        "annotation_type_element_declaration": DefinitionKind("element", "method", has_locals=True),
        "constructor_declaration": _CONSTRUCTOR,
        "enum_constant": DefinitionKind("enum constant", "block"),
        "field_declaration": _FIELD,
        "constant_declaration": DefinitionKind("constant", "block"),
        "formal_parameter": DefinitionKind("component", "block"),
    },
    kind_of=_kind_of,
    names_of=_names_of,
    type_of=_type_of,
    imports=imports,
    call_lists=frozenset({"argument_list"}),
    lambdas=frozenset({"lambda_expression"}),
    self_names=frozenset({"this"}),
    super_names=frozenset({"super"}),
    sees_members=True,
    has_overloads=True,
    evident_type=_evident_type,
    declared_type=_declared_type,
    sees_package=True,
    runtime=RUNTIME,
)
