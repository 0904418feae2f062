"""C#."""

import re

from tree_sitter import Node

from codequarry.ingest.chunking.language_spec import (
    ImportedModule,
    LanguageSpec,
    NamePath,
    Role,
    Rule,
    top_level,
    unnamed,
)
from codequarry.ingest.chunking.readable_source import readable_csharp
from codequarry.ingest.symbols.languages.csharp import CSHARP_NAMES
from codequarry.ingest.symbols.nodes import node_text

_QUERY = """
(invocation_expression function: [(identifier) @call (generic_name (identifier) @call)
  (member_access_expression name: [(identifier) @call (generic_name (identifier) @call)])
  (conditional_access_expression (member_binding_expression name: (identifier) @call))])
(object_creation_expression type: [(identifier) @call (generic_name (identifier) @call)
  (qualified_name name: (identifier) @call)])
(attribute name: (identifier) @ref)
(base_list [(identifier) @ref (generic_name (identifier) @ref) (qualified_name name: (identifier) @ref)])
(_ type: [(identifier) @ref (generic_name (identifier) @ref) (nullable_type (identifier) @ref)
  (array_type (identifier) @ref)])
(_ returns: [(identifier) @ref (generic_name (identifier) @ref)])
(type_argument_list (identifier) @ref)
(class_declaration name: (identifier) @def)
(struct_declaration name: (identifier) @def)
(interface_declaration name: (identifier) @def)
(record_declaration name: (identifier) @def)
(enum_declaration name: (identifier) @def)
(enum_member_declaration name: (identifier) @def)
(delegate_declaration name: (identifier) @def)
(method_declaration name: (identifier) @def)
(local_function_statement name: (identifier) @def)
(constructor_declaration name: (identifier) @def)
(property_declaration name: (identifier) @def)
(event_declaration name: (identifier) @def)
(field_declaration (variable_declaration (variable_declarator name: (identifier) @def)))
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @def)))
[(if_statement) (for_statement) (foreach_statement) (while_statement) (do_statement) (catch_clause)
 (switch_section) (switch_expression_arm) (conditional_expression)] @branch
(binary_expression operator: ["&&" "||" "??"] @branch)
(using_directive) @import
"""

_NAMESPACE = re.compile(rb"^\s*namespace\s+([\w.]+)", re.MULTILINE)


def _operator_name(node: Node, data: bytes) -> NamePath:
    symbol = node.child_by_field_name("operator") or node.child_by_field_name("type")
    return (f"operator {node_text(symbol, data)}",) if symbol is not None else ("operator",)


def _destructor_name(node: Node, data: bytes) -> NamePath:
    named = node.child_by_field_name("name")
    return (f"~{node_text(named, data)}",) if named is not None else ()


def _property_body(node: Node) -> Node | None:
    return node.child_by_field_name("accessors") or node.child_by_field_name("value")


def _property(node: Node, data: bytes) -> Rule:
    """Return the rule of a property: a method if its accessors have code, a field for ``{ get; set; }``."""
    body = _property_body(node)
    multiline = body is not None and body.end_point[0] - body.start_point[0] > 3
    return Rule(Role.CALLABLE if multiline else Role.VALUE, "property", "method", body=_property_body)


def _imported(node: Node, data: bytes) -> list[ImportedModule]:
    """Read ``using A.B;``, ``using static A.B;`` and ``using C = A.B;``; only the last form binds a name."""
    text = node_text(node, data).strip().rstrip(";")
    text = re.sub(r"^(global\s+)?using\s+(static\s+|unsafe\s+)*", "", text).strip()
    alias, equals, module = text.partition("=")
    return [ImportedModule(module.strip(), (alias.strip(),))] if equals else [ImportedModule(text)]


def _package(root: Node, data: bytes, path: str) -> str | None:
    found = _NAMESPACE.search(data)
    return found[1].decode("utf-8", "replace") if found else None


def _exported(name: str, signature: str, wrapped: bool) -> bool | None:
    words = set(signature.split("(", 1)[0].split())
    # Without a modifier it depends: members of an interface are public, others are not.
    return "public" in words or (False if {"private", "protected", "internal"} & words else None)


CSHARP = LanguageSpec(
    grammar="csharp",
    query=_QUERY,
    rules={
        "using_directive": Rule(Role.IMPORT, "using"),
        "extern_alias_directive": Rule(Role.IMPORT, "using"),
        "global_attribute": Rule(Role.IMPORT, "attribute"),
        "file_scoped_namespace_declaration": Rule(Role.IMPORT, "namespace"),
        "namespace_declaration": Rule(Role.SCOPE, "namespace", name=unnamed),
        "class_declaration": Rule(Role.TYPE, "class", "class"),
        "struct_declaration": Rule(Role.TYPE, "struct", "class"),
        "record_declaration": Rule(Role.TYPE, "record", "class"),
        "interface_declaration": Rule(Role.TYPE, "interface", "interface"),
        "enum_declaration": Rule(Role.TYPE, "enum", "enum"),
        "enum_member_declaration": Rule(Role.VALUE, "enum member"),
        "delegate_declaration": Rule(Role.VALUE, "delegate", "interface"),
        "method_declaration": Rule(Role.CALLABLE, "method", "method"),
        "local_function_statement": Rule(Role.CALLABLE, "function", "function"),
        "constructor_declaration": Rule(Role.CALLABLE, "constructor", "method"),
        "destructor_declaration": Rule(Role.CALLABLE, "destructor", "method", name=_destructor_name),
        "operator_declaration": Rule(Role.CALLABLE, "operator", "method", name=_operator_name),
        "conversion_operator_declaration": Rule(Role.CALLABLE, "operator", "method", name=_operator_name),
        "indexer_declaration": Rule(
            Role.CALLABLE, "indexer", "method", name=lambda node, data: ("this[]",), body=_property_body
        ),
        "field_declaration": Rule(Role.VALUE, "field"),
        "event_field_declaration": Rule(Role.VALUE, "event"),
        "event_declaration": Rule(Role.VALUE, "event"),
        "preproc_region": Rule(Role.SKIP),
        "preproc_endregion": Rule(Role.SKIP),
        "preproc_if": Rule(Role.TRANSPARENT, body=lambda node: node, name=unnamed),
        "preproc_else": Rule(Role.TRANSPARENT, body=lambda node: node, name=unnamed),
        "preproc_elif": Rule(Role.TRANSPARENT, body=lambda node: node, name=unnamed),
    },
    resolvers={"property_declaration": _property},
    wrappers={"global_statement": ""},
    annotations=frozenset({"attribute_list"}),
    blocks=frozenset({"block"}),
    prepare=readable_csharp,
    imports=_imported,
    dependency=top_level,
    exported=_exported,
    package=_package,
    names_package=True,
    naming=CSHARP_NAMES,
)
