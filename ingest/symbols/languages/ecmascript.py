"""Names in JavaScript and TypeScript, with and without JSX."""

from dataclasses import replace

from tree_sitter import Node

from codequarry.ingest.symbols.languages.ecmascript_modules import imports, module_of, passed_on
from codequarry.ingest.symbols.languages.ecmascript_types import expression_names, type_of
from codequarry.ingest.symbols.naming_rules import DefinitionKind, NameChain, NamingRules, data_flow_query, words
from codequarry.ingest.symbols.nodes import node_text

_COMMON = """
[(arrow_function) (function_expression) (generator_function) (statement_block) (for_statement) (for_in_statement)
 (catch_clause)] @scope
(arrow_function parameter: (identifier) @local)
(assignment_pattern left: (identifier) @local)
(rest_pattern (identifier) @local)
(array_pattern (identifier) @local)
(pair_pattern value: (identifier) @local)
(shorthand_property_identifier_pattern) @local
(variable_declarator name: (identifier) @local)
(for_in_statement left: (identifier) @local)
(catch_clause parameter: (identifier) @local)
(decorator [(identifier) @decorates (member_expression property: (property_identifier) @decorates)
  (call_expression function: [(identifier) @decorates (member_expression property: (property_identifier) @decorates)])])
(export_statement) @passed_on
(expression_statement (assignment_expression left: (member_expression)) @passed_on)
(program [(lexical_declaration (variable_declarator value: (object (pair key: (property_identifier) @property))))
  (variable_declaration (variable_declarator value: (object (pair key: (property_identifier) @property))))
  (export_statement [(object (pair key: (property_identifier) @property))
    (lexical_declaration (variable_declarator value: (object (pair key: (property_identifier) @property))))])
  (expression_statement (assignment_expression right: (object (pair key: (property_identifier) @property))))])
(arguments (identifier) @mention)
(variable_declarator value: (identifier) @mention)
(assignment_expression right: (identifier) @mention)
(return_statement (identifier) @mention)
(arrow_function body: (identifier) @mention)
(pair value: (identifier) @mention)
(shorthand_property_identifier) @mention
(array (identifier) @mention)
(spread_element (identifier) @mention)
(ternary_expression (identifier) @mention)
(binary_expression (identifier) @mention)
(template_substitution (identifier) @mention)
(member_expression object: (identifier) @mention)
(member_expression) @qualified
(member_expression property: [(property_identifier) (private_property_identifier)] @mention)
(export_specifier name: (identifier) @mention)
(export_statement value: (identifier) @mention)
"""
_DATA_FLOW = data_flow_query(
    "(call_expression function: [(identifier) @name (member_expression property: (property_identifier) @name)])",
    "(new_expression constructor: [(identifier) @name (member_expression property: (property_identifier) @name)])",
    returned=["(return_statement [CALL (await_expression CALL)])", "(arrow_function body: CALL)"],
    arguments=["(arguments [CALL (await_expression CALL)])"],
)
_JSX = """
(jsx_expression (identifier) @mention)
"""
_JAVASCRIPT = """
(class name: (identifier) @property)
(formal_parameters (identifier) @local)
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @member))
(class_heritage [(identifier) @inherits (member_expression property: (property_identifier) @inherits)])
(class_heritage (call_expression arguments: (arguments (identifier) @inherits)))
"""
_TYPESCRIPT = """
(class name: (type_identifier) @property)
[(function_type) (constructor_type) (call_signature) (construct_signature) (index_signature)] @scope
(required_parameter pattern: (identifier) @local)
(optional_parameter pattern: (identifier) @local)
(required_parameter (accessibility_modifier) pattern: (identifier) @member)
(optional_parameter (accessibility_modifier) pattern: (identifier) @member)
(required_parameter "readonly" pattern: (identifier) @member)
(optional_parameter "readonly" pattern: (identifier) @member)
(type_parameter name: (type_identifier) @local)
(infer_type (type_identifier) @local)
(mapped_type_clause name: (type_identifier) @local)
(import_alias . (identifier) @local)
[(nested_type_identifier) (nested_identifier)] @qualified
(extends_clause value: [(identifier) @inherits (member_expression property: (property_identifier) @inherits)])
(extends_clause value: (call_expression arguments: (arguments (identifier) @inherits)))
(extends_type_clause type: [(type_identifier) @inherits (nested_type_identifier name: (type_identifier) @inherits)
  (generic_type name: [(type_identifier) @inherits (nested_type_identifier name: (type_identifier) @inherits)])])
(implements_clause [(type_identifier) @implements (nested_type_identifier name: (type_identifier) @implements)
  (generic_type name: [(type_identifier) @implements (nested_type_identifier name: (type_identifier) @implements)])])
(call_expression function: (await_expression
  [(identifier) @call (member_expression property: (property_identifier) @call)]))
(type_query (identifier) @mention)
(as_expression (identifier) @mention)
(non_null_expression (identifier) @mention)
"""

