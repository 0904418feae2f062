"""C and C++."""

import re

from tree_sitter import Node

from codequarry.ingest.chunking.language_spec import ImportedModule, LanguageSpec, NamePath, Role, Rule, unnamed
from codequarry.ingest.chunking.readable_source import without_macros
from codequarry.ingest.symbols.languages.cfamily import C_NAMES, CPP_NAMES
from codequarry.ingest.symbols.nodes import node_text

_QUERY = """
(call_expression function: [(identifier) @call (field_expression field: (field_identifier) @call)])
(type_identifier) @ref
(function_declarator declarator: [(identifier) @def (parenthesized_declarator (identifier) @def)])
(preproc_def name: (identifier) @def value: (_))
(preproc_function_def name: (identifier) @def)
(type_definition declarator: (type_identifier) @def)
(type_definition declarator: (_ declarator: (type_identifier) @def))
(type_definition declarator: [
  (function_declarator (parenthesized_declarator (pointer_declarator (type_identifier) @def)))
  (_ declarator: (function_declarator (parenthesized_declarator (pointer_declarator (type_identifier) @def))))])
(struct_specifier name: (type_identifier) @def body: (_))
(union_specifier name: (type_identifier) @def body: (_))
(enum_specifier name: (type_identifier) @def body: (_))
(enumerator name: (identifier) @def)
(field_declaration declarator: (field_identifier) @def)
(field_declaration declarator: (_ declarator: (field_identifier) @def))
(field_declaration declarator: (function_declarator
  declarator: (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @def))))
(translation_unit (declaration declarator: [(identifier) @def (_ declarator: (identifier) @def)
  (_ declarator: (_ declarator: (identifier) @def))
  (_ declarator: (_ declarator: (_ declarator: (identifier) @def)))]))
(linkage_specification (declaration_list (declaration declarator: [(identifier) @def
  (_ declarator: (identifier) @def) (_ declarator: (_ declarator: (identifier) @def))])))
(_ [(preproc_if (declaration declarator: [(identifier) @outside (_ declarator: (identifier) @outside)
    (_ declarator: (_ declarator: (identifier) @outside))]))
  (preproc_ifdef (declaration declarator: [(identifier) @outside (_ declarator: (identifier) @outside)
    (_ declarator: (_ declarator: (identifier) @outside))]))
  (preproc_else (declaration declarator: [(identifier) @outside (_ declarator: (identifier) @outside)
    (_ declarator: (_ declarator: (identifier) @outside))]))])
[(if_statement) (for_statement) (while_statement) (do_statement) (case_statement) (conditional_expression)] @branch
(binary_expression operator: ["&&" "||"] @branch)
(preproc_include) @import
"""

_CPP_QUERY = """
(call_expression function: [(qualified_identifier name: (identifier) @call)
  (qualified_identifier name: (qualified_identifier name: (identifier) @call))
  (qualified_identifier name: (template_function name: (identifier) @call))
  (template_function name: (identifier) @call)
  (field_expression field: (template_method name: (field_identifier) @call))])
(new_expression type: (type_identifier) @call)
(function_declarator declarator: [(field_identifier) @def (destructor_name) @def (operator_name) @def
  (qualified_identifier name: [(identifier) (destructor_name) (operator_name)] @def)
  (qualified_identifier name: (qualified_identifier name: (identifier) @def))])
(class_specifier name: (type_identifier) @def body: (_))
(alias_declaration name: (type_identifier) @def)
(concept_definition name: (identifier) @def)
(namespace_definition (declaration_list (declaration declarator: [(identifier) @def
  (array_declarator declarator: (identifier) @def) (pointer_declarator declarator: (identifier) @def)
  (init_declarator declarator: [(identifier) @def (_ declarator: (identifier) @def)])])))
(declaration declarator: [(qualified_identifier name: (identifier) @def)
  (_ declarator: (qualified_identifier name: (identifier) @def))
  (_ declarator: (_ declarator: (qualified_identifier name: (identifier) @def)))])
[(for_range_loop) (catch_clause)] @branch
"""

