"""Names of expressions and types in JavaScript and TypeScript."""

from collections.abc import Iterable

from tree_sitter import Node

from codequarry.ingest.symbols.naming_rules import NameChain
from codequarry.ingest.symbols.nodes import node_text
from codequarry.shared.relations import UNKNOWN

# Wrappers whose last argument is the type that matters: an object that is awaited, may be absent, or is an element.
_TRANSPARENT = {
    "Promise", "PromiseLike", "Awaited", "Partial", "Required", "Readonly", "NonNullable", "Array", "ReadonlyArray",
    "Set", "ReadonlySet", "WeakSet", "Map", "ReadonlyMap", "WeakMap", "Iterable", "AsyncIterable", "IterableIterator",
    "Generator", "AsyncGenerator", "Record",
}  # fmt: skip
# Wrappers of which the first argument matters: a type with some members left out or changed.
_CHANGED = {"Omit", "Pick", "Except", "Exclude", "Extract", "Simplify", "Merge", "Mutable", "Writable", "SetOptional"}
# Methods that call a function with each element.
_EACH = {"map", "forEach", "filter", "find", "findIndex", "findLast", "some", "every", "flatMap"}
_INSIDE = {
    "await_expression", "parenthesized_expression", "non_null_expression", "type_annotation", "array_type",
    "readonly_type", "parenthesized_type", "constraint", "type_query", "spread_element", "unary_expression",
    "asserts_annotation", "default_type",
}  # fmt: skip
_FUNCTIONS = {"arrow_function", "function_expression", "generator_function"}
_EITHER = {"binary_expression", "ternary_expression", "union_type"}
_NO_TYPES = {"literal_type", "predefined_type", "null", "undefined", "true", "false", "string", "number"}
_MAX_DEPTH = 30


# Expressions and types that stand for what one of these fields holds. A function counts as what its call returns.
_THROUGH = {
    "call_expression": ("function",),
    "new_expression": ("constructor",),
    "subscript_expression": ("object",),
    "assignment_expression": ("right",),
    "function_type": ("return_type",),
    "call_signature": ("return_type",),
}


def expression_names(node: Node | None, data: bytes, depth: int = 0) -> NameChain | None:
    """Return the names of an expression or type."""
    if node is None:
        return None
    kind = node.type
    if depth > _MAX_DEPTH or kind in _NO_TYPES:
        return None
    if kind.endswith("identifier") and not node.named_child_count:
        return (node_text(node, data),)
    if kind in {"this", "super", "shorthand_property_identifier_pattern"}:
        return (node_text(node, data),)
    if kind in {"member_expression", "nested_identifier"}:
        return _of_member(node, "object", "property", data, depth)
    if kind == "nested_type_identifier":
        return _of_member(node, "module", "name", data, depth)
    if kind in _THROUGH:
        fields = (node.child_by_field_name(name) for name in _THROUGH[kind])
        inner = next((field for field in fields if field is not None), None)
        return expression_names(inner, data, depth + 1)
    return _names_of_type(node, data, depth)


def _names_of_type(node: Node, data: bytes, depth: int) -> NameChain | None:
    kind = node.type
    if kind in {"as_expression", "satisfies_expression"}:
        return first_names(reversed(node.named_children), data, depth)
    if kind == "generic_type":
        return _of_generic(node, data, depth)
    if kind == "object_type":
        return first_names((child for child in node.named_children if child.type == "call_signature"), data, depth)
    if kind == "intersection_type":
        # What the type says of itself is known anyway.
        named = sorted(node.named_children, key=lambda child: child.type == "object_type")
        return first_names(named, data, depth)
    if kind in _INSIDE or kind in _EITHER:
        return first_names(node.named_children, data, depth)
    return None


def first_names(nodes: Iterable[Node], data: bytes, depth: int = 0) -> NameChain | None:
    """Return the names of the first node that has some."""
    return next((names for node in nodes if (names := expression_names(node, data, depth + 1))), None)


def _of_member(node: Node, holder: str, member: str, data: bytes, depth: int) -> NameChain | None:
    value, name = node.child_by_field_name(holder), node.child_by_field_name(member)
    if value is None or name is None:
        return None
    return (*(expression_names(value, data, depth + 1) or (UNKNOWN,)), node_text(name, data))