_FUNCTION = DefinitionKind("function", "function", has_locals=True)
_METHOD = DefinitionKind("method", "method", has_locals=True)
_CLASS = DefinitionKind("class", "class", has_members=True)
_OBJECT = DefinitionKind("object", "class", has_members=True)
_VARIABLE = DefinitionKind("variable", "block")
_FIELD = DefinitionKind("property", "block")
_NAMESPACE = DefinitionKind("namespace", "class", has_members=True)
_FUNCTIONS = {"arrow_function", "function_expression", "generator_function", "function"}
# The method around an assignment to a member is seldom farther above it.
_MAX_CLIMB = 24
# Parts of the left side of an assignment that are not names of what it defines.
_UNNAMED = {"prototype", "exports", "module", "this"}


def _kind_of(node: Node, kind: DefinitionKind, data: bytes) -> DefinitionKind | None:
    """Return the kind of what a variable, field or property holds, or None for ``module.exports = …``."""
    if kind not in (_VARIABLE, _FIELD):
        return kind
    left = node.child_by_field_name("left")
    if left is not None and node_text(left, data) in {"module.exports", "exports"}:
        return None
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if value is None:
        return kind
    if value.type in _FUNCTIONS:
        return _FUNCTION
    if value.type == "class":
        return _CLASS
    if value.type != "object" or not value.named_child_count:
        return kind
    # The members of an object with a declared type are those of the type.
    return _OBJECT if node.child_by_field_name("type") is None else replace(kind, has_locals=True)


def _owner_of(node: Node, data: bytes) -> NameChain:
    """Return ``("Foo",)`` for ``Foo.prototype.bar = …`` and nothing for ``exports.bar = …``."""
    left = node.child_by_field_name("left") if node.type == "assignment_expression" else None
    holder = left.child_by_field_name("object") if left is not None else None
    names = expression_names(holder, data)
    return tuple(name for name in names or () if name not in _UNNAMED)


def _is_own(name: Node, data: bytes) -> bool:
    """Return whether a name is a member of the object whose constructor or method sets it."""
    parent = name.parent
    if parent is None or parent.type != "member_expression":
        return True
    node: Node | None = parent
    for _ in range(_MAX_CLIMB):
        if node is None or node.type in {"function_declaration", "method_definition", "function_expression"}:
            break
        node = node.parent
    holder = node.parent if node is not None else None
    return holder is not None and holder.type == "class_body"


JAVASCRIPT_NAMES = NamingRules(
    query=_COMMON + _DATA_FLOW + _JSX + _JAVASCRIPT,
    definitions={
        "function_declaration": _FUNCTION,
        "generator_function_declaration": _FUNCTION,
        "function_signature": _FUNCTION,
        "method_definition": _METHOD,
        "method_signature": _METHOD,
        "abstract_method_signature": _METHOD,
        "class_declaration": _CLASS,
        "abstract_class_declaration": _CLASS,
        "interface_declaration": DefinitionKind("interface", "interface", has_members=True),
        "type_alias_declaration": DefinitionKind("type", "interface", has_members=True),
        "enum_declaration": DefinitionKind("enum", "enum", has_members=True),
        "enum_assignment": DefinitionKind("enum member", "block"),
        "enum_body": DefinitionKind("enum member", "block", name_only=True),
        "internal_module": _NAMESPACE,
        "module": _NAMESPACE,
        "property_signature": _FIELD,
        "public_field_definition": _FIELD,
        "field_definition": _FIELD,
        "required_parameter": _FIELD,
        "optional_parameter": _FIELD,
        "variable_declarator": _VARIABLE,
        "assignment_expression": _VARIABLE,
        "class": _CLASS,
        "pair": _FIELD,
    },
    kind_of=_kind_of,
    names_of=expression_names,
    type_of=type_of,
    owner_of=_owner_of,
    imports=imports,
    passed_on=passed_on,
    module_of=module_of,
    call_lists=frozenset({"arguments"}),
    lambdas=frozenset({"arrow_function", "function_expression", "generator_function"}),
    is_member=_is_own,
    self_names=frozenset({"this"}),
    super_names=frozenset({"super"}),
    runtime=words(
        "console process Math JSON Object Array Number String Boolean Symbol Promise Reflect Date RegExp",
        "Error TypeError RangeError SyntaxError Map Set WeakMap WeakSet Proxy Intl BigInt Buffer window",
        "document globalThis global self navigator location localStorage sessionStorage history performance",
        "crypto URL URLSearchParams AbortController AbortSignal Headers Request Response FormData Blob",
        "Uint8Array ArrayBuffer setTimeout setInterval setImmediate clearTimeout clearInterval",
        "clearImmediate queueMicrotask requestAnimationFrame fetch structuredClone parseInt parseFloat",
        "isNaN isFinite encodeURIComponent decodeURIComponent encodeURI decodeURI undefined NaN Infinity",
        "arguments require module exports __dirname __filename describe it test expect beforeEach afterEach",
        "beforeAll afterAll before after jest vi Partial Readonly Record Pick Omit Required Exclude Extract",
        "NonNullable ReturnType Parameters InstanceType ConstructorParameters Awaited ReadonlyArray",
        "PromiseLike ArrayLike Iterable Iterator AsyncIterable Function ThisType Uppercase Lowercase",
        "Capitalize",
    ),
)
TYPESCRIPT_NAMES = replace(JAVASCRIPT_NAMES, query=_COMMON + _DATA_FLOW + _TYPESCRIPT)
TSX_NAMES = replace(JAVASCRIPT_NAMES, query=_COMMON + _DATA_FLOW + _JSX + _TYPESCRIPT)
