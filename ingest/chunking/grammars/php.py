"""PHP."""

import re

from tree_sitter import Node

from codequarry.ingest.chunking.language_spec import ImportedModule, LanguageSpec, Role, Rule, field_body, unnamed
from codequarry.ingest.symbols.languages.php import PHP_NAMES
from codequarry.ingest.symbols.nodes import first_named, node_text

_QUERY = r"""
(function_call_expression function: [(name) @call (qualified_name (name) @call)])
(member_call_expression name: (name) @call)
(nullsafe_member_call_expression name: (name) @call)
(scoped_call_expression name: (name) @call)
(scoped_call_expression scope: [(name) @ref (qualified_name (name) @ref)])
(object_creation_expression [(name) @call (qualified_name (name) @call)])
(attribute [(name) @ref (qualified_name (name) @ref)])
(named_type [(name) @ref (qualified_name (name) @ref)])
(base_clause [(name) @ref (qualified_name (name) @ref)])
(class_interface_clause [(name) @ref (qualified_name (name) @ref)])
(use_declaration [(name) @ref (qualified_name (name) @ref)])
(class_constant_access_expression . (name) @ref)
(class_declaration name: (name) @def)
(interface_declaration name: (name) @def)
(trait_declaration name: (name) @def)
(enum_declaration name: (name) @def)
(enum_case name: (name) @def)
(function_definition name: (name) @def)
(method_declaration name: (name) @def)
(const_element . (name) @def)
(property_element name: (variable_name (name) @def))
[(if_statement) (else_if_clause) (for_statement) (foreach_statement) (while_statement) (do_statement)
 (case_statement) (catch_clause) (conditional_expression) (match_conditional_expression)] @branch
(binary_expression operator: ["&&" "||" "??" "and" "or"] @branch)
[(namespace_use_declaration) (require_expression) (require_once_expression) (include_expression)
 (include_once_expression)] @import
"""

_NAMESPACE = re.compile(rb"^\s*(?:<\?php\s+)?namespace\s+([\w\\]+)", re.MULTILINE)
_INCLUDED = re.compile(r"""["']([^"']+)["']""")


def _namespace(node: Node, data: bytes) -> Rule:
    """Return the rule of a namespace, unnamed because the package has its name; prologue if it has no braces."""
    role = Role.SCOPE if field_body(node) is not None else Role.IMPORT
    return Rule(role, "namespace", name=unnamed)


def _statement(node: Node, data: bytes) -> Rule | None:
    inner = first_named(node)
    if inner is not None and inner.type.startswith(("require", "include")):
        return Rule(Role.IMPORT, "require")
    return None


def _imported(node: Node, data: bytes) -> list[ImportedModule]:
    r"""Read ``use A\B as C;``, ``use A\{B, C};`` and includes of a literal path."""
    text = " ".join(node_text(node, data).split()).rstrip(";")
    if not text.startswith("use "):
        path = _INCLUDED.search(text)
        return [ImportedModule("./" + path[1].lstrip("./"))] if path else []
    text = re.sub(r"^use\s+(function\s+|const\s+)?", "", text)
    base, group, inside = text.partition("{")
    clauses = inside.rstrip("} ").split(",") if group else base.split(",")
    found = []
    for clause in clauses:
        name, _, alias = clause.strip().partition(" as ")
        module = (base if group else "") + name.strip()
        found.append(ImportedModule(module.strip("\\ "), (alias.strip() or module.rsplit("\\", 1)[-1],)))
    return [imported for imported in found if imported.module]


def _dependency(module: str) -> str | None:
    return None if module.startswith(".") else module.split("\\", 1)[0]


def _package(root: Node, data: bytes, path: str) -> str | None:
    found = _NAMESPACE.search(data)
    return found[1].decode("utf-8", "replace").replace("\\", ".") if found else None


def _exported(name: str, signature: str, wrapped: bool) -> bool | None:
    return not {"private", "protected"} & set(signature.split("(", 1)[0].split())


PHP = LanguageSpec(
    grammar="php",
    query=_QUERY,
    rules={
        "php_tag": Rule(Role.IMPORT, "tag"),
        "declare_statement": Rule(Role.IMPORT, "declare"),
        "namespace_use_declaration": Rule(Role.IMPORT, "use"),
        "class_declaration": Rule(Role.TYPE, "class", "class"),
        "interface_declaration": Rule(Role.TYPE, "interface", "interface"),
        "trait_declaration": Rule(Role.TYPE, "trait", "class"),
        "enum_declaration": Rule(Role.TYPE, "enum", "enum"),
        "function_definition": Rule(Role.CALLABLE, "function", "function"),
        "method_declaration": Rule(Role.CALLABLE, "method", "method"),
        "const_declaration": Rule(Role.VALUE, "const"),
        "property_declaration": Rule(Role.VALUE, "property"),
        "use_declaration": Rule(Role.VALUE, "use"),
        "enum_case": Rule(Role.VALUE, "case"),
    },
    resolvers={"namespace_definition": _namespace, "expression_statement": _statement},
    annotations=frozenset({"attribute_list"}),
    blocks=frozenset({"compound_statement"}),
    imports=_imported,
    dependency=_dependency,
    exported=_exported,
    package=_package,
    names_package=True,
    naming=PHP_NAMES,
)
