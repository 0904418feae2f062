"""Types of definitions, values and patterns in Rust."""

from tree_sitter import Node

from codequarry.ingest.symbols.languages.rust_expressions import WRAPPING_VARIANTS, expression_names
from codequarry.ingest.symbols.naming_rules import NameChain, words
from codequarry.ingest.symbols.nodes import node_text

# Functions that call the closure they are given with what is inside of their receiver.
_WITH_CLOSURE = words(
    "map for_each filter filter_map flat_map any all find find_map position and_then inspect take_while",
    "skip_while map_while is_some_and is_ok_and retain sort_by_key max_by_key min_by_key with partition",
    "unwrap_or_else",
)
# A pattern is at most this deep in what is matched.
_MAX_PATTERN = 5
_PATTERNS = frozenset({"ref_pattern", "mut_pattern", "reference_pattern", "captured_pattern", "match_pattern"})


def type_of(node: Node, data: bytes) -> NameChain | None:
    """Return the names of the declared type of a name, of its value, or of what its pattern is matched with."""
    parent = node.parent
    if parent is None:
        return None
    if parent.type in {"function_item", "function_signature_item"}:
        result = parent.child_by_field_name("return_type")
        return expression_names(result, data)
    if parent.type == "type_parameter":
        return _bound(node, parent, data)
    if parent.type in {"enum_variant", "struct_item"}:
        return _only_field(parent, data)
    if parent.type in {"field_declaration", "const_item", "static_item", "type_item", "const_parameter"}:
        type_ = parent.child_by_field_name("type")
        return expression_names(type_, data)
    return _matched(node, data)


def _bound(name: Node, parameter: Node, data: bytes) -> NameChain | None:
    """Return the names of the first trait that a type parameter must have, in its list or in a where clause."""
    bounds = parameter.child_by_field_name("bounds")
    if bounds is None:
        list_ = parameter.parent
        item = list_.parent if list_ is not None else None
        where = next((child for child in item.children if child.type == "where_clause"), None) if item else None
        for predicate in where.named_children if where is not None else ():
            left = predicate.child_by_field_name("left")
            if left is not None and node_text(left, data) == node_text(name, data):
                bounds = predicate.child_by_field_name("bounds")
                break
    return expression_names(bounds, data)


def _only_field(item: Node, data: bytes) -> NameChain | None:
    """Return the names of the type that a variant or struct with one field without a name holds."""
    body = item.child_by_field_name("body")
    if body is None or body.type != "ordered_field_declaration_list":
        return None
    types = body.children_by_field_name("type")
    return expression_names(types[0], data) if len(types) == 1 else None


def _matched(name: Node, data: bytes) -> NameChain | None:
    """Return the names of what a pattern is matched with, or of the field or variant that it takes out of it."""
    node, taken = name, name.parent
    for _ in range(_MAX_PATTERN):
        if taken is None:
            return None
        if taken.type == "field_pattern":
            struct = taken.parent.child_by_field_name("type") if taken.parent is not None else None
            field = taken.child_by_field_name("name")
            names = expression_names(struct, data)
            return (*names, node_text(field, data)) if names and field is not None else None
        if taken.type == "tuple_struct_pattern":
            variant = taken.child_by_field_name("type")
            names = expression_names(variant, data)
            if names is None or names[-1] not in WRAPPING_VARIANTS:
                return (*names, "0") if names and names != ("Err",) else None
        elif taken.type not in _PATTERNS:
            return _source(node, taken, data)
        node, taken = taken, taken.parent
    return None


def _source(pattern: Node, holder: Node, data: bytes) -> NameChain | None:
    """Return the names of the value that a pattern is matched with, or of its declared type."""
    if holder.type == "match_arm":
        block = holder.parent
        match = block.parent if block is not None else None
        value = match.child_by_field_name("value") if match is not None else None
        return expression_names(value, data)
    if holder.type == "closure_parameters":
        return _closure_argument(holder, data)
    if holder.type not in {"let_declaration", "let_condition", "for_expression", "parameter"}:
        return None
    value = holder.child_by_field_name("type") or holder.child_by_field_name("value")
    return expression_names(value, data)


def _closure_argument(parameters: Node, data: bytes) -> NameChain | None:
    """Return the names of the receiver of the method that is given a closure: its closure gets the elements."""
    closure = parameters.parent
    arguments = closure.parent if closure is not None else None
    call = arguments.parent if arguments is not None and arguments.type == "arguments" else None
    function = call.child_by_field_name("function") if call is not None else None
    if function is None or function.type != "field_expression":
        return None
    field, value = function.child_by_field_name("field"), function.child_by_field_name("value")
    if field is None or value is None or node_text(field, data) not in _WITH_CLOSURE:
        return None
    return expression_names(value, data)
