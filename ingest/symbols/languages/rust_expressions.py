"""Names of expressions and types in Rust."""

from tree_sitter import Node

from codequarry.ingest.symbols.expression_names import expression_names_by
from codequarry.ingest.symbols.naming_rules import NameChain, words
from codequarry.ingest.symbols.nodes import first_named, node_text
from codequarry.shared.relations import UNKNOWN

# Types that behave like the type inside, and functions that return their argument in one of them.
_TRANSPARENT = words(
    "Box Rc Arc Ref RefMut RefCell Cell Mutex RwLock MutexGuard Option Result Pin Vec VecDeque HashSet",
    "BTreeSet Cow OnceCell OnceLock LazyLock Lazy Weak Peekable IntoIter Iter Iterator IntoIterator NonNull",
    "ManuallyDrop MaybeUninit",
)
# The last argument is the type of the values.
_MAPS = frozenset({"HashMap", "BTreeMap", "IndexMap", "Cow"})
WRAPPING_VARIANTS = frozenset({"Some", "Ok"})
_WORDS = words(
    "identifier type_identifier field_identifier shorthand_field_identifier primitive_type integer_literal",
    "self crate super",
)
_QUALIFIED = {
    "field_expression": ("value", "field"),
    "scoped_identifier": ("path", "name"),
    "scoped_type_identifier": ("path", "name"),
}
_INNER = {
    "generic_function": "function",
    "try_expression": "",
    "await_expression": "",
    "parenthesized_expression": "",
    "reference_expression": "value",
    "unary_expression": "",
    "index_expression": "",
    "type_cast_expression": "type",
    "struct_expression": "name",
    "reference_type": "type",
    "pointer_type": "type",
    "bounded_type": "",
    "dynamic_type": "trait",
    "abstract_type": "trait",
    "array_type": "element",
    "qualified_type": "type",
    "bracketed_type": "",
    "trait_bounds": "",
    "function_type": "return_type",
}


def _qualified_names(node: Node, data: bytes, depth: int) -> NameChain | None:
    before, name = (node.child_by_field_name(part) for part in _QUALIFIED[node.type])
    if name is None:
        return None
    own = node_text(name, data)
    if before is None:
        return (own,)
    if before.type == "self" and node.type != "field_expression":
        return ("self::", own)
    if before.type == "generic_type":
        # `Vec::<Foo>::new` is a function of `Vec`.
        before = before.child_by_field_name("type") or before
    return (*(expression_names(before, data, depth) or (UNKNOWN,)), own)


def _generic_names(node: Node, data: bytes, depth: int) -> NameChain | None:
    outer, arguments = node.child_by_field_name("type"), node.child_by_field_name("type_arguments")
    names = expression_names(outer, data, depth)
    if names is None or arguments is None or names[-1] not in _TRANSPARENT | _MAPS:
        return names
    types = [child for child in arguments.named_children if child.type not in {"lifetime", "line_comment"}]
    if not types:
        return names
    inner = types[-1] if names[-1] in _MAPS else types[0]
    if inner.type == "type_binding":
        inner = inner.child_by_field_name("type") or inner
    return expression_names(inner, data, depth)


def _called(node: Node, data: bytes, depth: int) -> NameChain | None:
    function = node.child_by_field_name("function")
    names = expression_names(function, data, depth)
    is_wrapping = names is not None and (
        (names[-1:] == ("new",) and len(names) == 2 and names[0] in _TRANSPARENT)
        or (len(names) == 1 and names[0] in WRAPPING_VARIANTS)
    )  # fmt: skip
    if is_wrapping:
        arguments = node.child_by_field_name("arguments")
        inner = first_named(arguments) if arguments is not None else None
        return expression_names(inner, data, depth)
    return names


def _key_names(initializer: Node, data: bytes, _: int) -> NameChain | None:
    """Return the names of the field that an initializer of a struct sets."""
    field, fields = initializer.child_by_field_name("field"), initializer.parent
    struct = fields.parent if fields is not None else None
    type_ = struct.child_by_field_name("name") if struct is not None else None
    names = expression_names(type_, data)
    return (*names, node_text(field, data)) if names and field is not None else None


expression_names = expression_names_by(
    _WORDS,
    _INNER,
    {
        **dict.fromkeys(_QUALIFIED, _qualified_names),
        "generic_type": _generic_names,
        "call_expression": _called,
        "field_initializer": _key_names,
    },
)
