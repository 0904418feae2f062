"""Reads the definitions and references of a file from the captures of its query."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from tree_sitter import Node

from codequarry.ingest.symbols.name_resolution import NameResolution
from codequarry.ingest.symbols.naming_rules import DefinitionKind, ImportedName, NameChain, NamingRules
from codequarry.ingest.symbols.nodes import node_text
from codequarry.ingest.symbols.scopes import Defined, Local, Scope, ScopeTree
from codequarry.shared.model import SymbolType
from codequarry.shared.relations import PASSED_ON, Definition, Reference, ReferenceKind, Symbols, Target

# Generated tables have thousands; the first ones show what the file is about.
MAX_DEFINITIONS = 20_000
MAX_REFERENCES = 40_000
# Longer names are mangled or minified.
_MAX_NAME = 200
# The node that defines a name is at most this far above it: `static int (*table[4])(void)`.
_MAX_CLIMB = 8
# The statement that declares a local is at most this far above its name; from there on, it could be one further out.
_MAX_PATTERN = 4
_MAX_SIGNATURE = 200

Found = TypeVar("Found")
Captures = Mapping[str, Sequence[Node]]

# A mere mention counts only if the file shows what it means.
_KNOWN = frozenset({"scope", "import", "package"})
_OF_HEADS = frozenset({"inherits", "implements"})
# A place with several captures is a reference of the first of these kinds.
_CAPTURED_KINDS: tuple[tuple[str, ReferenceKind], ...] = (
    ("inherits", "inherits"),
    ("implements", "implements"),
    ("decorates", "decorates"),
    ("call", "call"),
    ("component", "call"),
    ("type", "type"),
    ("ref", "type"),
    ("mention", "mention"),
)


@dataclass(frozen=True, slots=True)
class DefinitionFacts:
    """What the outline of the file knows about a definition."""

    signature: str = ""
    doc: str = ""
    exported: bool | None = None


@dataclass(frozen=True, slots=True)
class FileNames:
    """The definitions and references of a file with the bytes at which their names begin, in file order."""

    definitions: tuple[tuple[int, Definition], ...] = ()
    references: tuple[tuple[int, Reference], ...] = ()

    def between(self, start: int, end: int) -> Symbols:
        """Return those that begin in a byte range."""
        return Symbols(tuple(_between(self.definitions, start, end)), tuple(_between(self.references, start, end)))


def _between(found: Sequence[tuple[int, Found]], start: int, end: int) -> Iterator[Found]:
    first, last = (bisect_left(found, at, key=lambda item: item[0]) for at in (start, end))
    return (item for _, item in found[first:last])


@dataclass(slots=True)
class _Named:
    """A definition while the file is read; ``owner`` has the names that its head gives."""

    at: int
    name: str
    name_node: Node
    node: Node
    kind: DefinitionKind
    owner: NameChain
    of_self: bool
    path: NameChain = field(default=())


def read_names(
    captures: Captures,
    rules: NamingRules,
    data: bytes,
    path: str,
    package: str | None,
    described: Mapping[tuple[str, int], DefinitionFacts],
) -> FileNames:
    """Return the names of a file. ``described`` is by name and by the byte at which the definition ends."""
    named = _named(captures, rules, data)
    scopes = _scopes(named, captures, rules, data)
    importing = [*captures.get("import", ()), *captures.get("names_import", ())]
    imports = [(node, found) for node in importing for found in _imports(node, rules, data, path)]
    stars = _bind(scopes, named, imports, captures, rules, data)
    resolution = NameResolution(scopes, rules, path, rules.own_module(path, package), stars)
    definitions = [(found.at, _definition(found, rules, data, described, resolution)) for found in named]
    definitions += _passed_on(captures, rules, data, path, resolution, {found.path for found in named})
    definitions.sort(key=lambda item: item[0])
    defined_at = {found.at for found in named}
    expressions = _Expressions(captures, rules)
    references = _references(captures, expressions, data, resolution, defined_at)
    references += _import_references(imports, scopes)
    references += _flows(captures, expressions, data, resolution)
    references.sort(key=lambda item: item[0])
    return FileNames(tuple(definitions[:MAX_DEFINITIONS]), tuple(references[:MAX_REFERENCES]))


def _named(captures: Captures, rules: NamingRules, data: bytes) -> list[_Named]:
    """Return the definitions in file order, each once."""
    holders = (node.child_by_field_name("name") for node in captures.get("holder", ()))
    nodes = [
        *captures.get("def", ()),
        *captures.get("property", ()),
        *(name for name in holders if name is not None and name.type == "identifier"),
    ]
    members = [node for node in captures.get("member", ()) if rules.is_member(node, data)]
    found: dict[int, _Named] = {}
    for of_self, captured in ((True, members), (False, nodes)):
        for node in captured:
            start, end = node.start_byte, node.end_byte
            defining = _defining_node(node, rules) if start < end <= start + _MAX_NAME and start not in found else None
            if defining is None:
                continue
            kind = rules.kind_of(defining, rules.definitions[defining.type], data)
            if kind is not None:
                owner, name = rules.owner_of(defining, data), node_text(node, data).strip("\"':")
                found[start] = _Named(start, name, node, defining, kind, owner, of_self)
    return [found[start] for start in sorted(found)]


def _defining_node(name: Node, rules: NamingRules) -> Node | None:
    node: Node | None = name
    for _ in range(_MAX_CLIMB):
        if node is None or node.type in rules.definitions:
            return node
        node = node.parent
    return None


def _scopes(named: Sequence[_Named], captures: Captures, rules: NamingRules, data: bytes) -> ScopeTree:
    """Build the scopes; ``path`` of each is set from the outside in, because it contains the paths around it."""
    own: dict[tuple[int, int], _Named] = {}
    scopes: list[Scope] = []
    for found in named:
        if found.kind.has_members or found.kind.has_locals:
            key = (found.node.start_byte, found.node.end_byte)
            if key not in own:
                own[key] = found
                if found.owner and rules.sees_members:
                    # The body of a method that stands outside of its type sees the type's members.
                    scopes.append(Scope(*key, found.owner, of_members=True))
                    scopes.append(Scope(*key, (found.name,), of_members=False))
                    continue
                scopes.append(
                    Scope(
                        *key,
                        (*found.owner, found.name),
                        of_members=found.kind.has_members,
                        is_module=found.kind.is_module,
                    )
                )
    for node in captures.get("container", ()):
        scopes.append(Scope(node.start_byte, node.end_byte, rules.container_of(node, data), of_members=True))
    scopes += [Scope(node.start_byte, node.end_byte, (), of_members=False) for node in captures.get("scope", ())]
    tree = ScopeTree(scopes, len(data))
    for scope in tree.nested:
        if scope.parent is not None:
            scope.path = (*scope.parent.path, *scope.path)
    for found in named:
        found.path = (*_outside(found, tree).path, *found.owner, found.name)
    return tree


def _outside(found: _Named, tree: ScopeTree) -> Scope:
    """Return the scope in which a definition binds its name."""
    scope = tree.around(found.at)
    if found.of_self:
        return next(tree.types_around(found.at), scope)
    if found.kind.has_members or found.kind.has_locals:
        start, end = found.node.start_byte, found.node.end_byte
        while scope.parent is not None and (scope.start, scope.end) == (start, end):
            scope = scope.parent
    return scope


def _bind(
    tree: ScopeTree,
    named: Sequence[_Named],
    imports: Sequence[tuple[Node, ImportedName]],
    captures: Captures,
    rules: NamingRules,
    data: bytes,
) -> tuple[str, ...]:
    """Bind definitions, imports and locals in their scopes; return the modules of which every name is imported."""
    stars: dict[str, None] = {}
    for node, found in imports:
        if found.name == "*":
            stars[found.module] = None
        elif found.name:
            tree.around(node.start_byte).bindings.setdefault(found.name, found)
    for item in named:
        # A constructor has the name of its type, which inside the type still means the type.
        if item.kind.word == "constructor":
            continue
        scope = tree.members_of(item.path[:-1]) if item.owner else _outside(item, tree)
        # The name of a constructor means its type.
        is_constructor = rules.sees_included and item.path[-2:] == (item.name, item.name)
        if scope is not None and item.kind.binds and not is_constructor:
            scope.bindings.setdefault(item.name, Defined(item.path))
    _bind_locals(tree, captures, rules, data)
    return tuple(stars)


def _bind_locals(tree: ScopeTree, captures: Captures, rules: NamingRules, data: bytes) -> None:
    for node in captures.get("narrowed", ()):
        narrowed = rules.narrowed(node, data)
        if narrowed is not None:
            name, type_ = narrowed
            tree.around(node.start_byte).rebind(name, node.start_byte, Local(node.start_byte, type_))
    for node in captures.get("local", ()):
        name = node_text(node, data)
        scope = tree.around(node.start_byte)
        binding = Local(node.start_byte, read=partial(rules.type_of, node, data))
        known = scope.bindings.get(name)
        if rules.declaring:
            scope.rebind(name, _usable_from(node, rules), binding)
        elif known is None or (isinstance(known, Local) and known.type is None):
            scope.bindings[name] = binding


def _usable_from(name: Node, rules: NamingRules) -> int:
    """Return the byte at which the statement that declares a local ends, or else its name."""
    node: Node | None = name
    for _ in range(_MAX_PATTERN):
        if node is None or node.type in rules.declaring:
            return (node or name).end_byte
        node = node.parent
    return name.end_byte


def _imports(node: Node, rules: NamingRules, data: bytes, path: str) -> Iterable[ImportedName]:
    for found in rules.imports(node, data):
        yield replace(found, module=rules.module_of(found.module, path), place=found.place or node)


def _passed_on(
    captures: Captures, rules: NamingRules, data: bytes, path: str, resolution: NameResolution, known: set[NameChain]
) -> Iterator[tuple[int, Definition]]:
    """Yield a definition for each name that is passed on and that the file does not define itself."""
    for node in captures.get("passed_on", ()):
        at, line = node.start_byte, node.start_point[0] + 1
        for found in rules.passed_on(node, data):
            if found.module:
                target: Target | None = Target("import", rules.module_of(found.module, path), found.names)
            else:
                target = resolution.resolve(found.names, at) if found.names else None
            if found.name == "*":
                yield at, Definition(("*",), "block", PASSED_ON, line, line, exported=True, type=target)
            elif (found.name,) not in known and (target is None or target.names != (found.name,) or target.module):
                known.add((found.name,))
                kind = "value" if found.is_value else PASSED_ON
                yield at, Definition((found.name,), "block", kind, line, line, exported=True, type=target)


def _definition(
    found: _Named,
    rules: NamingRules,
    data: bytes,
    described: Mapping[tuple[str, int], DefinitionFacts],
    resolution: NameResolution,
) -> Definition:
    about = described.get((found.name, found.node.end_byte)) or DefinitionFacts()
    names = rules.type_of(found.name_node, data)
    node = found.name_node if found.kind.name_only else found.node
    end_row, end_column = node.end_point
    return Definition(
        path=found.path,
        symbol_type=_symbol_type(found, resolution),
        symbol_kind=_word(found, resolution),
        line=found.name_node.start_point[0] + 1,
        end_line=max(end_row + 1 - (end_column == 0), found.name_node.start_point[0] + 1),
        exported=about.exported,
        signature=(about.signature or _first_line(node, data))[:_MAX_SIGNATURE],
        doc=about.doc,
        type=resolution.resolve(names, found.at) if names else None,
    )


def _first_line(node: Node, data: bytes) -> str:
    return " ".join(
        data[node.start_byte : min(node.end_byte, node.start_byte + 400)]
        .split(b"\n", 1)[0]
        .decode("utf-8", "replace")
        .split()
    )


def _is_member(found: _Named, resolution: NameResolution) -> bool:
    return bool(found.owner) or _outside(found, resolution.scopes).of_members


def _symbol_type(found: _Named, resolution: NameResolution) -> SymbolType:
    return "method" if found.kind.type == "function" and _is_member(found, resolution) else found.kind.type


def _word(found: _Named, resolution: NameResolution) -> str:
    return "method" if found.kind.word == "function" and _is_member(found, resolution) else found.kind.word


class _Expressions:
    """Finds the expression around a captured name."""

    def __init__(self, captures: Captures, rules: NamingRules) -> None:
        # Going up from a node takes far longer than to look up what the query has captured.
        self._ends: dict[int, Node] = {}
        for node in captures.get("qualified", ()):
            known = self._ends.get(node.end_byte)
            if known is None or node.start_byte < known.start_byte:
                self._ends[node.end_byte] = node
        self._starts = {node.start_byte: node for node in captures.get("keyed", ())}
        self.rules = rules

    def names(self, name: Node, data: bytes) -> NameChain | None:
        """Return the names of the expression that ends with a name, or that it is the key of."""
        whole = self._ends.get(name.end_byte) or self._starts.get(name.start_byte)
        return self.rules.names_of(whole or self.rules.expression_of(name), data)


def _references(
    captures: Captures, expressions: _Expressions, data: bytes, resolution: NameResolution, defined_at: set[int]
) -> list[tuple[int, Reference]]:
    found: list[tuple[int, Reference]] = []
    seen = {node.start_byte for node in captures.get("local", ())}
    for capture, kind in _CAPTURED_KINDS:
        # An embedded field of Go is a definition and names the type that its struct inherits from.
        defined = defined_at if kind != "inherits" else frozenset[int]()
        for node in captures.get(capture, ()):
            at, end = node.start_byte, node.end_byte
            if at in seen or at in defined or not at < end <= at + _MAX_NAME:
                continue
            seen.add(at)
            if capture == "component" and not data[at : at + 1].isupper():
                continue
            names = expressions.names(node, data)
            target = resolution.reference(names, at, of_head=kind in _OF_HEADS) if names else None
            if target is not None and (kind != "mention" or target.origin in _KNOWN):
                line, within = node.start_point[0] + 1, resolution.scopes.definition_around(at)
                given = _arguments(node) if kind == "call" and expressions.rules.has_overloads else None
                found.append((at, Reference(kind, line, target, within, arguments=given)))
    for node in captures.get("tokens", ()):
        found += _in_tokens(node, expressions.rules, data, resolution)
    return found


def _in_tokens(
    node: Node, rules: NamingRules, data: bytes, resolution: NameResolution
) -> Iterator[tuple[int, Reference]]:
    """Yield the references in code that the grammar leaves as tokens, such as the arguments of a macro."""
    start, line = node.start_byte, node.start_point[0] + 1
    for kind, at, names in rules.in_tokens(node, data):
        line += data.count(b"\n", start, at)
        start = at
        target = resolution.reference(names, at)
        if target is not None and (kind != "mention" or target.origin in _KNOWN):
            yield at, Reference(kind, line, target, resolution.scopes.definition_around(at))


def _arguments(name: Node) -> int | None:
    """Return the number of arguments after the name of what is called."""
    node = name.parent
    for _ in range(_MAX_CLIMB):
        arguments = node.child_by_field_name("arguments") if node is not None else None
        if arguments is not None:
            return arguments.named_child_count if arguments.start_byte >= name.end_byte else None
        node = node.parent if node is not None else None
    return None


def _flows(
    captures: Captures, expressions: _Expressions, data: bytes, resolution: NameResolution
) -> list[tuple[int, Reference]]:
    """Return where the result of one function goes to another: it returns it, or takes it as an argument."""
    found: list[tuple[int, Reference]] = []
    for capture in ("returned", "argument"):
        for node in captures.get(capture, ()):
            at = node.start_byte
            names = expressions.names(node, data)
            target = resolution.reference(names, at) if names else None
            into = _taker(node, expressions.rules, data, resolution) if capture == "argument" else None
            if target is not None and target.origin in _KNOWN and (into is not None or capture == "returned"):
                line, within = node.start_point[0] + 1, resolution.scopes.definition_around(at)
                found.append((at, Reference("data_flow", line, target, within, into)))
    return found


def _taker(node: Node, rules: NamingRules, data: bytes, resolution: NameResolution) -> Target | None:
    """Return the function of the call around a call that is an argument."""
    inner: Node | None = node
    for _ in range(_MAX_CLIMB):
        inner = inner.parent if inner is not None else None
        if inner is not None and inner.type in rules.call_lists and not _is_own_list(inner, node):
            call = inner.parent
            names = rules.names_of(call, data) if call is not None else None
            target = resolution.reference(names, node.start_byte) if names else None
            return target if target is not None and target.origin in _KNOWN else None
    return None


def _is_own_list(arguments: Node, name: Node) -> bool:
    """Return whether a list of arguments follows a name, so that it is that of the name's own call."""
    return arguments.start_byte > name.start_byte


def _import_references(imports: Sequence[tuple[Node, ImportedName]], scopes: ScopeTree) -> list[tuple[int, Reference]]:
    found = []
    for node, item in imports:
        member = item.member or item.package
        names = (member,) if member else (item.module,)
        target = Target("import", item.module if member else "", names)
        if names[0]:
            place = item.place or node
            at, line = place.start_byte, place.start_point[0] + 1
            found.append((at, Reference("import", line, target, scopes.definition_around(at))))
    return found
