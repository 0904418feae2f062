"""Names in Go."""

from dataclasses import replace

from tree_sitter import Node

from codequarry.ingest.symbols.languages.golang_types import INNER, expression_names, type_of
from codequarry.ingest.symbols.naming_rules import (
    DefinitionKind,
    ImportedName,
    NameChain,
    NamingRules,
    data_flow_query,
    words,
)
from codequarry.ingest.symbols.nodes import first_named, inner_node, node_text
from codequarry.shared.go_packages import go_package_name

_QUERY = """
[(func_literal) (block) (if_statement) (for_statement) (expression_switch_statement) (type_switch_statement)
  (expression_case) (default_case) (communication_case)] @scope
(type_case) @scope @narrowed
[(selector_expression) (qualified_type)] @qualified
(keyed_element key: (literal_element (identifier))) @keyed
(package_clause (package_identifier) @property)
(parameter_declaration name: (identifier) @local)
(variadic_parameter_declaration name: (identifier) @local)
(type_parameter_declaration name: (identifier) @local)
(short_var_declaration left: (expression_list (identifier) @local))
(range_clause left: (expression_list (identifier) @local))
(receive_statement left: (expression_list (identifier) @local))
(type_switch_statement alias: (expression_list (identifier) @local))
(statement_list (var_declaration (var_spec name: (identifier) @local)))
(statement_list (var_declaration (var_spec_list (var_spec name: (identifier) @local))))
(statement_list (const_declaration (const_spec name: (identifier) @local)))
(field_declaration !name type: [(type_identifier) @property @inherits
  (qualified_type name: (type_identifier) @property @inherits)
  (generic_type type: [(type_identifier) @property @inherits
    (qualified_type name: (type_identifier) @property @inherits)])])
(interface_type (type_elem . [(type_identifier) @inherits (qualified_type name: (type_identifier) @inherits)
  (generic_type type: (type_identifier) @inherits)] .))
(call_expression function: (parenthesized_expression (unary_expression (identifier) @type)))
(composite_literal type: (type_identifier) @type)
(selector_expression field: (field_identifier) @mention)
(selector_expression operand: (identifier) @mention)
(argument_list (identifier) @mention)
(expression_list (identifier) @mention)
(binary_expression (identifier) @mention)
(unary_expression (identifier) @mention)
(index_expression (identifier) @mention)
(slice_expression (identifier) @mention)
(if_statement condition: (identifier) @mention)
(range_clause right: (identifier) @mention)
(literal_element (identifier) @mention)
(const_spec type: (type_identifier) @type)
"""
_DATA_FLOW = data_flow_query(
    "(call_expression function: [(identifier) @name (selector_expression field: (field_identifier) @name)])",
    returned=["(return_statement (expression_list CALL))"],
    arguments=["(argument_list CALL)"],
)

_BUILTIN_TYPES = words(
    "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune",
    "string uint uint8 uint16 uint32 uint64 uintptr",
)
_BUILTINS = words(
    "append cap clear close complex copy delete imag len make max min new panic print println real recover",
    "true false nil iota _",
)


def _kind_of(node: Node, kind: DefinitionKind, data: bytes) -> DefinitionKind:
    if node.type == "type_spec":
        declared = node.child_by_field_name("type")
        return _TYPES.get(declared.type, kind) if declared is not None else kind
    if node.type in {"var_spec", "field_declaration"} and _holds_fields(node):
        return replace(kind, has_members=True)
    return kind


def _holds_fields(node: Node) -> bool:
    """Return whether a variable or field has a struct type without a name: ``var cases = []struct{ … }{ … }``."""
    type_ = node.child_by_field_name("type")
    values = node.child_by_field_name("value") if type_ is None else None
    inner = first_named(values) if values is not None else type_
    for _ in range(4):
        if inner is None or inner.type not in INNER or inner.type == "parenthesized_expression":
            break
        inner = inner_node(inner, INNER)
    return inner is not None and inner.type == "struct_type"


def _owner_of(node: Node, data: bytes) -> NameChain:
    receiver = node.child_by_field_name("receiver")
    parameter = first_named(receiver) if receiver is not None else None
    type_ = parameter.child_by_field_name("type") if parameter is not None else None
    return (expression_names(type_, data) or ()) if type_ is not None else ()


def _narrowed(node: Node, data: bytes) -> tuple[str, NameChain] | None:
    """Read the case of a type switch that has one type."""
    types = node.children_by_field_name("type")
    alias = node.parent.child_by_field_name("alias") if node.parent is not None else None
    names = expression_names(types[0], data) if len(types) == 1 and alias is not None else None
    return (node_text(alias, data), names) if names and alias is not None else None


def _imports(node: Node, data: bytes) -> list[ImportedName]:
    path, alias = node.child_by_field_name("path"), node.child_by_field_name("name")
    if path is None:
        return []
    module = node_text(path, data).strip('"`')
    package = go_package_name(module)
    if alias is None:
        return [ImportedName(package, module, package=package)]
    name = node_text(alias, data)
    return [ImportedName({".": "*", "_": ""}.get(name, name), module, package=package)]


def _own_module(path: str, package: str | None) -> str:
    return f"./{path.rpartition('/')[0]}#{package or ''}"


_TYPES = {
    "struct_type": DefinitionKind("struct", "class", has_members=True),
    "interface_type": DefinitionKind("interface", "interface", has_members=True),
}

GO_NAMES = NamingRules(
    query=_QUERY + _DATA_FLOW,
    definitions={
        "package_clause": DefinitionKind("package", "block", binds=False),
        "function_declaration": DefinitionKind("function", "function", has_locals=True),
        "method_declaration": DefinitionKind("method", "method", has_locals=True),
        "type_spec": DefinitionKind("type", "class"),
        "type_alias": DefinitionKind("type", "class"),
        "field_declaration": DefinitionKind("field", "block"),
        "method_elem": DefinitionKind("method", "method"),
        "const_spec": DefinitionKind("const", "block"),
        "var_spec": DefinitionKind("var", "block"),
    },
    kind_of=_kind_of,
    names_of=expression_names,
    type_of=type_of,
    owner_of=_owner_of,
    narrowed=_narrowed,
    imports=_imports,
    own_module=_own_module,
    call_lists=frozenset({"argument_list"}),
    lambdas=frozenset({"func_literal"}),
    qualifies_members=True,
    sees_package=True,
    builtins=_BUILTINS,
    builtin_types=_BUILTIN_TYPES,
    declaring=frozenset(
        [
            "short_var_declaration",
            "var_spec",
            "const_spec",
            "parameter_declaration",
            "variadic_parameter_declaration",
            "range_clause",
            "receive_statement",
        ]
    ),
)
