"""Java, Kotlin and Scala."""

import re

from tree_sitter import Node

from codequarry.ingest.chunking.spec import (
    ImportedModule,
    LanguageSpec,
    NamePath,
    Role,
    Rule,
    body_of,
    child_of,
    node_text,
    top_level,
)

_IMPORT = re.compile(r"^\s*import\s+(?:static\s+)?([\w.`$]+?)(?:\.\*|\._)?(?:\s+as\s+(\w+))?\s*;?\s*$")
_KEYWORD = re.compile(r"\b(?:class|interface|object|fun|val|var|typealias|constructor|def|trait|type|enum|given)\b")
_PACKAGE = re.compile(r"^\s*package\s+([\w.`]+)")


def dotted_import(node: Node, data: bytes) -> list[ImportedModule]:
    """Read ``import a.b.C``, ``import static a.B.c``, ``import a.b.*`` and ``import a.b.C as D``."""
    # Kotlin's grammar puts the comment after the last import into it.
    line = node_text(node, data).split("\n", 1)[0]
    found = _IMPORT.match(line.partition("//")[0])
    if found is None:
        return []
    module, alias = found[1], found[2]
    if ".*" in line or "._" in line:
        return [ImportedModule(f"{module}.*")]
    return [ImportedModule(module, (alias or module.rsplit(".", 1)[-1],))]


def dependency(module: str) -> str | None:
    """Return the organisation's part of a dotted name: ``com.acme`` of ``com.acme.billing.Invoice``."""
    parts = module.removesuffix(".*").split(".")
    organisations = {"com", "org", "net", "io", "de", "dev", "edu", "gov", "me", "co", "uk", "ch", "fr", "nl", "cn"}
    return ".".join(parts[:2]) if parts[0] in organisations and len(parts) > 1 else top_level(module)


def _clause(root: Node, data: bytes, path: str) -> str | None:
    """Return the package clause; Scala may have several, one below the other."""
    names = []
    for child in root.children:
        if child.type in {"package_declaration", "package_header", "package_clause"}:
            found = _PACKAGE.match(node_text(child, data))
            names += [found[1].replace("`", "")] if found else []
    return ".".join(names) or None


_JAVA_QUERY = """
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
    query=_JAVA_QUERY,
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
    exported=_java_exported,
    package=_clause,
    names_package=True,
)

_KOTLIN_QUERY = """
(call_expression . [(simple_identifier) @call (navigation_expression (navigation_suffix (simple_identifier) @call))])
(constructor_invocation (user_type (type_identifier) @call))
(type_identifier) @ref
(class_declaration (type_identifier) @def)
(object_declaration (type_identifier) @def)
(companion_object (type_identifier) @def)
(function_declaration (simple_identifier) @def)
(type_alias . (type_identifier) @def)
(enum_entry (simple_identifier) @def)
(source_file (property_declaration (variable_declaration (simple_identifier) @def)))
(class_body (property_declaration (variable_declaration (simple_identifier) @def)))
(class_parameter (binding_pattern_kind) (simple_identifier) @def)
[(if_expression) (for_statement) (while_statement) (do_while_statement) (when_entry) (catch_block)
 (elvis_expression) (conjunction_expression) (disjunction_expression)] @branch
(import_header) @import
"""


def _kotlin_name(node: Node, data: bytes) -> NamePath:
    """Put the receiver's type of an extension function before its name."""
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
    """One node type stands for classes, interfaces and enums; the keyword tells."""
    words = {child.type for child in node.children}
    body = body_of("class_body", "enum_class_body")
    if "interface" in words:
        return Rule(Role.TYPE, "interface", "interface", name=_kotlin_name, body=body)
    if "enum" in words or child_of(node, "enum_class_body") is not None:
        return Rule(Role.TYPE, "enum", "enum", name=_kotlin_name, body=body)
    return Rule(Role.TYPE, "class", "class", name=_kotlin_name, body=body)


def _unless_hidden(name: str, signature: str, wrapped: bool) -> bool | None:
    """Public is the default of Kotlin and Scala."""
    modifiers = _KEYWORD.split(signature, maxsplit=1)[0]
    return not {"private", "internal", "protected"} & set(re.split(r"[\s\[]", modifiers))


KOTLIN = LanguageSpec(
    grammar="kotlin",
    query=_KOTLIN_QUERY,
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
    exported=_unless_hidden,
    package=_clause,
    names_package=True,
)

_SCALA_QUERY = """
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
    query=_SCALA_QUERY,
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
    exported=_unless_hidden,
    package=_clause,
    names_package=True,
)
