"""Scala."""

import re

from tree_sitter import Node

from codequarry.ingest.chunking.grammars import builtins
from codequarry.ingest.chunking.grammars.jvm import dependency, is_public, package_clause
from codequarry.ingest.chunking.language_spec import ImportedModule, LanguageSpec, Role, Rule
from codequarry.ingest.symbols.nodes import node_text

_QUERY = """
(call_expression function: [(identifier) @call (field_expression field: (identifier) @call)
  (generic_function function: [(identifier) @call (field_expression field: (identifier) @call)])])
(instance_expression (type_identifier) @call)
(type_identifier) @ref
(class_definition name: (identifier) @def)
(object_definition name: (identifier) @def)
(trait_definition name: (identifier) @def)
(enum_definition name: (identifier) @def)
(simple_enum_case name: (identifier) @def)
(full_enum_case name: (identifier) @def)
(function_definition name: (identifier) @def)
(function_declaration name: (identifier) @def)
(given_definition name: (identifier) @def)
(type_definition name: (type_identifier) @def)
(compilation_unit (val_definition pattern: (identifier) @def))
(template_body (val_definition pattern: (identifier) @def))
(template_body (var_definition pattern: (identifier) @def))
(template_body (val_declaration name: (identifier) @def))
[(if_expression) (for_expression) (while_expression) (case_clause) (catch_clause)] @branch
(import_declaration) @import
"""


def _scala_imported(node: Node, data: bytes) -> list[ImportedModule]:
    """Read ``import a.b.C``, ``import a.b.{C, D => E}`` and ``import a._``."""
    text = " ".join(node_text(node, data).split()).removeprefix("import ")
    found = []
    for clause in re.split(r",(?![^{]*})", text):
        module, group, inside = clause.strip().partition("{")
        if group:
            leaves = [re.split(r"\s*=>\s*|\s+as\s+", leaf.strip(" }"))[-1] for leaf in inside.split(",")]
            names = tuple(leaf for leaf in leaves if leaf.isidentifier() and leaf != "_")
            found.append(ImportedModule(module.rstrip("."), names))
        elif module.rsplit(".", 1)[-1] in {"_", "*", "given"}:
            found.append(ImportedModule(module.rsplit(".", 1)[0] + ".*"))
        else:
            found.append(ImportedModule(module, (module.rsplit(".", 1)[-1],)))
    return found


SCALA = LanguageSpec(
    grammar="scala",
    query=_QUERY,
    rules={
        "package_clause": Rule(Role.IMPORT, "package"),
        "import_declaration": Rule(Role.IMPORT, "import"),
        "package_object": Rule(Role.TYPE, "package object", "class"),
        "class_definition": Rule(Role.TYPE, "class", "class"),
        "object_definition": Rule(Role.TYPE, "object", "class"),
        "trait_definition": Rule(Role.TYPE, "trait", "interface"),
        "enum_definition": Rule(Role.TYPE, "enum", "enum"),
        "function_definition": Rule(Role.CALLABLE, "function", "function"),
        "function_declaration": Rule(Role.CALLABLE, "function", "function"),
        "given_definition": Rule(Role.TYPE, "given", "class"),
        "extension_definition": Rule(Role.TRANSPARENT),
        "val_definition": Rule(Role.VALUE, "val"),
        "var_definition": Rule(Role.VALUE, "var"),
        "val_declaration": Rule(Role.VALUE, "val"),
        "type_definition": Rule(Role.VALUE, "type", "class"),
        "enum_case_definitions": Rule(Role.VALUE, "case"),
    },
    comments=frozenset({"comment", "block_comment"}),
    annotations=frozenset({"annotation"}),
    blocks=frozenset({"block", "template_body"}),
    imports=_scala_imported,
    dependency=dependency,
    builtins=builtins.JVM,
    exported=is_public,
    package=package_clause,
    names_package=True,
)