_DECLARATORS = {
    "pointer_declarator",
    "reference_declarator",
    "parenthesized_declarator",
    "array_declarator",
    "init_declarator",
    "attributed_declarator",
}
_SPECIFIERS = {
    "struct_specifier": ("struct", "class"),
    "union_specifier": ("union", "class"),
    "class_specifier": ("class", "class"),
    "enum_specifier": ("enum", "enum"),
}
# Separates the parts of a qualified name: `a::B<T>::~B`, `Foo::operator==`.
_SEPARATOR = re.compile(r"\s*::\s*")


def _function_declarator(node: Node) -> Node | None:
    """Return the function declarator inside nested declarators, at most ten deep."""
    found = node.child_by_field_name("declarator")
    for _ in range(10):
        if found is None or found.type == "function_declarator":
            return found
        if found.type not in _DECLARATORS:
            return None
        found = found.child_by_field_name("declarator") or next(iter(found.named_children[-1:]), None)
    return None


def _function_name(node: Node, data: bytes) -> NamePath:
    declarator = _function_declarator(node)
    inner = declarator.child_by_field_name("declarator") if declarator is not None else None
    if inner is None or inner.type == "parenthesized_declarator":
        return ()
    text = " ".join(node_text(inner, data).split())
    scope, operator, symbol = text.partition("operator")
    plain = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", scope))
    parts = [part for part in _SEPARATOR.split(plain) if part]
    return (*parts, operator + symbol) if operator and (not plain or plain.endswith(":")) else tuple(parts)


def _function(node: Node, data: bytes) -> Rule | None:
    """Return the rule of a function, of a method if the name is qualified, or None if a macro hides the declarator."""
    name = _function_name(node, data)
    if not name:
        return None
    kind = "method" if len(name) > 1 else "function"
    return Rule(Role.CALLABLE, kind, "method" if kind == "method" else "function", name=_function_name)


def _declaration(node: Node, data: bytes) -> "tuple[Node, Rule] | Rule":
    if _function_name(node, data):
        return Rule(Role.VALUE, "prototype", "function")
    declared = node.child_by_field_name("type")
    if declared is not None and declared.type in _SPECIFIERS and declared.child_by_field_name("body") is not None:
        return node, _specifier_rule(declared)
    return Rule(Role.VALUE, "field" if node.type == "field_declaration" else "variable")


def _specifier_rule(specifier: Node) -> Rule:
    kind, symbol = _SPECIFIERS[specifier.type]

    def name(node: Node, data: bytes) -> NamePath:
        named = specifier.child_by_field_name("name") or node.child_by_field_name("declarator")
        return (re.sub(r"\s*<.*", "", node_text(named, data), flags=re.DOTALL),) if named is not None else ()

    return Rule(
        Role.TYPE,
        kind,
        "enum" if symbol == "enum" else "class",
        name=name,
        body=lambda node: specifier.child_by_field_name("body"),
    )


def _specifier(node: Node, data: bytes) -> Rule | None:
    return _specifier_rule(node) if node.child_by_field_name("body") is not None else Rule(Role.VALUE, "declaration")


def _typedef(node: Node, data: bytes) -> "tuple[Node, Rule] | Rule":
    """Return the rule of a typedef; a struct, union or enum with a body gets its new name."""
    declared = node.child_by_field_name("type")
    if declared is None or declared.type not in _SPECIFIERS or declared.child_by_field_name("body") is None:
        return Rule(Role.VALUE, "typedef", "class")
    rule = _specifier_rule(declared)
    alias = node.child_by_field_name("declarator")
    if alias is not None and alias.type == "type_identifier":
        return node, Rule(rule.role, rule.kind, rule.type, lambda inner, data: (node_text(alias, data),), rule.body)
    return node, rule


