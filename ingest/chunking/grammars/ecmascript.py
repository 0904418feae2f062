"""JavaScript and TypeScript, with and without JSX."""

import re
from collections.abc import Callable
from dataclasses import replace

from tree_sitter import Node

from codequarry.ingest.chunking.grammars import builtins
from codequarry.ingest.chunking.grammars.ecmascript_modules import dependency, exported, exported_names, imported
from codequarry.ingest.chunking.language_spec import LanguageSpec, NamePath, Role, Rule, unnamed
from codequarry.ingest.symbols.languages.ecmascript import JAVASCRIPT_NAMES, TSX_NAMES, TYPESCRIPT_NAMES
from codequarry.ingest.symbols.nodes import first_named, node_text

_COMMON_QUERY = """
(call_expression function: [(identifier) @call (member_expression property: (property_identifier) @call)
  (member_expression property: (private_property_identifier) @call)])
(new_expression constructor: [(identifier) @call (member_expression property: (property_identifier) @call)])
(decorator [(identifier) @call (call_expression function: (identifier) @call)])
(jsx_opening_element name: [(identifier) @component (member_expression property: (property_identifier) @component)])
(jsx_self_closing_element name: [(identifier) @component
  (member_expression property: (property_identifier) @component)])
(function_declaration name: (identifier) @def)
(generator_function_declaration name: (identifier) @def)
(method_definition name: [(property_identifier) (private_property_identifier)] @def)
(variable_declarator value: [(arrow_function) (function_expression) (generator_function) (class)]) @holder
(pair key: [(property_identifier) @def (string (string_fragment) @def)] value: [(arrow_function) (function_expression)])
(program (expression_statement [
  (call_expression function: (parenthesized_expression (_ body: (statement_block
    [(variable_declaration (variable_declarator name: (identifier) @def))
     (lexical_declaration (variable_declarator name: (identifier) @def))]))))
  (parenthesized_expression (call_expression function: (_ body: (statement_block
    [(variable_declaration (variable_declarator name: (identifier) @def))
     (lexical_declaration (variable_declarator name: (identifier) @def))]))))]))
(assignment_expression left: [(identifier) @def (member_expression property: (property_identifier) @def)]
  right: [(arrow_function) (function_expression) (class)])
(function_expression name: (identifier) @def)
(program (lexical_declaration (variable_declarator name: (identifier) @def)))
(program (variable_declaration (variable_declarator name: (identifier) @def)))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @def))))
(program (export_statement (variable_declaration (variable_declarator name: (identifier) @def))))
(export_specifier name: (identifier) @export)
(expression_statement (assignment_expression left: (member_expression)) @export)
[(if_statement) (for_statement) (for_in_statement) (while_statement) (do_statement) (catch_clause) (switch_case)
 (ternary_expression)] @branch
(binary_expression operator: ["&&" "||" "??"] @branch)
(import_statement) @import
(export_statement source: (string)) @import
(call_expression function: (identifier) arguments: (arguments . (string))) @import
(call_expression function: (import) arguments: (arguments . (string))) @import
"""

_JAVASCRIPT_QUERY = """
(class_heritage [(identifier) @ref (member_expression property: (property_identifier) @ref)])
(class_declaration name: (identifier) @def)
(field_definition property: [(property_identifier) (private_property_identifier)] @def)
"""

_TYPESCRIPT_QUERY = """
(type_identifier) @ref
(extends_clause value: [(identifier) @ref (member_expression property: (property_identifier) @ref)])
(class_declaration name: (type_identifier) @def)
(abstract_class_declaration name: (type_identifier) @def)
(interface_declaration name: (type_identifier) @def)
(type_alias_declaration name: (type_identifier) @def)
(enum_declaration name: (identifier) @def)
(enum_body name: (property_identifier) @def)
(enum_assignment name: (property_identifier) @def)
(internal_module name: (identifier) @def)
(function_signature name: (identifier) @def)
(abstract_method_signature name: (property_identifier) @def)
(method_signature name: (property_identifier) @def)
(property_signature name: (property_identifier) @def)
(public_field_definition name: [(property_identifier) (private_property_identifier)] @def)
(required_parameter (accessibility_modifier) pattern: (identifier) @def)
(ambient_declaration (lexical_declaration (variable_declarator name: (identifier) @def)))
"""

