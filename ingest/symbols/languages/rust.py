"""Names in Rust."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from codequarry.ingest.symbols.languages.rust_modules import (
    MODULE_WORDS,
    files_of,
    imports,
    module_of,
    own_module,
    passed_on,
    written_module,
)
from codequarry.ingest.symbols.naming_rules import DefinitionKind, NameChain, NamingRules, data_flow_query, words
from codequarry.ingest.symbols.nodes import first_named, inner_node, node_text
from codequarry.shared.relations import UNKNOWN, ReferenceKind

_QUERY = """
[(field_expression) (scoped_identifier) (scoped_type_identifier)] @qualified
(field_initializer field: (field_identifier)) @keyed
[(closure_expression) (block) (match_arm) (for_expression) (if_expression) (while_expression)] @scope
(impl_item) @container
(mod_item !body name: (identifier) @property) @names_import
(use_declaration (visibility_modifier)) @passed_on
(type_parameter name: (type_identifier) @local)
(const_parameter name: (identifier) @local)
(parameter pattern: (identifier) @local)
(closure_parameters (identifier) @local)
(closure_parameters (parameter pattern: (identifier) @local))
(let_declaration pattern: (identifier) @local)
(let_condition pattern: (identifier) @local)
(for_expression pattern: (identifier) @local)
(tuple_pattern (identifier) @local)
(slice_pattern (identifier) @local)
(tuple_struct_pattern type: (_) (identifier) @local)
(ref_pattern (identifier) @local)
(mut_pattern (identifier) @local)
(reference_pattern (identifier) @local)
(captured_pattern . (identifier) @local)
(field_pattern name: (shorthand_field_identifier) @local)
(field_pattern pattern: (identifier) @local)
(impl_item trait: [(type_identifier) @implements (scoped_type_identifier name: (type_identifier) @implements)
  (generic_type type: [(type_identifier) @implements (scoped_type_identifier name: (type_identifier) @implements)])])
(trait_item bounds: (trait_bounds [(type_identifier) @inherits
  (scoped_type_identifier name: (type_identifier) @inherits)
  (generic_type type: [(type_identifier) @inherits (scoped_type_identifier name: (type_identifier) @inherits)])]))
