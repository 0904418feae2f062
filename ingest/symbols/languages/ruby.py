"""Names in Ruby."""

from tree_sitter import Node

from codequarry.ingest.symbols.imported_files import in_any_folder, joined_path
from codequarry.ingest.symbols.naming_rules import DefinitionKind, NameChain, NamingRules, data_flow_query, words
from codequarry.ingest.symbols.nodes import first_named, node_text
from codequarry.shared.relations import UNKNOWN

_QUERY = """
[(block) (do_block) (lambda)] @scope
(method_parameters (identifier) @local)
(block_parameters (identifier) @local)
(optional_parameter name: (identifier) @local)
(keyword_parameter name: (identifier) @local)
(splat_parameter name: (identifier) @local)
(block_parameter name: (identifier) @local)
(assignment left: (identifier) @local)
(exception_variable (identifier) @local)
(assignment left: (instance_variable) @member)
(call method: (identifier) arguments: (argument_list (simple_symbol) @property))
(superclass [(constant) @inherits (scope_resolution name: (constant) @inherits)])
(body_statement (identifier) @call)
(then (identifier) @call)
(call receiver: (identifier) @mention)
(argument_list (identifier) @mention)
"""
_DATA_FLOW = data_flow_query(
    "(call method: (identifier) @name)",
    returned=[
        "(return (argument_list CALL))",
        # The last statement of a method is its result.
        "(method body: (body_statement [CALL (identifier) @returned] .))",
        "(singleton_method body: (body_statement [CALL (identifier) @returned] .))",
    ],
    arguments=["(argument_list [CALL (pair value: CALL)])"],
)

_CLASS = DefinitionKind("class", "class", has_members=True)
_METHOD = DefinitionKind("method", "method", has_locals=True)
_FIELD = DefinitionKind("attribute", "block", name_only=True)
_MAX_DEPTH = 30


def _names_of(node: Node | None, data: bytes, depth: int = 0) -> NameChain | None:
    if node is None:
        return None
    kind = node.type
    if depth > _MAX_DEPTH:
        return None
    if kind in {"identifier", "constant", "self"}:
        return (node_text(node, data),)
    if kind == "instance_variable":
        return ("self", node_text(node, data))
    if kind == "scope_resolution":
        return _joined(node.child_by_field_name("scope"), node.child_by_field_name("name"), data, depth)
    if kind == "call":
        return _of_call(node, data, depth)
    if kind == "parenthesized_statements" and node.named_children:
        return _names_of(node.named_children[-1], data, depth + 1)
    return None


def _of_call(node: Node, data: bytes, depth: int) -> NameChain | None:
    """Return the names of a call; ``Foo.new`` is a ``Foo``."""
    receiver, method = node.child_by_field_name("receiver"), node.child_by_field_name("method")
    if method is None:
        return None
    name = node_text(method, data)
    if receiver is None:
        return (name,)
    names = _names_of(receiver, data, depth + 1) or (UNKNOWN,)
    return names if name == "new" and receiver.type in {"constant", "scope_resolution"} else (*names, name)


def _joined(scope: Node | None, name: Node | None, data: bytes, depth: int) -> NameChain | None:
    if name is None:
        return None
    return (*((_names_of(scope, data, depth + 1) or ()) if scope is not None else ()), node_text(name, data))


def _expression_of(node: Node) -> Node:
    parent = node.parent
    if parent is not None and parent.type in {"call", "scope_resolution"}:
        field = "method" if parent.type == "call" else "name"
        return parent if parent.child_by_field_name(field) == node else node
    return node


def _type_of(node: Node, data: bytes) -> NameChain | None:
    parent = node.parent
    value = parent.child_by_field_name("right") if parent is not None and parent.type == "assignment" else None
    return _names_of(value, data)


def _kind_of(node: Node, kind: DefinitionKind, data: bytes) -> DefinitionKind | None:
    """Symbols are names that a call defines only for ``attr_reader`` and the like."""
    left = node.child_by_field_name("left")
    if left is not None and left.type == "instance_variable":
        return _FIELD
    if node.type != "call":
        return kind
    method = node.child_by_field_name("method")
    return kind if method is not None and node_text(method, data).startswith("attr_") else None


def _owner_of(node: Node, data: bytes) -> NameChain:
    """Return ``("Acme",)`` for ``class Acme::Invoice``."""
    name = node.child_by_field_name("name") if node.type in {"class", "module"} else None
    scope = name.child_by_field_name("scope") if name is not None else None
    return (_names_of(scope, data) or ()) if scope is not None else ()


def _files_of(node: Node, data: bytes, path: str) -> list[str]:
    """Return where a required file may be: beside the requiring file, or in a folder that programs look in."""
    method, arguments = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    word = node_text(method, data) if method is not None else ""
    first = first_named(arguments) if arguments is not None and word in _REQUIRES else None
    written = node_text(first, data).strip("\"'") if first is not None else ""
    if not written or "#{" in written:
        return []
    file = written if written.endswith(".rb") else f"{written}.rb"
    if word == "require_relative":
        return [joined_path(path.rpartition("/")[0], file)]
    if word == "load" or file.startswith("."):
        return [joined_path("", file)]
    return [f"lib/{file}", *(in_any_folder(f"{folder}/{file}") for folder in _LOADED)]


_REQUIRES = frozenset({"require", "require_relative", "load"})
# Folders of a gem, an engine or their tests that are on the load path.
_LOADED = ("lib", "test", "spec")

RUBY_NAMES = NamingRules(
    query=_QUERY + _DATA_FLOW,
    definitions={
        "class": _CLASS,
        "module": DefinitionKind("module", "class", has_members=True),
        "method": _METHOD,
        "singleton_method": _METHOD,
        "assignment": DefinitionKind("constant", "block"),
        "alias": DefinitionKind("alias", "block"),
        "call": _FIELD,
    },
    names_of=_names_of,
    kind_of=_kind_of,
    expression_of=_expression_of,
    type_of=_type_of,
    owner_of=_owner_of,
    files_of=_files_of,
    call_lists=frozenset({"argument_list"}),
    lambdas=frozenset({"lambda"}),
    self_names=frozenset({"self"}),
    sees_members=True,
    runtime=words("String Array Hash Integer Float Symbol Kernel File Dir IO Time Object Class Module"),
)
