"""What the outline driver needs to know of a language: one row of rules and one query."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from tree_sitter import Node

from codequarry.shared.model import SymbolType


class Role(Enum):
    """What a node of the syntax tree means to the outline."""

    CALLABLE = auto()
    """A function or method: a chunk of its own when it is of substance."""
    TYPE = auto()
    """A class or its like: whole when small, else a header and its members."""
    SCOPE = auto()
    """A namespace or module: its members are looked at one by one, below its name."""
    TRANSPARENT = auto()
    """A conditional or a wrapper without a name: its members count as its neighbours."""
    VALUE = auto()
    """A constant, variable, field or alias; the query names what it defines."""
    IMPORT = auto()
    """A part of the prologue: package clauses, imports, pragmas."""
    BLOCK = auto()
    """Any other statement; opened when it is large and holds a block of statements."""
    SKIP = auto()
    """Nothing of its own: it stays with what comes before it."""


NamePath = tuple[str, ...]
"""A name with the qualifiers written at its own declaration: ``("Server", "Run")`` for a Go method."""


def field_name(node: Node, data: bytes) -> NamePath:
    """Return the text of the field ``name``."""
    named = node.child_by_field_name("name")
    return (node_text(named, data),) if named else ()


def unnamed(node: Node, data: bytes) -> NamePath:
    """Return no name."""
    return ()


def field_body(node: Node) -> Node | None:
    """Return the field ``body``."""
    return node.child_by_field_name("body")


def child_of(node: Node, *types: str) -> Node | None:
    """Return the first child of one of ``types``."""
    return next((child for child in node.children if child.type in types), None)


def first_named(node: Node) -> Node | None:
    """Return the first child that is no punctuation."""
    return next((child for child in node.children if child.is_named), None)


def body_of(*types: str) -> Callable[[Node], Node | None]:
    """Return a finder of the first child of one of ``types``, for grammars that name no body field."""
    return lambda node: child_of(node, *types)


def node_text(node: Node, data: bytes) -> str:
    """Return a node's text."""
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Rule:
    """How nodes of one type are read: what they are, what the language calls them, and where name and body are."""

    role: Role
    kind: str = ""
    type: SymbolType = "block"
    name: Callable[[Node, bytes], NamePath] = field_name
    body: Callable[[Node], Node | None] = field_body
    reopens: bool = False
    """It adds to a type that is defined elsewhere: an ``impl``, an ``extension``."""
    opens: bool = True
    """A large statement may be opened; a test case is not: its statements say little by themselves."""


Resolver = Callable[[Node, bytes], "tuple[Node, Rule] | Rule | None"]
"""Decides by a look inside the node; may point to an inner node. None: an ordinary statement."""


@dataclass(frozen=True, slots=True)
class ImportedModule:
    """One module that an import statement names, and the names it brings into scope (empty where it doesn't say)."""

    module: str
    names: tuple[str, ...] = ()


ExportRule = Callable[[str, str, bool], bool | None]
"""From name, signature and whether the node stood in an export statement to exported, or None for unknown."""


def unknown_export(name: str, signature: str, wrapped: bool) -> bool | None:
    """Say nothing: the language has no rule that a look at the declaration could tell."""
    return None


def unchanged(data: bytes) -> bytes:
    """Return the source as it is."""
    return data


def own_text(node: Node, data: bytes) -> list[str]:
    """Return a node's text as the only name."""
    return [node_text(node, data)]


def no_imports(node: Node, data: bytes) -> list[ImportedModule]:
    """Return nothing: the language has no imports."""
    return []


def top_level(module: str) -> str | None:
    """Return the first dotted part of a module that is not relative."""
    first = module.split(".", 1)[0]
    return first or None


@dataclass(frozen=True, slots=True)
class LanguageSpec:
    """One language.

    ``query`` captures ``@call @ref @def @branch @import @export`` anywhere in the tree. It has no predicates: they ask
    the tree for its text, which it does not have. ``@holder`` captures something whose name is defined only because
    of what it holds; two patterns that capture one name at different moments take quadratic time.
    """

    grammar: str
    query: str
    rules: Mapping[str, Rule]
    resolvers: Mapping[str, Resolver] = field(default_factory=dict)
    wrappers: Mapping[str, str] = field(default_factory=dict)
    """Nodes around a declaration, to the field or child type of the declaration inside."""
    export_wrappers: frozenset[str] = frozenset()
    comments: frozenset[str] = frozenset({"comment"})
    leading: frozenset[str] = frozenset()
    """Siblings that belong to the declaration after them: attributes, decorators."""
    annotations: frozenset[str] = frozenset()
    """First children of a declaration that are no part of its signature."""
    modifiers: frozenset[str] = frozenset({"modifiers"})
    """First children that hold annotations and words of the signature side by side."""
    blocks: frozenset[str] = frozenset()
    """Blocks of statements into which a large statement is opened."""
    prepare: Callable[[bytes], bytes] = unchanged
    """Blanks what the grammar can't read, byte for byte, before the parse."""
    imports: Callable[[Node, bytes], list[ImportedModule]] = no_imports
    dependency: Callable[[str], str | None] = top_level
    exported: ExportRule = unknown_export
    exported_names: Callable[[Node, bytes], list[str]] = own_text
    """Reads the names that a node captured as ``@export`` exports."""
    package: Callable[[Node, bytes, str], str | None] = lambda root, data, path: None
    names_package: bool = False
    """The package stands in the source, so that it is shown as context; else the path tells it already."""
    builtins: frozenset[str] = frozenset()
    """Names of the language itself: no reference to anything in a repository."""
    docstring: Callable[[Node, bytes], str] | None = None
    """Reads a doc string inside a body, where the language has them."""
