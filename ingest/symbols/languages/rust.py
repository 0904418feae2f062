"""Names in Rust."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from codequarry.ingest.symbols.languages.rust_expressions import expression_names
from codequarry.ingest.symbols.languages.rust_modules import (
    MODULE_WORDS,
    files_of,
    imports,
    module_of,
    own_module,
    passed_on,
    written_module,
)
from codequarry.ingest.symbols.languages.rust_types import type_of
from codequarry.ingest.symbols.naming_rules import DefinitionKind, NameChain, NamingRules, data_flow_query, words
from codequarry.shared.relations import ReferenceKind

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


def _kind_of(node: Node, kind: DefinitionKind, data: bytes) -> DefinitionKind:
    if node.type == "mod_item" and node.child_by_field_name("body") is None:
        return DefinitionKind("module", "block", binds=False)
    return kind


def _container_of(node: Node, data: bytes) -> NameChain:
    """Return the name of the type that an impl block is for."""
    type_ = node.child_by_field_name("type")
    if type_ is not None and type_.type == "generic_type":
        type_ = type_.child_by_field_name("type")
    names = expression_names(type_, data)
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
    names_of=expression_names,
    type_of=type_of,
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
