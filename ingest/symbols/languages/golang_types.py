"""Names of expressions and types in Go."""

from tree_sitter import Node

from codequarry.ingest.symbols.expression_names import MAX_DEPTH, expression_names_by
from codequarry.ingest.symbols.naming_rules import NameChain
from codequarry.ingest.symbols.nodes import first_named, node_text
from codequarry.shared.relations import UNKNOWN

# The type or value inside, whose members are those of the whole: of an element, for containers.
INNER = {
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


def _selected(node: Node, data: bytes, depth: int) -> NameChain | None:
    value, name = (node.child_by_field_name(part) for part in _SELECTORS[node.type])
    if value is None or name is None:
        return None
    return (*(expression_names(value, data, depth) or (UNKNOWN,)), node_text(name, data))


def _called(node: Node, data: bytes, depth: int) -> NameChain | None:
    function = node.child_by_field_name("function")
    if function is None:
        return None
    names = expression_names(function, data, depth)
    if names is not None and len(names) == 1 and names[0] in _OF_ARGUMENT:
        arguments = node.child_by_field_name("arguments")
        first = first_named(arguments) if arguments is not None else None
        return expression_names(first, data, depth)
    return names


def _of_function_type(node: Node, data: bytes, _: int) -> NameChain | None:
    result = node.child_by_field_name("result")
    return _result_names(result, data) if result is not None else None


def _result_names(result: Node, data: bytes) -> NameChain | None:
    """Return the names of a function's first result."""
    if result.type != "parameter_list":
        return expression_names(result, data)
    first = first_named(result)
    type_ = first.child_by_field_name("type") if first is not None else None
    return expression_names(type_, data)


def _key_names(element: Node, data: bytes, _: int) -> NameChain | None:
    """Return the names of the field that a keyed element sets, or of its key in a list or map."""
    key = element.child_by_field_name("key")
    literal, nested = element.parent, False
    for _ in range(MAX_DEPTH):
        if literal is None or literal.type == "composite_literal":
            break
        nested = nested or literal.type == "literal_element"
        literal = literal.parent
    type_ = literal.child_by_field_name("type") if literal is not None else None
    own = expression_names(key, data)
    if type_ is None or own is None:
        return None
    if type_.type in _LISTED and not nested:
        return own
    names = expression_names(type_, data)
    return (*names, *own) if names else None


expression_names = expression_names_by(
    _WORDS,
    INNER,
    {
        **dict.fromkeys(_SELECTORS, _selected),
        "call_expression": _called,
        "function_type": _of_function_type,
        "keyed_element": _key_names,
    },
)


def type_of(node: Node, data: bytes) -> NameChain | None:
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
        return expression_names(outer if outer is not None and outer.type == "generic_type" else parent, data)
    type_ = parent.child_by_field_name("type")
    if type_ == node:
        # The scope of an embedded field binds its name, so that its type is found like that of any field.
        return (node_text(node, data),)
    if type_ is not None:
        return None if parent.type == "type_spec" and type_.type == "function_type" else expression_names(type_, data)
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
        return expression_names(value, data) if index == len(left) - 1 else None
    if value.type != "expression_list":
        return expression_names(value, data) if index == 0 else None
    return _nth(index, len(left), value, data)


def _nth(index: int, count: int, values: Node, data: bytes) -> NameChain | None:
    """Return the names of the value of a name; of several results of one function, only the first is known."""
    found = values.named_children
    if len(found) == count:
        return expression_names(found[index], data)
    return expression_names(found[0], data) if index == 0 and found else None
