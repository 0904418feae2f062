"""Reads the definitions and references of a file from the captures of its query."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from tree_sitter import Node

from codequarry.ingest.symbols.data_flow import data_flows
from codequarry.ingest.symbols.file_definitions import (
    DefinitionFacts,
    NamedNode,
    definition_of,
    named_nodes,
    passed_on_definitions,
)
from codequarry.ingest.symbols.file_references import (
    Captures,
    Expressions,
    captured_references,
    import_references,
)
from codequarry.ingest.symbols.imported_files import file_imports, without_files
from codequarry.ingest.symbols.name_resolution import NameResolution
from codequarry.ingest.symbols.naming_rules import ImportedName, NamingRules
from codequarry.ingest.symbols.nodes import node_text, upwards
from codequarry.ingest.symbols.scopes import Defined, Local, Scope, ScopeTree
from codequarry.shared.relations import Definition, Reference, Symbols

# Generated tables have thousands; the first ones show what the file is about.
MAX_DEFINITIONS = 20_000
MAX_REFERENCES = 40_000
# The statement that declares a local is at most this far above its name; from there on, it could be one further out.
_MAX_PATTERN = 4

Found = TypeVar("Found")


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


def read_names(
    captures: Captures,
    rules: NamingRules,
    data: bytes,
    path: str,
    package: str | None,
    described: Mapping[tuple[str, int], DefinitionFacts],
) -> FileNames:
    """Return the names of a file. ``described`` is by name and by the byte at which the definition ends."""
    named = named_nodes(captures, rules, data)
    scopes = _scopes(named, captures, rules, data)
    importing = [*captures.get("import", ()), *captures.get("names_import", ())]
    imports = [(node, found) for node in importing for found in _imports(node, rules, data, path)]
    stars = _bind(scopes, named, imports, captures, rules, data)
    resolution = NameResolution(scopes, rules, data, path, rules.own_module(path, package), stars)
    definitions = [(found.at, definition_of(found, rules, data, described, resolution)) for found in named]
    definitions += passed_on_definitions(captures, rules, data, path, resolution, {found.path for found in named})
    definitions.sort(key=lambda item: item[0])
    defined_at = {found.at for found in named}
    expressions = Expressions(captures, rules)
    references = captured_references(captures, expressions, data, resolution, defined_at)
    files = list(file_imports(importing, rules, data, path, scopes))
    references += files
    references += import_references(without_files(imports, files), scopes)
    references += data_flows(captures, rules, data, resolution, references)
    references.sort(key=lambda item: item[0])
    return FileNames(tuple(definitions[:MAX_DEFINITIONS]), tuple(references[:MAX_REFERENCES]))


def _scopes(named: Sequence[NamedNode], captures: Captures, rules: NamingRules, data: bytes) -> ScopeTree:
    """Build the scopes; ``path`` of each is set from the outside in, because it contains the paths around it."""
    own: dict[tuple[int, int], NamedNode] = {}
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
    for node in captures.get("scope", ()):
        is_lambda = node.type in rules.lambdas
        scopes.append(Scope(node.start_byte, node.end_byte, (), of_members=False, is_lambda=is_lambda))
    tree = ScopeTree(scopes, len(data))
    for scope in tree.nested:
        if scope.parent is not None:
            scope.path = (*scope.parent.path, *scope.path)
    for found in named:
        found.outside = _outside(found, tree)
        found.path = (*found.outside.path, *found.owner, found.name)
    return tree


def _outside(found: NamedNode, tree: ScopeTree) -> Scope:
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
    named: Sequence[NamedNode],
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
        scope = tree.members_of(item.path[:-1]) if item.owner else item.outside
        if scope is not None and item.kind.binds and not _is_constructor(item, rules):
            scope.bindings.setdefault(item.name, Defined(item.path, item.name_node))
    _bind_locals(tree, captures, rules, data)
    return tuple(stars)


def _is_constructor(item: NamedNode, rules: NamingRules) -> bool:
    """Return whether a definition has the name of its type, which inside the type still means the type."""
    return item.kind.word == "constructor" or (rules.sees_included and item.path[-2:] == (item.name, item.name))


def _bind_locals(tree: ScopeTree, captures: Captures, rules: NamingRules, data: bytes) -> None:
    for node in captures.get("narrowed", ()):
        narrowed = rules.narrowed(node, data)
        if narrowed is not None:
            name, type_ = narrowed
            tree.around(node.start_byte).rebind(name, node.start_byte, Local(node.start_byte, type_))
    for node in captures.get("local", ()):
        name = node_text(node, data)
        scope = tree.around(node.start_byte)
        binding = Local(node.start_byte, place=node, read=partial(rules.type_of, node, data))
        known = scope.bindings.get(name)
        if rules.declaring:
            scope.rebind(name, _usable_from(node, rules), binding)
        elif known is None or (isinstance(known, Local) and known.type is None):
            scope.bindings[name] = binding


def _usable_from(name: Node, rules: NamingRules) -> int:
    """Return the byte at which the statement that declares a local ends, or else its name."""
    return next((node for node in upwards(name, _MAX_PATTERN) if node.type in rules.declaring), name).end_byte


def _imports(node: Node, rules: NamingRules, data: bytes, path: str) -> Iterable[ImportedName]:
    for found in rules.imports(node, data):
        yield replace(found, module=rules.module_of(found.module, path), place=found.place or node)