(attribute_item (attribute [(identifier) @decorates (scoped_identifier name: (identifier) @decorates)]))
(tuple_struct_pattern type: [(identifier) @mention (scoped_identifier name: (identifier) @mention)])
(field_expression field: (field_identifier) @mention)
(scoped_identifier name: (identifier) @mention)
(arguments (identifier) @mention)
(let_declaration value: (identifier) @mention)
(field_initializer field: (field_identifier) @mention)
(field_initializer value: (identifier) @mention)
(field_expression value: (identifier) @mention)
(binary_expression (identifier) @mention)
(reference_expression value: (identifier) @mention)
(match_pattern (identifier) @mention)
(block (identifier) @mention)
(or_pattern (identifier) @mention)
(index_expression (identifier) @mention)
(macro_invocation (token_tree) @tokens)
"""
_DATA_FLOW = data_flow_query(
    """(call_expression function: [(identifier) @name (scoped_identifier name: (identifier) @name)
      (field_expression field: (field_identifier) @name)])""",
    returned=["(block [CALL (try_expression CALL)] .)", "(return_expression [CALL (try_expression CALL)])"],
    arguments=["(arguments [CALL (try_expression CALL) (reference_expression value: CALL)])"],
)

# Types that behave like the type inside, and functions that return their argument in one of them.
_TRANSPARENT = words(
    "Box Rc Arc Ref RefMut RefCell Cell Mutex RwLock MutexGuard Option Result Pin Vec VecDeque HashSet",
    "BTreeSet Cow OnceCell OnceLock LazyLock Lazy Weak Peekable IntoIter Iter Iterator IntoIterator NonNull",
    "ManuallyDrop MaybeUninit",
)
# The last argument is the type of the values.
_MAPS = frozenset({"HashMap", "BTreeMap", "IndexMap", "Cow"})
_VARIANTS = frozenset({"Some", "Ok"})
# Functions that call the closure they are given with what is inside of their receiver.
_WITH_CLOSURE = words(
    "map for_each filter filter_map flat_map any all find find_map position and_then inspect take_while",
    "skip_while map_while is_some_and is_ok_and retain sort_by_key max_by_key min_by_key with partition",
    "unwrap_or_else",
)
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
    "field_initializer": "",
}
_MAX_DEPTH = 30
# A pattern is at most this deep in what is matched.
_MAX_PATTERN = 5


def _names_of(node: Node | None, data: bytes, depth: int = 0) -> NameChain | None:
    if node is None:
        return None
    kind = node.type
    if kind in _WORDS:
        return (node_text(node, data),)
    if depth > _MAX_DEPTH:
        return None
    if kind in _QUALIFIED:
        return _qualified_names(node, data, depth + 1)
    if kind == "generic_type":
        return _generic_names(node, data, depth + 1)
    if kind == "call_expression":
        return _called(node, data, depth + 1)
    if kind == "field_initializer":
        return _key_names(node, data)
    if kind in _INNER:
        return _names_of(inner_node(node, _INNER), data, depth + 1)
    return None


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
    return (*(_names_of(before, data, depth) or (UNKNOWN,)), own)


def _generic_names(node: Node, data: bytes, depth: int) -> NameChain | None:
    outer, arguments = node.child_by_field_name("type"), node.child_by_field_name("type_arguments")
    names = _names_of(outer, data, depth)
    if names is None or arguments is None or names[-1] not in _TRANSPARENT | _MAPS:
        return names
    types = [child for child in arguments.named_children if child.type not in {"lifetime", "line_comment"}]
    if not types:
        return names
    inner = types[-1] if names[-1] in _MAPS else types[0]
    if inner.type == "type_binding":
        inner = inner.child_by_field_name("type") or inner
    return _names_of(inner, data, depth)


def _called(node: Node, data: bytes, depth: int) -> NameChain | None:
    function = node.child_by_field_name("function")
    names = _names_of(function, data, depth)
    is_wrapping = names is not None and (
        (names[-1:] == ("new",) and len(names) == 2 and names[0] in _TRANSPARENT)
        or (len(names) == 1 and names[0] in _VARIANTS)
    )  # fmt: skip
    if is_wrapping:
        arguments = node.child_by_field_name("arguments")
        inner = first_named(arguments) if arguments is not None else None
        return _names_of(inner, data, depth)
    return names


def _key_names(initializer: Node, data: bytes) -> NameChain | None:
    """Return the names of the field that an initializer of a struct sets."""
    field, fields = initializer.child_by_field_name("field"), initializer.parent
    struct = fields.parent if fields is not None else None
    type_ = struct.child_by_field_name("name") if struct is not None else None
    names = _names_of(type_, data)
    return (*names, node_text(field, data)) if names and field is not None else None


def _type_of(node: Node, data: bytes) -> NameChain | None:
    """Return the names of the declared type of a name, of its value, or of what its pattern is matched with."""
    parent = node.parent
    if parent is None:
        return None
    if parent.type in {"function_item", "function_signature_item"}:
        result = parent.child_by_field_name("return_type")
        return _names_of(result, data)
    if parent.type == "type_parameter":
        return _bound(node, parent, data)
    if parent.type in {"enum_variant", "struct_item"}:
        return _only_field(parent, data)
    if parent.type in {"field_declaration", "const_item", "static_item", "type_item", "const_parameter"}:
        type_ = parent.child_by_field_name("type")
        return _names_of(type_, data)
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
    return _names_of(bounds, data)


def _only_field(item: Node, data: bytes) -> NameChain | None:
    """Return the names of the type that a variant or struct with one field without a name holds."""
    body = item.child_by_field_name("body")
    if body is None or body.type != "ordered_field_declaration_list":
        return None
    types = body.children_by_field_name("type")
    return _names_of(types[0], data) if len(types) == 1 else None


def _matched(name: Node, data: bytes) -> NameChain | None:
    """Return the names of what a pattern is matched with, or of the field or variant that it takes out of it."""
    node, taken = name, name.parent
    for _ in range(_MAX_PATTERN):
        if taken is None:
            return None
        if taken.type == "field_pattern":
            struct = taken.parent.child_by_field_name("type") if taken.parent is not None else None
            field = taken.child_by_field_name("name")
            names = _names_of(struct, data)
            return (*names, node_text(field, data)) if names and field is not None else None
        if taken.type == "tuple_struct_pattern":
            variant = taken.child_by_field_name("type")
            names = _names_of(variant, data)
            if names is None or names[-1] not in _VARIANTS:
                return (*names, "0") if names and names != ("Err",) else None
        elif taken.type not in _PATTERNS:
            return _source(node, taken, data)
        node, taken = taken, taken.parent
    return None


_PATTERNS = frozenset({"ref_pattern", "mut_pattern", "reference_pattern", "captured_pattern", "match_pattern"})


def _source(pattern: Node, holder: Node, data: bytes) -> NameChain | None:
    """Return the names of the value that a pattern is matched with, or of its declared type."""
    if holder.type == "match_arm":
        block = holder.parent
        match = block.parent if block is not None else None
        value = match.child_by_field_name("value") if match is not None else None
        return _names_of(value, data)
    if holder.type == "closure_parameters":
        return _closure_argument(holder, data)
    if holder.type not in {"let_declaration", "let_condition", "for_expression", "parameter"}:
        return None
    value = holder.child_by_field_name("type") or holder.child_by_field_name("value")
    return _names_of(value, data)


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
    return _names_of(value, data)


def _kind_of(node: Node, kind: DefinitionKind, data: bytes) -> DefinitionKind:
    if node.type == "mod_item" and node.child_by_field_name("body") is None:
        return DefinitionKind("module", "block", binds=False)
    return kind


def _container_of(node: Node, data: bytes) -> NameChain:
    """Return the name of the type that an impl block is for."""
    type_ = node.child_by_field_name("type")
    if type_ is not None and type_.type == "generic_type":
        type_ = type_.child_by_field_name("type")
    names = _names_of(type_, data)
    return names[-1:] if names else ()


# `a::b(`, `a.b.c(`, `Foo {`, after which no longer name may begin; calls without arguments may be inside.
_IN_TOKENS = re.compile(
    rb'"(?:[^"\\]|\\.)*"|//[^\n]*|(?<![\w.\'])((?:[A-Za-z_]\w*)(?:(?:::|\.|\(\)\.)(?:[A-Za-z_]\w*|\d+))*)(\s*\(|!)?'
)
_SEPARATOR = re.compile(rb"::|\(\)\.|\.")


def _in_tokens(node: Node, data: bytes) -> Iterator[tuple[ReferenceKind, int, NameChain]]:
    """Yield what is called and mentioned among the tokens of a macro, which have no syntax tree."""
    for found in _IN_TOKENS.finditer(data, node.start_byte, node.end_byte):
        if found[1] is None or found[2] == b"!":
            continue
        begin, start = found.start(1), 0
        head = "self::" if found[1].startswith(b"self::") else ""
        names: NameChain = ()
        for separator in (*_SEPARATOR.finditer(found[1]), None):
            end = separator.start() if separator is not None else len(found[1])
            names = (*names, head if head and not names else found[1][start:end].decode("utf-8", "replace"))
            is_call = separator[0] == b"()." if separator is not None else found[2] is not None
            yield ("call" if is_call else "mention"), begin + start, names
            start = separator.end() if separator is not None else end


RUST_NAMES = NamingRules(
    query=_QUERY + _DATA_FLOW,
    definitions={
        "function_item": DefinitionKind("function", "function", has_locals=True),
        "function_signature_item": DefinitionKind("function", "function", has_locals=True),
        "struct_item": DefinitionKind("struct", "class", has_members=True),
        "union_item": DefinitionKind("union", "class", has_members=True),
        "enum_item": DefinitionKind("enum", "enum", has_members=True),
        "trait_item": DefinitionKind("trait", "interface", has_members=True),
        "mod_item": DefinitionKind("module", "block", has_locals=True, is_module=True),
        "type_item": DefinitionKind("type", "class"),
        "associated_type": DefinitionKind("type", "class"),
        "macro_definition": DefinitionKind("macro", "function"),
        "const_item": DefinitionKind("const", "block"),
        "static_item": DefinitionKind("static", "block"),
        "enum_variant": DefinitionKind("variant", "block", has_members=True),
        "field_declaration": DefinitionKind("field", "block"),
    },
    kind_of=_kind_of,
    names_of=_names_of,
    type_of=_type_of,
    container_of=_container_of,
    in_tokens=_in_tokens,
    imports=imports,
    files_of=files_of,
    passed_on=passed_on,
    module_of=module_of,
    module_words=MODULE_WORDS,
    written_module=written_module,
    own_module=own_module,
    call_lists=frozenset({"arguments"}),
    lambdas=frozenset({"closure_expression"}),
    qualifies_members=True,
    self_names=frozenset({"self", "Self"}),
    builtins=words(
        "Box Vec String Option Some None Result Ok Err vec format println print eprintln eprint write",
        "writeln panic assert assert_eq assert_ne debug_assert debug_assert_eq debug_assert_ne matches todo",
        "unreachable drop unimplemented include_str include_bytes concat stringify env option_env cfg line",
        "file column dbg thread_local bool char str u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32",
        "f64 Clone Copy Debug Default Drop Eq PartialEq Ord PartialOrd Hash Iterator IntoIterator",
        "DoubleEndedIterator ExactSizeIterator Extend From Into TryFrom TryInto AsRef AsMut ToOwned",
        "ToString Fn FnMut FnOnce Send Sync Sized Unpin derive test cfg_attr inline must_use allow deny",
        "warn doc ignore should_panic non_exhaustive repr",
    ),
    builtin_types=words(
        "bool char str u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 String Vec HashMap",
    ),
    declaring=frozenset(
        ["let_declaration", "let_condition", "parameter", "closure_parameters", "match_pattern", "type_parameter"]
    ),
)
