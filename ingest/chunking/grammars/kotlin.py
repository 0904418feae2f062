"""Kotlin."""

import re

from tree_sitter import Node

from codequarry.ingest.chunking.grammars import builtins
from codequarry.ingest.chunking.grammars.jvm import dependency, dotted_import, is_public, package_clause
from codequarry.ingest.chunking.language_spec import LanguageSpec, NamePath, Role, Rule, body_of, child_of
from codequarry.ingest.symbols.languages.kotlin import KOTLIN_NAMES
from codequarry.ingest.symbols.nodes import node_text

_QUERY = """
(call_expression . [(simple_identifier) @call (navigation_expression (navigation_suffix (simple_identifier) @call))])
(constructor_invocation (user_type (type_identifier) @call))
(type_identifier) @ref
(class_declaration (type_identifier) @def)
(object_declaration (type_identifier) @def)
(companion_object (type_identifier) @def)
(function_declaration (simple_identifier) @def)
(type_alias (type_identifier) @def)
(enum_entry (simple_identifier) @def)
(source_file (property_declaration (variable_declaration (simple_identifier) @def)))
(class_body (property_declaration (variable_declaration (simple_identifier) @def)))
(class_parameter (binding_pattern_kind) (simple_identifier) @def)
[(if_expression) (for_statement) (while_statement) (do_while_statement) (when_entry) (catch_block)
 (elvis_expression) (conjunction_expression) (disjunction_expression)] @branch
(import_header) @import
"""


def _kotlin_name(node: Node, data: bytes) -> NamePath:
    """Return the name, preceded by the receiver's type for an extension function."""
    receiver = node.child_by_field_name("receiver")
    named = child_of(node, "type_identifier", "simple_identifier")
    if named is None:
        return ()
    owner = (re.sub(r"<.*|\?", "", node_text(receiver, data), flags=re.DOTALL),) if receiver is not None else ()
    return (*owner, node_text(named, data))


def _companion_name(node: Node, data: bytes) -> NamePath:
    named = child_of(node, "type_identifier")
    return (node_text(named, data) if named is not None else "Companion",)


def _kotlin_class(node: Node, data: bytes) -> Rule:
    """Return the rule of a class, interface or enum by its keyword: the grammar has one node type for all."""
    words = {child.type for child in node.children}
    body = body_of("class_body", "enum_class_body")
    if "interface" in words:
        return Rule(Role.TYPE, "interface", "interface", name=_kotlin_name, body=body)
    if "enum" in words or child_of(node, "enum_class_body") is not None:
        return Rule(Role.TYPE, "enum", "enum", name=_kotlin_name, body=body)
    return Rule(Role.TYPE, "class", "class", name=_kotlin_name, body=body)


KOTLIN = LanguageSpec(
    grammar="kotlin",
    query=_QUERY,
    rules={
        "file_annotation": Rule(Role.IMPORT, "annotation"),
        "package_header": Rule(Role.IMPORT, "package"),
        "import_list": Rule(Role.TRANSPARENT, body=lambda node: node),
        "import_header": Rule(Role.IMPORT, "import"),
        "object_declaration": Rule(Role.TYPE, "object", "class", name=_kotlin_name, body=body_of("class_body")),
        "companion_object": Rule(Role.TYPE, "companion", "class", name=_companion_name, body=body_of("class_body")),
        "function_declaration": Rule(
            Role.CALLABLE, "function", "function", name=_kotlin_name, body=body_of("function_body")
        ),
        "secondary_constructor": Rule(
            Role.CALLABLE, "constructor", "method", name=lambda n, d: ("constructor",), body=body_of("{", "statements")
        ),
        "anonymous_initializer": Rule(Role.BLOCK, "init"),
        "property_declaration": Rule(Role.VALUE, "property"),
        "type_alias": Rule(Role.VALUE, "typealias", "class"),
        "enum_entry": Rule(Role.VALUE, "enum entry"),
    },
    resolvers={"class_declaration": _kotlin_class},
    comments=frozenset({"line_comment", "multiline_comment"}),
    annotations=frozenset({"annotation"}),
    blocks=frozenset({"statements"}),
    imports=dotted_import,
    dependency=dependency,
    builtins=builtins.JVM,
    exported=is_public,
    package=package_clause,
    names_package=True,
    naming=KOTLIN_NAMES,
)
