"""The rules and the query by which the outliner reads a language."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from tree_sitter import Node

from codequarry.ingest.symbols.naming_rules import NamingRules
from codequarry.ingest.symbols.nodes import node_text
from codequarry.shared.model import SymbolType


class Role(Enum):
    """The role of a syntax node in the outline."""

    CALLABLE = auto()
    """A function or method: a separate chunk if large enough."""
    TYPE = auto()
    """A class or similar: whole if small, else a header and its members."""
    SCOPE = auto()
    """A namespace or module: each member is outlined below its name."""
    TRANSPARENT = auto()
    """A conditional or an unnamed wrapper: its members count as its siblings."""
    VALUE = auto()
    """A constant, variable, field or alias; the query captures the names that it defines."""
    IMPORT = auto()
    """A part of the prologue: package clauses, imports, pragmas."""
    BLOCK = auto()
    """Any other statement; opened if it is large and holds a block of statements."""
    SKIP = auto()
    """Part of the declaration before it."""
    CONTINUED = auto()
    """The rest of the declaration before it, for grammars that have a head and a body as siblings."""
    LEADING = auto()
    """Part of the next declaration: an attribute, or a doc string above it."""


NamePath = tuple[str, ...]
"""A name with the qualifiers written in its declaration: ``("Server", "Run")`` for a Go method."""


def field_name(node: Node, data: bytes) -> NamePath:
    """Return the text of the field ``name``."""
    named = node.child_by_field_name("name")
    return (node_text(named, data),) if named else ()


def unnamed(node: Node, data: bytes) -> NamePath:
    """Return an empty name."""
    return ()


def field_body(node: Node) -> Node | None:
    """Return the field ``body``."""
    return node.child_by_field_name("body")


def child_of(node: Node, *types: str) -> Node | None:
    """Return the first child of one of ``types``."""
    return next((child for child in node.children if child.type in types), None)


def body_of(*types: str) -> Callable[[Node], Node | None]:
    """Return a function that finds the first child of one of ``types``, for grammars without a body field."""
    return lambda node: child_of(node, *types)


@dataclass(frozen=True, slots=True)
class Rule:
    """How to read nodes of a type: their role, the language's word for them, and where name and body are."""

    role: Role
    kind: str = ""
    type: SymbolType = "block"
    name: Callable[[Node, bytes], NamePath] = field_name
    body: Callable[[Node], Node | None] = field_body
    reopens: bool = False
    """It extends a type that is defined elsewhere, like ``impl`` and ``extension``."""
    opens: bool = True
    """A large statement may be opened; a test case is not, because its statements say little on their own."""
    one_row: bool = False
    """The signature is the first row, because the grammar has the name and the members in one node."""


Resolver = Callable[[Node, bytes], "tuple[Node, Rule] | Rule | None"]
"""Finds a node's rule from its contents, perhaps for an inner node; returns None for an ordinary statement."""


@dataclass(frozen=True, slots=True)
class ImportedModule:
    """A module of an import statement and the names it brings into scope, empty if they are not listed."""

    module: str
    names: tuple[str, ...] = ()


ExportRule = Callable[[str, str, bool], bool | None]
"""Returns whether a name is exported (None if unknown), given its signature and whether an export wraps it."""


def unknown_export(name: str, signature: str, wrapped: bool) -> bool | None:
    """Return None: in this language, a declaration does not show whether it is exported."""
    return None


def unchanged(data: bytes) -> bytes:
    """Return the source unchanged."""
    return data


def own_text(node: Node, data: bytes) -> list[str]:
    """Return a node's text as the only name."""
    return [node_text(node, data)]


def no_imports(node: Node, data: bytes) -> list[ImportedModule]:
    """Return no imports, for a language without them."""
    return []


def top_level(module: str) -> str | None:
    """Return the first dotted part of a module, or None if the module is relative."""
    first = module.split(".", 1)[0]
    return first or None


@dataclass(frozen=True, slots=True)
class LanguageSpec:
    """The rules of a language.

    ``query`` captures ``@call @ref @def @definer @branch @import @export`` anywhere in the tree, and as ``@outside``
    what is a definition only outside of functions. It has no predicates, because they need the text of the tree, which
    is not kept. ``@holder`` captures a node whose name is a definition only because of its content; a second pattern
    that captures the name itself would take quadratic time.
    """

    grammar: str
    query: str
    rules: Mapping[str, Rule]
    resolvers: Mapping[str, Resolver] = field(default_factory=dict)
    wrappers: Mapping[str, str] = field(default_factory=dict)
    """Node types that wrap a declaration, each with the field that holds it, or "" for any child with a rule."""
    export_wrappers: frozenset[str] = frozenset()
    comments: frozenset[str] = frozenset({"comment"})
    leading: frozenset[str] = frozenset()
    """Siblings that belong to the next declaration: attributes, decorators."""
    annotations: frozenset[str] = frozenset()
    """First children of a declaration that are not part of its signature."""
    modifiers: frozenset[str] = frozenset({"modifiers"})
    """First children that hold both annotations and words of the signature."""
    blocks: frozenset[str] = frozenset()
    """Blocks of statements that a large statement may be opened into."""
    prepare: Callable[[bytes], bytes] = unchanged
    """Blanks out code that the grammar can't read, without changing byte offsets, before the parse."""
    imports: Callable[[Node, bytes], list[ImportedModule]] = no_imports
    dependency: Callable[[str], str | None] = top_level
    defined_names: Callable[[Node, bytes], list[tuple[int, str]]] = lambda node, data: []
    """Returns the names that a ``@definer`` capture defines, each with its first byte."""
    exported: ExportRule = unknown_export
    exported_names: Callable[[Node, bytes], list[str]] = own_text
    """Returns the names that an ``@export`` capture exports."""
    package: Callable[[Node, bytes, str], str | None] = lambda root, data, path: None
    names_package: bool = False
    """The source names the package, so it is shown as context; otherwise the path already shows it."""
    builtins: frozenset[str] = frozenset()
    """Built-in names of the language, which refer to nothing in a repository."""
    naming: NamingRules | None = None
    """How definitions and references are read; without it, a file has neither."""
    docstring: Callable[[Node, bytes], str] | None = None
    """Returns the doc string inside a body, if the language has doc strings."""
    leading_doc: Callable[[Node], str] = lambda node: ""
    """Returns the doc string in a node of the role ``LEADING``."""
    tags: str | None = None
    """The name of the query file that says where the declarations are, instead of ``query`` and ``rules``."""
    joins: bool = False
    """Neighbouring functions of the same name are one definition: clauses, equations and their type signature."""
