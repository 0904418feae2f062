"""Rust."""

import re

from tree_sitter import Node

from codequarry.ingest.chunking.grammars import builtins
from codequarry.ingest.chunking.language_spec import (
    ImportedModule,
    LanguageSpec,
    NamePath,
    Role,
    Rule,
    body_of,
    field_body,
)
from codequarry.ingest.symbols.languages.rust import RUST_NAMES
from codequarry.ingest.symbols.nodes import node_text

_QUERY = """
(call_expression function: [(identifier) @call (field_expression field: (field_identifier) @call)
  (scoped_identifier name: (identifier) @call)
  (generic_function function: [(identifier) @call (field_expression field: (field_identifier) @call)
    (scoped_identifier name: (identifier) @call)])])
(macro_invocation macro: [(identifier) @call (scoped_identifier name: (identifier) @call)])
(type_identifier) @ref
(scoped_identifier path: (identifier) @ref)
(function_item name: (identifier) @def)
(function_signature_item name: (identifier) @def)
(struct_item name: (type_identifier) @def)
(enum_item name: (type_identifier) @def)
(union_item name: (type_identifier) @def)
(trait_item name: (type_identifier) @def)
(type_item name: (type_identifier) @def)
(associated_type name: (type_identifier) @def)
(mod_item name: (identifier) @def body: (_))
(macro_definition name: (identifier) @def)
(const_item name: (identifier) @def)
(static_item name: (identifier) @def)
(enum_variant name: (identifier) @def)
(field_declaration name: (field_identifier) @def)
[(if_expression) (for_expression) (while_expression) (loop_expression) (match_arm) (try_expression)] @branch
(binary_expression operator: ["&&" "||"] @branch)
[(use_declaration) (extern_crate_declaration)] @import
"""

_USE_TOKEN = re.compile(r"[{},]|\bas\b|[^{},\s]+")
_WORD = re.compile(r"\w+")


def _impl_name(node: Node, data: bytes) -> NamePath:
    """Return ``impl Trait for Type`` as the name of an impl block, which defines no type."""
    implemented, trait = node.child_by_field_name("type"), node.child_by_field_name("trait")
    owner = _bare(implemented, data) if implemented is not None else ""
    return (f"impl {_bare(trait, data)} for {owner}" if trait is not None else f"impl {owner}",)


def _bare(node: Node, data: bytes) -> str:
    return re.sub(r"<.*", "", node_text(node, data), flags=re.DOTALL).rsplit("::", 1)[-1].strip("& ")


def _imported(node: Node, data: bytes) -> list[ImportedModule]:
    """Read every path of a use declaration: ``std::{fmt, io::{self, Read as R}}`` has three."""
    argument = node.child_by_field_name("argument") or node.child_by_field_name("name")
    found: list[ImportedModule] = []
    prefixes = [""]
    path = ""
    for token in _USE_TOKEN.findall(node_text(argument, data)) if argument is not None else ():
        if token == "{":
            prefixes.append(path)
        if token in "{},":
            found += _used(path) if token != "{" and path != prefixes[-1] else []
            if token == "}" and len(prefixes) > 1:
                prefixes.pop()
            # A comma after a closing brace ends no path.
            path = prefixes[-1]
        else:
            path += token.strip() if token.strip() != "as" else " as "
    return found + (_used(path) if path != prefixes[-1] else [])


def _used(path: str) -> list[ImportedModule]:
    """Read a path: ``io::self`` is ``io``, and a star binds no known name."""
    module, _, alias = path.partition(" as ")
    module = module.removesuffix("::self")
    name = alias or module.rsplit("::", 1)[-1]
    return [ImportedModule(module, (name,) if _WORD.fullmatch(name) else ())]


def _dependency(module: str) -> str | None:
    first = module.removeprefix("::").split("::", 1)[0]
    return None if first in {"crate", "self", "super", ""} else first


def _package(root: Node, data: bytes, path: str) -> str | None:
    """Return the crate's folder in ``<crate>/src/…``; the name in Cargo.toml is not known here."""
    before, found, _ = path.partition("/src/")
    return before.rsplit("/", 1)[-1] if found else None


def _module(node: Node, data: bytes) -> Rule:
    """Return the rule of a module; without a body, ``mod name;`` imports another file."""
    return Rule(Role.SCOPE, "mod") if field_body(node) is not None else Rule(Role.IMPORT, "mod")


RUST = LanguageSpec(
    grammar="rust",
    query=_QUERY,
    rules={
        "use_declaration": Rule(Role.IMPORT, "use"),
        "extern_crate_declaration": Rule(Role.IMPORT, "use"),
        "inner_attribute_item": Rule(Role.IMPORT, "attribute"),
        "function_item": Rule(Role.CALLABLE, "function", "function"),
        "function_signature_item": Rule(Role.CALLABLE, "function", "function"),
        "macro_definition": Rule(Role.CALLABLE, "macro", "function", body=body_of("macro_rule")),
        "struct_item": Rule(Role.TYPE, "struct", "class"),
        "union_item": Rule(Role.TYPE, "union", "class"),
        "enum_item": Rule(Role.TYPE, "enum", "enum"),
        "trait_item": Rule(Role.TYPE, "trait", "interface"),
        "impl_item": Rule(Role.TYPE, "impl", "class", name=_impl_name, reopens=True),
        "foreign_mod_item": Rule(Role.TRANSPARENT),
        "const_item": Rule(Role.VALUE, "const"),
        "static_item": Rule(Role.VALUE, "static"),
        "type_item": Rule(Role.VALUE, "type", "class"),
        "associated_type": Rule(Role.VALUE, "type"),
        "enum_variant": Rule(Role.VALUE, "variant"),
        "field_declaration": Rule(Role.VALUE, "field"),
        "empty_statement": Rule(Role.SKIP),
    },
    resolvers={"mod_item": _module},
    comments=frozenset({"line_comment", "block_comment"}),
    leading=frozenset({"attribute_item"}),
    blocks=frozenset({"block", "declaration_list"}),
    imports=_imported,
    builtins=builtins.RUST,
    dependency=_dependency,
    exported=lambda name, signature, wrapped: signature.startswith("pub "),
    package=_package,
    naming=RUST_NAMES,
)
