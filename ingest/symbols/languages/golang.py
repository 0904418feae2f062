"""Names in Go."""

from dataclasses import replace

from tree_sitter import Node

from codequarry.ingest.symbols.naming_rules import DefinitionKind, ImportedName, NameChain, NamingRules, words
from codequarry.ingest.symbols.nodes import first_named, inner_node, node_text
from codequarry.shared.go_packages import go_package_name
from codequarry.shared.relations import UNKNOWN

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
(return_statement (expression_list (call_expression
  function: [(identifier) @returned (selector_expression field: (field_identifier) @returned)])))
(argument_list (call_expression
  function: [(identifier) @argument (selector_expression field: (field_identifier) @argument)]))
"""

_BUILTIN_TYPES = words(
    "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune",
    "string uint uint8 uint16 uint32 uint64 uintptr",
)
_BUILTINS = words(
    "append cap clear close complex copy delete imag len make max min new panic print println real recover",
    "true false nil iota _",
)
# The type or value inside, whose members are those of the whole: of an element, for containers.
_INNER = {
    "unary_expression": "operand",
    "index_expression": "operand",
    "slice_expression": "operand",
    "composite_literal": "type",
    "type_assertion_expression": "type",
    "type_conversion_expression": "type",
    "type_instantiation_expression": "type",
    "generic_type": "type",
    "slice_type": "element",
    "array_type": "element",
    "implicit_length_array_type": "element",
    "map_type": "value",
    "channel_type": "value",
    "variadic_argument": "",
    "pointer_type": "",
    "parenthesized_expression": "",
    "parenthesized_type": "",
    "type_elem": "",
    "type_constraint": "",
    "literal_element": "",
}
_WORDS = frozenset({"identifier", "type_identifier", "field_identifier", "package_identifier"})
_LISTED = frozenset({"slice_type", "array_type", "implicit_length_array_type", "map_type"})
_SELECTORS = {"selector_expression": ("operand", "field"), "qualified_type": ("package", "name")}
# Functions that return a value of the type of their first argument.
_OF_ARGUMENT = frozenset({"new", "make", "append", "min", "max"})
_MAX_DEPTH = 30


def _names_of(node: Node | None, data: bytes, depth: int = 0) -> NameChain | None:
    if node is None:
        return None
    kind = node.type
    if kind in _WORDS:
        return (node_text(node, data),)
    if depth > _MAX_DEPTH:
        return None
    if kind in _SELECTORS:
        value, name = (node.child_by_field_name(part) for part in _SELECTORS[kind])
        if value is None or name is None:
            return None
        return (*(_names_of(value, data, depth + 1) or (UNKNOWN,)), node_text(name, data))
    if kind == "call_expression":
        return _called(node, data, depth + 1)
    if kind in _INNER:
        return _names_of(inner_node(node, _INNER), data, depth + 1)
    if kind == "function_type":
        result = node.child_by_field_name("result")
        return _result_names(result, data) if result is not None else None
    return _key_names(node, data) if kind == "keyed_element" else None


def _called(node: Node, data: bytes, depth: int) -> NameChain | None:
    function = node.child_by_field_name("function")
    if function is None:
        return None
    names = _names_of(function, data, depth)
    if names is not None and len(names) == 1 and names[0] in _OF_ARGUMENT:
        arguments = node.child_by_field_name("arguments")
        first = first_named(arguments) if arguments is not None else None
        return _names_of(first, data, depth)
    return names


def _result_names(result: Node, data: bytes) -> NameChain | None:
    """Return the names of a function's first result."""
    if result.type != "parameter_list":
        return _names_of(result, data)
    first = first_named(result)
    type_ = first.child_by_field_name("type") if first is not None else None
    return _names_of(type_, data)


def _key_names(element: Node, data: bytes) -> NameChain | None:
    """Return the names of the field that a keyed element sets, or of its key in a list or map."""
    key = element.child_by_field_name("key")
    literal, nested = element.parent, False
    for _ in range(_MAX_DEPTH):
        if literal is None or literal.type == "composite_literal":
            break
        nested = nested or literal.type == "literal_element"
        literal = literal.parent
    type_ = literal.child_by_field_name("type") if literal is not None else None
    own = _names_of(key, data)
    if type_ is None or own is None:
        return None
    if type_.type in _LISTED and not nested:
        return own
    names = _names_of(type_, data)
    return (*names, *own) if names else None


def _type_of(node: Node, data: bytes) -> NameChain | None:
    """Return the names of the declared type of a name, or of its value."""
    parent = node.parent
    if parent is None:
        return None
    if parent.type == "expression_list":
        statement = parent.parent
        return _assigned(node, parent, statement, data) if statement is not None else None
    if parent.type in {"function_declaration", "method_declaration", "method_elem"}:
        result = parent.child_by_field_name("result")
        return _result_names(result, data) if result is not None else None
    if parent.type in {"qualified_type", "generic_type"}:
        outer = parent.parent
        return _names_of(outer if outer is not None and outer.type == "generic_type" else parent, data)
    type_ = parent.child_by_field_name("type")
    if type_ == node:
        # The scope of an embedded field binds its name, so that its type is found like that of any field.
        return (node_text(node, data),)
    if type_ is not None:
        return None if parent.type == "type_spec" and type_.type == "function_type" else _names_of(type_, data)
    value = parent.child_by_field_name("value")
    if value is None:
        return None
    names = parent.children_by_field_name("name")
    return _nth(names.index(node) if node in names else 0, len(names), value, data)


def _assigned(name: Node, names: Node, statement: Node, data: bytes) -> NameChain | None:
    value = statement.child_by_field_name("right") or statement.child_by_field_name("value")
    if value is None:
        return None
    left = names.named_children
    index = left.index(name)
    if statement.type == "range_clause":
        # `for index, element := range list`; a lone name is an index too, or an element of a channel.
        return _names_of(value, data) if index == len(left) - 1 else None
    if value.type != "expression_list":
        return _names_of(value, data) if index == 0 else None
    return _nth(index, len(left), value, data)


def _nth(index: int, count: int, values: Node, data: bytes) -> NameChain | None:
    """Return the names of the value of a name; of several results of one function, only the first is known."""
    found = values.named_children
    if len(found) == count:
        return _names_of(found[index], data)
    return _names_of(found[0], data) if index == 0 and found else None


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
        if inner is None or inner.type not in _INNER or inner.type == "parenthesized_expression":
            break
        inner = inner_node(inner, _INNER)
    return inner is not None and inner.type == "struct_type"


def _owner_of(node: Node, data: bytes) -> NameChain:
    receiver = node.child_by_field_name("receiver")
    parameter = first_named(receiver) if receiver is not None else None
    type_ = parameter.child_by_field_name("type") if parameter is not None else None
    return (_names_of(type_, data) or ()) if type_ is not None else ()


def _narrowed(node: Node, data: bytes) -> tuple[str, NameChain] | None:
    """Read the case of a type switch that has one type."""
    types = node.children_by_field_name("type")
    alias = node.parent.child_by_field_name("alias") if node.parent is not None else None
    names = _names_of(types[0], data) if len(types) == 1 and alias is not None else None
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
    query=_QUERY,
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
    names_of=_names_of,
    type_of=_type_of,
    owner_of=_owner_of,
    narrowed=_narrowed,
    imports=_imports,
    own_module=_own_module,
    call_lists=frozenset({"argument_list"}),
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