def _namespace_name(node: Node, data: bytes) -> NamePath:
    named = node.child_by_field_name("name")
    return tuple(_SEPARATOR.split(node_text(named, data))) if named is not None else ()


def _macro(node: Node, data: bytes) -> Rule:
    """Return the rule of a macro; without a value it is an include guard or a switch, and part of the prologue."""
    return Rule(Role.VALUE, "macro") if node.child_by_field_name("value") is not None else Rule(Role.IMPORT, "macro")


def _included(node: Node, data: bytes) -> list[ImportedModule]:
    path = node.child_by_field_name("path")
    return [ImportedModule(node_text(path, data).strip('<>"'))] if path is not None else []


def _dependency(module: str) -> str | None:
    """Return ``lib`` for ``<lib/header.h>``; a header without a folder names no package."""
    head, slash, _ = module.partition("/")
    return head if slash and not head.startswith(".") else None


def _static_is_hidden(name: str, signature: str, wrapped: bool) -> bool | None:
    return False if signature.startswith("static ") else None


_CONDITIONAL = Rule(Role.TRANSPARENT, body=lambda node: node, name=unnamed)
_RULES = {
    "preproc_include": Rule(Role.IMPORT, "include"),
    "preproc_call": Rule(Role.IMPORT, "directive"),
    "preproc_function_def": Rule(Role.VALUE, "macro"),
    "preproc_if": _CONDITIONAL,
    "preproc_ifdef": _CONDITIONAL,
    "preproc_else": _CONDITIONAL,
    "preproc_elif": _CONDITIONAL,
    "preproc_elifdef": _CONDITIONAL,
    "linkage_specification": Rule(Role.TRANSPARENT),
    "enumerator": Rule(Role.VALUE, "enumerator"),
}
_RESOLVERS = {
    "function_definition": _function,
    "declaration": _declaration,
    "field_declaration": _declaration,
    "type_definition": _typedef,
    "struct_specifier": _specifier,
    "union_specifier": _specifier,
    "enum_specifier": _specifier,
    "preproc_def": _macro,
}
_BLOCKS = frozenset({"compound_statement"})

C = LanguageSpec(
    grammar="c",
    query=_QUERY,
    rules=_RULES,
    resolvers=_RESOLVERS,
    blocks=_BLOCKS,
    prepare=without_macros,
    imports=_included,
    dependency=_dependency,
    exported=_static_is_hidden,
    naming=C_NAMES,
)
CPP = LanguageSpec(
    grammar="cpp",
    query=_QUERY + _CPP_QUERY,
    rules={
        **_RULES,
        "namespace_definition": Rule(Role.SCOPE, "namespace", name=_namespace_name),
        "using_declaration": Rule(Role.IMPORT, "using"),
        "namespace_alias_definition": Rule(Role.IMPORT, "using"),
        "alias_declaration": Rule(Role.VALUE, "using", "class"),
        "concept_definition": Rule(Role.VALUE, "concept"),
    },
    resolvers={**_RESOLVERS, "class_specifier": _specifier},
    wrappers={"template_declaration": ""},
    leading=frozenset({"access_specifier"}),
    blocks=_BLOCKS,
    prepare=without_macros,
    imports=_included,
    dependency=_dependency,
    exported=_static_is_hidden,
    naming=CPP_NAMES,
)


def looks_like_cpp(text: str) -> bool:
    """Return whether a header is C++: C has no classes, namespaces, templates or ``::``."""
    return _CPP_SIGNS.search(text) is not None


_CPP_SIGNS = re.compile(
    r"^\s*(?:class\s+\w+[^;]*$|namespace\b|template\s*<|using\s+\w|public:|private:|protected:)|\w::\w"
    r"|#\s*include\s*<(?:string|vector|memory|map|iostream|cstd\w+|functional|utility|algorithm)>",
    re.MULTILINE,
)
