"""Java."""

from codequarry.ingest.chunking.grammars import builtins
from codequarry.ingest.chunking.grammars.jvm import dependency, dotted_import, package_clause
from codequarry.ingest.chunking.language_spec import LanguageSpec, Role, Rule, body_of
from codequarry.ingest.symbols.languages.java import JAVA_NAMES

_QUERY = """
(method_invocation name: (identifier) @call)
(object_creation_expression type: [(type_identifier) @call (generic_type (type_identifier) @call)
  (scoped_type_identifier (type_identifier) @call .)])
(method_reference (_) (identifier) @call)
(annotation name: (identifier) @ref)
(marker_annotation name: (identifier) @ref)
(type_identifier) @ref
(class_declaration name: (identifier) @def)
(interface_declaration name: (identifier) @def)
(enum_declaration name: (identifier) @def)
(record_declaration name: (identifier) @def)
(annotation_type_declaration name: (identifier) @def)
(method_declaration name: (identifier) @def)
(constructor_declaration name: (identifier) @def)
(annotation_type_element_declaration name: (identifier) @def)
(enum_constant name: (identifier) @def)
(field_declaration declarator: (variable_declarator name: (identifier) @def))
(constant_declaration declarator: (variable_declarator name: (identifier) @def))
[(if_statement) (for_statement) (enhanced_for_statement) (while_statement) (do_statement) (catch_clause)
 (switch_label) (ternary_expression)] @branch
(binary_expression operator: ["&&" "||"] @branch)
(import_declaration) @import
"""


def _java_exported(name: str, signature: str, wrapped: bool) -> bool | None:
    words = set(signature.split("(", 1)[0].split())
    # Without a modifier it depends: members of an interface are public, others are not.
    return "public" in words or (False if {"private", "protected"} & words else None)


JAVA = LanguageSpec(
    grammar="java",
    query=_QUERY,
    rules={
        "package_declaration": Rule(Role.IMPORT, "package"),
        "import_declaration": Rule(Role.IMPORT, "import"),
        "module_declaration": Rule(Role.BLOCK, "module"),
        "class_declaration": Rule(Role.TYPE, "class", "class"),
        "interface_declaration": Rule(Role.TYPE, "interface", "interface"),
        "annotation_type_declaration": Rule(Role.TYPE, "annotation", "interface"),
        "enum_declaration": Rule(Role.TYPE, "enum", "enum"),
        "record_declaration": Rule(Role.TYPE, "record", "class"),
        "method_declaration": Rule(Role.CALLABLE, "method", "method"),
        "constructor_declaration": Rule(Role.CALLABLE, "constructor", "method"),
        "compact_constructor_declaration": Rule(Role.CALLABLE, "constructor", "method"),
        "annotation_type_element_declaration": Rule(Role.CALLABLE, "element", "method"),
        "static_initializer": Rule(Role.BLOCK, "static initializer", body=body_of("block")),
        "field_declaration": Rule(Role.VALUE, "field"),
        "constant_declaration": Rule(Role.VALUE, "constant"),
        "enum_constant": Rule(Role.VALUE, "enum constant"),
        "enum_body_declarations": Rule(Role.TRANSPARENT, body=lambda node: node),
    },
    comments=frozenset({"line_comment", "block_comment"}),
    annotations=frozenset({"annotation", "marker_annotation"}),
    blocks=frozenset({"block"}),
    imports=dotted_import,
    dependency=dependency,
    builtins=builtins.JVM,
    exported=_java_exported,
    package=package_clause,
    names_package=True,
    naming=JAVA_NAMES,
)