_FUNCTIONS = {"arrow_function", "function_expression", "generator_function", "function"}
_TEST_CASES = {"it", "test", "specify", "bench", "fit", "xit"}


def _value_body(node: Node) -> Node | None:
    """Return the body of the function, class or object that is the value of a declarator, pair, field or assignment."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if value is None:
        return None
    return value if value.type == "object" else value.child_by_field_name("body")


def _key_name(node: Node, data: bytes) -> NamePath:
    key = node.child_by_field_name("key") or node.child_by_field_name("property") or node.child_by_field_name("name")
    return (node_text(key, data).strip("\"'"),) if key is not None else ()


def _target_name(node: Node, data: bytes) -> NamePath:
    """Return pay for ``exports.pay = …``, Foo.bar for ``Foo.prototype.bar = …``, nothing for ``module.exports = …``."""
    left = node.child_by_field_name("left")
    parts = node_text(left, data).split(".") if left is not None else []
    path = tuple(part.strip() for part in parts if part.strip() not in {"prototype", "exports", "module", "this"})
    return path if all(part.isidentifier() or part.startswith(("#", "$")) for part in path) else ()


def _has_methods(node: Node) -> bool:
    return any(
        child.type == "method_definition"
        or (child.type == "pair" and (value := child.child_by_field_name("value")) and value.type in _FUNCTIONS)
        for child in node.named_children
    )


def _held(value: Node | None, name: Callable[[Node, bytes], NamePath], plain: Rule) -> Rule:
    if value is None:
        return plain
    if value.type in _FUNCTIONS:
        return Rule(Role.CALLABLE, "function", "function", name=name, body=_value_body)
    if value.type == "class":
        return Rule(Role.TYPE, "class", "class", name=name, body=_value_body)
    if value.type == "object" and _has_methods(value):
        return Rule(Role.TYPE, "object", "class", name=name, body=_value_body)
    return plain


def _variable(node: Node, data: bytes) -> tuple[Node, Rule]:
    """Return the rule of a declaration: its value's if it has a single name, an import's if it requires a module."""
    declarators = [child for child in node.named_children if child.type == "variable_declarator"]
    word = node.child_by_field_name("kind")
    plain = Rule(Role.VALUE, node_text(word, data) if word is not None else "var")
    value = declarators[0].child_by_field_name("value") if len(declarators) == 1 else None
    if value is not None and value.type == "call_expression":
        function = value.child_by_field_name("function")
        if function is not None and node_text(function, data) == "require":
            return node, Rule(Role.IMPORT, "import")
    rule = _held(value, _key_name, plain)
    return (node, plain) if rule is plain else (declarators[0], rule)


def _member(node: Node, data: bytes) -> Rule:
    return _held(node.child_by_field_name("value"), _key_name, Rule(Role.VALUE, "field"))


def _expression(node: Node, data: bytes) -> "tuple[Node, Rule] | Rule | None":
    """Return the rule of an assignment, pragma, namespace or call in an expression statement."""
    inner = first_named(node)
    if inner is None:
        return None
    if inner.type == "assignment_expression":
        rule = _held(inner.child_by_field_name("right"), _target_name, Rule(Role.BLOCK, "statement"))
        return (inner, rule) if _target_name(inner, data) or rule.role is Role.TYPE else None
    if inner.type == "internal_module":
        return inner, Rule(Role.SCOPE, "namespace")
    if inner.type == "string":
        return Rule(Role.IMPORT, "pragma")
    return _call(inner, data) if inner.type == "call_expression" else None


def _call(node: Node, data: bytes) -> Rule | None:
    function = node.child_by_field_name("function")
    called = node_text(function, data) if function is not None else ""
    if called == "require":
        return Rule(Role.IMPORT, "import")
    return Rule(Role.BLOCK, "test", opens=False) if re.split(r"\W", called, maxsplit=1)[0] in _TEST_CASES else None


def _export(node: Node, data: bytes) -> Rule:
    """Return the rule of an export from another module, or of a default export without a declaration."""
    if node.child_by_field_name("source") is not None:
        return Rule(Role.IMPORT, "export")
    return _held(node.child_by_field_name("value"), unnamed, Rule(Role.BLOCK, "export"))


_COMMON_RULES = {
    "import_statement": Rule(Role.IMPORT, "import"),
    "hash_bang_line": Rule(Role.IMPORT, "shebang"),
    "function_declaration": Rule(Role.CALLABLE, "function", "function"),
    "generator_function_declaration": Rule(Role.CALLABLE, "function", "function"),
    "class_declaration": Rule(Role.TYPE, "class", "class"),
    "method_definition": Rule(Role.CALLABLE, "method", "method"),
    "class_static_block": Rule(Role.CALLABLE, "static block", "method"),
    "empty_statement": Rule(Role.SKIP),
}
_TYPESCRIPT_RULES = {
    **_COMMON_RULES,
    "abstract_class_declaration": Rule(Role.TYPE, "class", "class"),
    "interface_declaration": Rule(Role.TYPE, "interface", "interface"),
    "enum_declaration": Rule(Role.TYPE, "enum", "enum"),
    "type_alias_declaration": Rule(Role.VALUE, "type", "interface"),
    "function_signature": Rule(Role.CALLABLE, "function", "function"),
    "method_signature": Rule(Role.CALLABLE, "method", "method"),
    "abstract_method_signature": Rule(Role.CALLABLE, "method", "method"),
    "property_signature": Rule(Role.VALUE, "property"),
    "internal_module": Rule(Role.SCOPE, "namespace"),
    "module": Rule(Role.SCOPE, "module"),
    "import_alias": Rule(Role.IMPORT, "import"),
    # `declare global { … }` has its block as an unnamed child.
    "statement_block": Rule(Role.TRANSPARENT, body=lambda node: node),
}
_RESOLVERS = {
    "lexical_declaration": _variable,
    "variable_declaration": _variable,
    "expression_statement": _expression,
    "export_statement": _export,
    "field_definition": _member,
    "public_field_definition": _member,
    "pair": _member,
}
_LEADING = frozenset({"decorator"})
_BLOCKS = frozenset({"statement_block", "object"})


JAVASCRIPT = LanguageSpec(
    grammar="javascript",
    query=_COMMON_QUERY + _JAVASCRIPT_QUERY,
    rules=_COMMON_RULES,
    resolvers=_RESOLVERS,
    wrappers={"export_statement": "declaration"},
    export_wrappers=frozenset({"export_statement"}),
    leading=_LEADING,
    annotations=_LEADING,
    blocks=_BLOCKS,
    imports=imported,
    dependency=dependency,
    exported=exported,
    exported_names=exported_names,
    builtins=builtins.ECMASCRIPT,
    naming=JAVASCRIPT_NAMES,
)


def _typescript(grammar: str) -> LanguageSpec:
    """Return the rules of TypeScript; only the ``tsx`` grammar has JSX."""
    lines = _COMMON_QUERY.splitlines(keepends=True)
    if grammar != "tsx":
        lines = [line for line in lines if "jsx_" not in line and "@component)])" not in line]
    return replace(
        JAVASCRIPT,
        grammar=grammar,
        query="".join(lines) + _TYPESCRIPT_QUERY,
        rules=_TYPESCRIPT_RULES,
        wrappers={"export_statement": "declaration", "ambient_declaration": ""},
        naming=TSX_NAMES if grammar == "tsx" else TYPESCRIPT_NAMES,
    )


TYPESCRIPT = _typescript("typescript")
TSX = _typescript("tsx")
