"""The rules by which the names of a language are read: what defines, scopes, imports and refers to a symbol."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from codequarry.shared.model import SymbolType
from codequarry.shared.relations import ReferenceKind

NameChain = tuple[str, ...]
"""The names of an expression, outermost first: ``("self", "client", "get")`` for ``self.client.get(…)``."""


def words(*lines: str) -> frozenset[str]:
    """Return the words of some lines."""
    return frozenset(word for line in lines for word in line.split())


@dataclass(frozen=True, slots=True)
class DefinitionKind:
    """What a syntax node defines: the language's word, and whether names inside it are its members or its locals."""

    word: str
    type: SymbolType
    has_members: bool = False
    has_locals: bool = False
    is_module: bool = False
    """Paths of the language name what is inside by it, and it may be a file of its own elsewhere."""
    binds: bool = True
    """The name can be used in the scope around it; that of a package clause can't."""
    name_only: bool = False
    """The node holds several names, so the definition is only as long as its name."""


@dataclass(frozen=True, slots=True)
class ImportedName:
    """A name that an import binds: a ``member`` of ``module``, or the module itself if ``member`` is empty.

    ``name`` is ``*`` if every exported name of the module is bound, and empty if the import binds nothing.
    """

    name: str
    module: str
    member: str = ""
    place: Node | None = field(default=None, compare=False)
    """Where the name stands, if the import binds several."""
    package: str = ""
    """The name by which the imported package calls itself, in a language whose packages do; it is a mere qualifier."""


@dataclass(frozen=True, slots=True)
class PassedOnName:
    """A name under which a module passes on what has another name, in the file itself or in ``module``.

    ``name`` is ``*`` if every exported name of ``module`` is passed on. ``names`` may be empty: the module itself.
    """

    name: str
    names: NameChain
    module: str = ""
    is_value: bool = False
    """It is a value of its own, whose type ``names`` give."""


def data_flow_query(*calls: str, returned: Sequence[str], arguments: Sequence[str]) -> str:
    """Return the patterns of results that are returned or given to other calls.

    Each of ``calls`` is the pattern of a call that captures its name as ``@name``. CALL stands for it in the others.
    """
    # A pattern for each call, because alternatives inside of alternatives do not all match.
    placed = [(pattern, "@returned") for pattern in returned] + [(pattern, "@argument") for pattern in arguments]
    found = (pattern.replace("CALL", call.replace("@name", name)) for pattern, name in placed for call in calls)
    return "\n".join(found) + "\n"


def no_names(node: Node, data: bytes) -> NameChain:
    """Return no names."""
    return ()


def no_expression(node: Node, data: bytes) -> NameChain | None:
    """Return None: the language does not show it."""
    return None


def same_node(node: Node) -> Node:
    """Return the node itself."""
    return node


