"""Names of expressions and types in C and C++."""

from tree_sitter import Node

from codequarry.ingest.symbols.expression_names import expression_names_by
from codequarry.ingest.symbols.naming_rules import NameChain, words
from codequarry.ingest.symbols.nodes import first_named, node_text
from codequarry.shared.relations import UNKNOWN

# Types that behave like the type inside, and functions that return a value of their type argument.
_TRANSPARENT = words(
    "unique_ptr shared_ptr weak_ptr optional vector deque list set unordered_set array atomic span",
    "initializer_list make_unique make_shared static_cast dynamic_cast reinterpret_cast const_cast",
    "scoped_refptr",
)
_WORDS = frozenset({"identifier", "field_identifier", "type_identifier", "namespace_identifier", "this"})
_INNER = {
    "call_expression": "function",
    "pointer_expression": "argument",
    "subscript_expression": "argument",
    "cast_expression": "type",
    "new_expression": "type",
    "compound_literal_expression": "type",
    "type_descriptor": "type",
    "struct_specifier": "name",
    "union_specifier": "name",
    "class_specifier": "name",
    "enum_specifier": "name",
    "parenthesized_expression": "",
}
_TEMPLATES = frozenset({"template_type", "template_function", "template_method"})
SPECIFIERS = frozenset({"struct_specifier", "union_specifier", "class_specifier", "enum_specifier"})
# Declarators around a name: pointers, arrays, parentheses.
MAX_DECLARATORS = 7


def _field_names(node: Node, data: bytes, depth: int) -> NameChain | None:
    value, name = node.child_by_field_name("argument"), node.child_by_field_name("field")
    own = expression_names(name, data, depth)
    if value is None or own is None:
        return None
    return (*(expression_names(value, data, depth) or (UNKNOWN,)), *own)


def _qualified_names(node: Node, data: bytes, depth: int) -> NameChain | None:
    scope, name = node.child_by_field_name("scope"), node.child_by_field_name("name")
    own = expression_names(name, data, depth)
    if name is None or own is None or scope is None or _is_transparent(name, data):
        return own
    return (*(expression_names(scope, data, depth) or ()), *own)


def _is_transparent(node: Node, data: bytes) -> bool:
    name = node.child_by_field_name("name") if node.type in _TEMPLATES else None
    return name is not None and node_text(name, data) in _TRANSPARENT


def _template_names(node: Node, data: bytes, depth: int) -> NameChain | None:
    name, arguments = node.child_by_field_name("name"), node.child_by_field_name("arguments")
    if name is None:
        return None
    first = first_named(arguments) if arguments is not None and _is_transparent(node, data) else None
    return expression_names(first if first is not None else name, data, depth)


expression_names = expression_names_by(
    _WORDS,
    _INNER,
    {
        "field_expression": _field_names,
        "qualified_identifier": _qualified_names,
        **dict.fromkeys(_TEMPLATES, _template_names),
    },
)


def type_of(node: Node, data: bytes) -> NameChain | None:
    """Return the names of the declared type of a name, of what a function returns, or of the value of an ``auto``."""
    value: Node | None = None
    holder = node.parent
    for _ in range(MAX_DECLARATORS):
        if holder is None or holder.type in SPECIFIERS or holder.type == "template_declaration":
            return None
        if holder.type == "init_declarator":
            value = holder.child_by_field_name("value")
        type_ = holder.child_by_field_name("type")
        if type_ is not None and holder.type not in {"template_argument_list", "cast_expression"}:
            if type_.type == "placeholder_type_specifier":
                value = value or holder.child_by_field_name("right")
                return expression_names(value, data)
            return expression_names(type_, data)
        holder = holder.parent
    return None
