"""Swift."""

import re

from tree_sitter import Node

from codequarry.ingest.chunking.grammars import builtins
from codequarry.ingest.chunking.language_spec import ImportedModule, LanguageSpec, NamePath, Role, Rule, top_level
from codequarry.ingest.symbols.nodes import node_text

_QUERY = """
(call_expression . [(simple_identifier) @call
  (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @call))])
(type_identifier) @ref
(class_declaration name: (type_identifier) @def)
(protocol_declaration name: (type_identifier) @def)
(function_declaration name: (simple_identifier) @def)
(protocol_function_declaration name: (simple_identifier) @def)
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @def))
(typealias_declaration name: (type_identifier) @def)
(associatedtype_declaration name: (type_identifier) @def)
(enum_entry name: (simple_identifier) @def)
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @def)))
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @def)))
[(if_statement) (guard_statement) (for_statement) (while_statement) (repeat_while_statement) (switch_entry)
 (catch_block) (ternary_expression) (nil_coalescing_expression) (conjunction_expression)
 (disjunction_expression)] @branch
(import_declaration) @import
"""

_IMPORT = re.compile(r"\bimport\s+(?:(?:class|struct|enum|protocol|func|var|let|typealias)\s+)?([\w.]+)")


def _bare(text: str) -> str:
    return re.sub(r"\s*<.*", "", text, flags=re.DOTALL)


def _extension_name(node: Node, data: bytes) -> NamePath:
    """Return ``extension Type`` as the name of an extension, which defines no type."""
    named = node.child_by_field_name("name")
    return (f"extension {_bare(node_text(named, data))}",) if named is not None else ()


def _class(node: Node, data: bytes) -> Rule:
    """Return the rule of a class, struct, enum, actor or extension by its keyword: the grammar has one node type."""
    word = node.child_by_field_name("declaration_kind")
    kind = node_text(word, data) if word is not None else "class"
    if kind == "extension":
        return Rule(Role.TYPE, kind, "class", name=_extension_name, reopens=True)
    return Rule(Role.TYPE, kind, "enum" if kind == "enum" else "class")


def _named(name: str) -> Rule:
    return Rule(Role.CALLABLE, name, "method", name=lambda node, data: (name,))


def _property(node: Node, data: bytes) -> Rule:
    """Return the rule of a property; a computed property of several lines is a method."""
    body = node.child_by_field_name("computed_value")
    if body is not None and body.end_point[0] - body.start_point[0] > 3:
        return Rule(Role.CALLABLE, "property", "method", body=lambda inner: body)
    return Rule(Role.VALUE, "property")


def _imported(node: Node, data: bytes) -> list[ImportedModule]:
    found = _IMPORT.search(node_text(node, data))
    return [ImportedModule(found[1])] if found else []


def _exported(name: str, signature: str, wrapped: bool) -> bool | None:
    words = set(re.split(r"[\s(]", signature))
    if {"public", "open"} & words:
        return True
    return False if {"private", "fileprivate"} & words else None


SWIFT = LanguageSpec(
    grammar="swift",
    query=_QUERY,
    rules={
        "import_declaration": Rule(Role.IMPORT, "import"),
        "shebang_line": Rule(Role.IMPORT, "shebang"),
        "protocol_declaration": Rule(Role.TYPE, "protocol", "interface"),
        "function_declaration": Rule(Role.CALLABLE, "function", "function"),
        "protocol_function_declaration": Rule(Role.CALLABLE, "function", "method"),
        "init_declaration": _named("init"),
        "deinit_declaration": _named("deinit"),
        "subscript_declaration": _named("subscript"),
        "protocol_property_declaration": Rule(Role.VALUE, "property"),
        "typealias_declaration": Rule(Role.VALUE, "typealias", "class"),
        "associatedtype_declaration": Rule(Role.VALUE, "associatedtype"),
        "enum_entry": Rule(Role.VALUE, "case"),
        "operator_declaration": Rule(Role.VALUE, "operator"),
    },
    resolvers={"class_declaration": _class, "property_declaration": _property},
    comments=frozenset({"comment", "multiline_comment"}),
    annotations=frozenset({"attribute"}),
    blocks=frozenset({"statements"}),
    imports=_imported,
    builtins=builtins.SWIFT,
    dependency=top_level,
    exported=_exported,
)