@dataclass(frozen=True, slots=True)
class NamingRules:
    """How a language names things.

    ``query`` is appended to the query of the language's chunking rules, whose ``@def``, ``@holder``, ``@call``,
    ``@ref`` and ``@import`` are read too. It captures ``@scope`` (a node whose inside is a scope), ``@container`` (a
    scope whose names are members of a type that it names, such as Rust's ``impl``), ``@local`` (a name bound in the
    scope around it), ``@narrowed`` (a scope in which a local has a more special type, such as a case of a type switch),
    ``@property`` (a name to define that the chunk is not known by), ``@member`` (a name that is defined inside a method
    but is a member of the type around it), ``@passed_on`` (an export of what has another name or comes from another
    module), and references by kind: ``@inherits @implements @decorates @type @mention``. ``@qualified`` is an
    expression that ends with a captured name, ``@named`` one whose ``name`` a captured name is, and ``@keyed`` one
    whose key it is; they spare ``expression_of``, which is slow.
    ``@names_import`` is an import that the chunk does not list, such as the declaration of a module.
    ``@returned`` is the name of a call whose result a function returns, ``@argument`` that of a call whose result is an
    argument of another call; ``data_flow_query`` captures them.
    """

    query: str
    definitions: Mapping[str, DefinitionKind]
    """Kinds by node type; the node is the nearest around the captured name."""
    names_of: Callable[[Node, bytes], NameChain | None]
    """Returns the names of an expression or type, or None if it has none. The names may begin with ``UNKNOWN``."""
    kind_of: Callable[[Node, DefinitionKind, bytes], DefinitionKind | None] = lambda node, kind, data: kind
    """Returns the kind of a defining node if its content decides, such as a variable that holds a function.

    It returns None if the node defines nothing.
    """
    expression_of: Callable[[Node], Node] = same_node
    """Returns the expression that ends with a captured name: ``a.b.c`` for its ``c``."""
    type_of: Callable[[Node, bytes], NameChain | None] = no_expression
    """Returns the names of the type, or of the value, of a definition's or local's name node."""
    owner_of: Callable[[Node, bytes], NameChain] = no_names
    """Returns the names before a definition's own name that its head gives: the receiver of a Go method."""
    container_of: Callable[[Node, bytes], NameChain] = no_names
    """Returns the names of a ``@container``."""
    imports: Callable[[Node, bytes], list[ImportedName]] = lambda node, data: []
    files_of: Callable[[Node, bytes, str], Sequence[str]] = lambda node, data, path: ()
    """Returns the paths that the file of an import may have, given the importing file's path; none if it names none.

    They are as in ``IMPORTED_FILE``.
    """
    passed_on: Callable[[Node, bytes], list[PassedOnName]] = lambda node, data: []
    """Returns what a ``@passed_on`` exports under another name, or from another module."""
    module_of: Callable[[str, str], str] = lambda module, path: module
    """Returns the full path of an imported module, given the importing file's path."""
    module_words: frozenset[str] = frozenset()
    """Heads of names that begin at a known module, such as ``crate`` and ``super`` in Rust."""
    written_module: Callable[[NameChain, NameChain, str], tuple[str, NameChain] | None] = lambda names, around, path: (
        None
    )
    """Returns the module and the names in it of names that begin with such a head, or that nothing in the file binds.

    It is given the names of the modules around the place and the file's path.
    """
    in_tokens: Callable[[Node, bytes], Iterable[tuple[ReferenceKind, int, NameChain]]] = lambda node, data: ()
    """Returns the kinds, first bytes and names of references in ``@tokens``, which the grammar leaves unparsed."""
    own_module: Callable[[str, str | None], str] = lambda path, package: package or ""
    """Returns the package whose names the file sees without an import, given its path and package clause."""
    call_lists: frozenset[str] = frozenset()
    """Node types that hold the arguments of a call; their parent is the call."""
    lambdas: frozenset[str] = frozenset()
    """Types of those ``@scope`` nodes that are functions without a name, and return results of their own."""
    is_member: Callable[[Node, bytes], bool] = lambda node, data: True
    """Returns whether a ``@member`` is one of the object whose method runs."""
    self_names: frozenset[str] = frozenset()
    """Words for the object whose method runs."""
    super_names: frozenset[str] = frozenset()
    """Words for the same object as its parent type."""
    sees_members: bool = False
    """A method names other members of its type without a qualifier."""
    has_overloads: bool = False
    """Functions of one name differ by their parameters."""
    evident_type: Callable[[Node, bytes], tuple[str, str]] | None = None
    """Returns the type that an expression shows by itself, and the name of the local or member whose type it has.

    At most one of both is not empty. Overloads are told apart by the types of arguments.
    """
    declared_type: Callable[[Node, bytes], str] = lambda name, data: ""
    """Returns the type with which a definition's or local's name is declared, as parameters write it."""
    qualifies_members: bool = False
    """Members are named only with a qualifier, even directly inside their type."""
    sees_package: bool = False
    """A file names what other files of its package define without an import."""
    builtins: frozenset[str] = frozenset()
    """Names that refer to nothing in a repository."""
    sees_included: bool = False
    """A name that a file does not define is a member of the type around it or of a file that it includes, or global."""
    builtin_types: frozenset[str] = frozenset()
    """Names of built-in types, so that what has such a type has no members in a repository."""
    runtime: frozenset[str] = frozenset()
    """Names of the runtime whose members refer to nothing in a repository either, such as ``console``."""
    declaring: frozenset[str] = frozenset()
    """Node types that declare locals which can be used only after them, and replace others of the same name.

    Without any, a local can be used in its whole scope.
    """
    narrowed: Callable[[Node, bytes], tuple[str, NameChain] | None] = lambda node, data: None
    """Returns the local whose type is known in a ``@narrowed`` scope, and the names of its type there."""
