"""Ruby."""

import re

from tree_sitter import Node

from codequarry.ingest.chunking.language_spec import ImportedModule, LanguageSpec, NamePath, Role, Rule, unnamed
from codequarry.ingest.symbols.languages.ruby import RUBY_NAMES
from codequarry.ingest.symbols.nodes import node_text

_QUERY = """
(call method: [(identifier) (constant)] @call)
(call receiver: (constant) @ref)
(scope_resolution name: (constant) @ref)
(superclass (constant) @ref)
(argument_list (constant) @ref)
(rescue (exceptions (constant) @ref))
(class name: [(constant) @def (scope_resolution name: (constant) @def)])
(module name: [(constant) @def (scope_resolution name: (constant) @def)])
(method name: [(identifier) (constant) (operator) (setter)] @def)
(singleton_method name: [(identifier) (constant) (operator) (setter)] @def)
(assignment left: (constant) @def)
(alias name: (identifier) @def)
(call !receiver method: (identifier) arguments: (argument_list . (simple_symbol))) @definer
[(if) (unless) (elsif) (if_modifier) (unless_modifier) (while) (until) (for) (when) (in_clause) (rescue)
 (conditional)] @branch
(binary operator: ["&&" "||" "and" "or"] @branch)
(call !receiver method: (identifier) arguments: (argument_list . (string))) @import
"""

_REQUIRES = {"require", "require_relative", "load", "autoload"}
_CALL = re.compile(r"""^(?:require|require_relative|load)\s*\(?\s*["']([^"']+)["']""")
_TEST_CASES = {"it", "specify", "example", "scenario", "test"}
_METHODS = {"method", "singleton_method"}
# These define a method for each symbol, or for the first.
_DEFINERS = {"attr_reader", "attr_writer", "attr_accessor", "attr", "alias_method", "define_method"}
_MANY = "attr"


def _scoped_name(node: Node, data: bytes) -> NamePath:
    """Return the parts of ``Acme::Billing::Invoice``."""
    named = node.child_by_field_name("name")
    return tuple(part for part in node_text(named, data).split("::") if part) if named is not None else ()


def _module(node: Node, data: bytes) -> Rule:
    """Return the rule of a module: a class if it has methods, else a namespace."""
    body = node.child_by_field_name("body")
    has_methods = body is not None and any(child.type in _METHODS for child in body.named_children)
    return Rule(Role.TYPE if has_methods else Role.SCOPE, "module", "class", name=_scoped_name)


def _call(node: Node, data: bytes) -> Rule | None:
    """Return the rule of a test case, a ``require`` (an import) or ``attr_accessor :x`` (a field)."""
    method = node.child_by_field_name("method")
    if method is not None and node.child_by_field_name("receiver") is None:
        name = node_text(method, data)
        if name in _TEST_CASES:
            return Rule(Role.BLOCK, "test", opens=False)
        if name in _REQUIRES:
            return Rule(Role.IMPORT, "require")
        if name.startswith("attr_"):
            return Rule(Role.VALUE, "attribute")
    return None


def _assignment(node: Node, data: bytes) -> "tuple[Node, Rule] | Rule":
    """Return the rule of an assignment; ``Point = Struct.new(:x) do … end`` with methods is a class."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    constant = left is not None and left.type == "constant"
    block = right.child_by_field_name("block") if right is not None else None
    body = block.child_by_field_name("body") if block is not None else None
    if constant and body is not None and any(child.type in _METHODS for child in body.named_children):
        return Rule(Role.TYPE, "struct", "class", name=_left_name, body=lambda inner: body)
    return Rule(Role.VALUE, "constant" if constant else "variable")


def _left_name(node: Node, data: bytes) -> NamePath:
    left = node.child_by_field_name("left")
    return (node_text(left, data),) if left is not None else ()


def _imported(node: Node, data: bytes) -> list[ImportedModule]:
    """Read a ``require`` among the calls with a string; it binds no name."""
    text = node_text(node, data)
    found = _CALL.match(text)
    if found is None:
        return []
    return [ImportedModule(f"./{found[1]}" if text.startswith("require_relative") else found[1])]


def _defined(node: Node, data: bytes) -> list[tuple[int, str]]:
    """Return the methods that ``attr_reader :a, :b`` or ``alias_method :a, :b`` defines, with their places."""
    method, arguments = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    word = node_text(method, data) if method is not None else ""
    if word not in _DEFINERS or arguments is None:
        return []
    symbols = [child for child in arguments.named_children if child.type == "simple_symbol"]
    names = [(symbol.start_byte, node_text(symbol, data).removeprefix(":")) for symbol in symbols]
    return names if word.startswith(_MANY) else names[:1]


def _dependency(module: str) -> str | None:
    return None if module.startswith((".", "/")) else module.split("/", 1)[0]


RUBY = LanguageSpec(
    grammar="ruby",
    query=_QUERY,
    rules={
        "class": Rule(Role.TYPE, "class", "class", name=_scoped_name),
        "singleton_class": Rule(Role.SCOPE, "singleton class", name=unnamed),
        "method": Rule(Role.CALLABLE, "method", "function"),
        "singleton_method": Rule(Role.CALLABLE, "method", "function"),
        "alias": Rule(Role.VALUE, "alias"),
    },
    resolvers={"module": _module, "call": _call, "assignment": _assignment},
    # A bare word in a class body is `private`, `protected` or `module_function`.
    leading=frozenset({"identifier"}),
    blocks=frozenset({"body_statement", "block_body"}),
    imports=_imported,
    defined_names=_defined,
    dependency=_dependency,
    naming=RUBY_NAMES,
)