def _of_generic(node: Node, data: bytes, depth: int) -> NameChain | None:
    name, arguments = node.child_by_field_name("name"), node.child_by_field_name("type_arguments")
    outer = expression_names(name, data, depth + 1)
    if outer is not None and outer[-1] in _CHANGED and arguments is not None:
        return first_names(arguments.named_children, data, depth)
    if outer is None or outer[-1] not in _TRANSPARENT or arguments is None:
        return outer
    return first_names(reversed(arguments.named_children), data, depth)


def type_of(node: Node, data: bytes) -> NameChain | None:
    """Return the names of the declared type of a definition or local, or of its value."""
    parent = node.parent
    if parent is None:
        return None
    kind = parent.type
    if node.type == "shorthand_property_identifier_pattern" or kind in {"pair_pattern", "array_pattern"}:
        return _destructured(node, data)
    if kind in {"member_expression", "assignment_pattern"}:
        holder = parent.parent if kind == "member_expression" else parent
        value = holder.child_by_field_name("right") if holder is not None else None
        return _value_names(value, data) if value is not None else None
    if kind == "import_alias":
        return first_names(parent.named_children[1:], data)
    if kind == "for_in_statement":
        right = parent.child_by_field_name("right")
        return expression_names(right, data)
    if kind in {"formal_parameters", "arrow_function"}:
        return _element_names(node, parent, data)
    return _declared(node, parent, data)


def _declared(node: Node, holder: Node, data: bytes) -> NameChain | None:
    declared = (
        holder.child_by_field_name("type")
        or holder.child_by_field_name("return_type")
        or holder.child_by_field_name("constraint")
    )
    if declared is not None:
        return expression_names(declared, data)
    value = holder.child_by_field_name("value")
    if value is not None and holder.type != "enum_assignment":
        return _value_names(value, data)
    if holder.type == "required_parameter" and holder.parent is not None:
        return _element_names(holder, holder.parent, data)
    return None


def _value_names(value: Node, data: bytes) -> NameChain | None:
    if value.type not in _FUNCTIONS:
        return expression_names(value, data)
    declared, body = value.child_by_field_name("return_type"), value.child_by_field_name("body")
    if declared is not None:
        return expression_names(declared, data)
    return expression_names(body, data) if body is not None and body.type != "statement_block" else None


def _element_names(parameter: Node, holder: Node, data: bytes) -> NameChain | None:
    """Return the names of ``xs`` for the first parameter of a function that ``xs.map`` or the like calls."""
    function = holder.parent if holder.type == "formal_parameters" else holder
    if function is None or function.type not in _FUNCTIONS or next(iter(holder.named_children), None) != parameter:
        return None
    call = function.parent.parent if function.parent is not None and function.parent.type == "arguments" else None
    called = call.child_by_field_name("function") if call is not None else None
    if called is None or called.type != "member_expression":
        return None
    names = expression_names(called, data)
    return names[:-1] or None if names is not None and names[-1] in _EACH else None


def _destructured(node: Node, data: bytes) -> NameChain | None:
    """Return ``("foo", "a", "b")`` for ``b`` in ``const {a: {b}} = foo``; an array stands for its elements."""
    names: list[str] = []
    current: Node | None = node
    for _ in range(_MAX_DEPTH):
        if current is None:
            return None
        parent = current.parent
        if parent is None:
            return None
        if current.type == "shorthand_property_identifier_pattern":
            names.insert(0, node_text(current, data))
        elif current.type == "pair_pattern":
            key = current.child_by_field_name("key")
            names.insert(0, node_text(key, data) if key is not None else UNKNOWN)
        elif current.type in {"variable_declarator", "required_parameter", "optional_parameter"}:
            held = current.child_by_field_name("type") or current.child_by_field_name("value")
            base = expression_names(held, data)
            return (*base, *names) if base is not None else None
        elif current.type not in {"object_pattern", "array_pattern", "object_assignment_pattern", "identifier"}:
            return None
        current = parent
    return None
