"""Reads the definitions of a file from the captures of its query."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from codequarry.ingest.symbols.file_references import MAX_NAME, Captures
from codequarry.ingest.symbols.name_resolution import NameResolution
from codequarry.ingest.symbols.naming_rules import DefinitionKind, NameChain, NamingRules
from codequarry.ingest.symbols.nodes import MAX_CLIMB, node_text, upwards
from codequarry.ingest.symbols.scopes import Scope
from codequarry.shared.relations import PASSED_ON, Definition, Target

MAX_SIGNATURE = 200


@dataclass(frozen=True, slots=True)
class DefinitionFacts:
    """What the outline of the file knows about a definition."""

    signature: str = ""
    doc: str = ""
    exported: bool | None = None


@dataclass(slots=True)
class NamedNode:
    """A definition while the file is read; ``owner`` has the names that its head gives."""

    at: int
    name: str
    name_node: Node
    node: Node
    kind: DefinitionKind
    owner: NameChain
    of_self: bool
    outside: Scope | None = None
    """The scope in which it binds its name, once the scopes are known."""
    path: NameChain = ()

    @property
    def is_member(self) -> bool:
        """Whether it is a member of a type."""
        return bool(self.owner) or (self.outside is not None and self.outside.of_members)


def named_nodes(captures: Captures, rules: NamingRules, data: bytes) -> list[NamedNode]:
    """Return the definitions in file order, each once."""
    holders = (node.child_by_field_name("name") for node in captures.get("holder", ()))
    nodes = [
        *captures.get("def", ()),
        *captures.get("property", ()),
        *(name for name in holders if name is not None and name.type == "identifier"),
    ]
    members = [node for node in captures.get("member", ()) if rules.is_member(node, data)]
    found: dict[int, NamedNode] = {}
    for of_self, captured in ((True, members), (False, nodes)):
        for node in captured:
            start, end = node.start_byte, node.end_byte
            defining = _defining_node(node, rules) if start < end <= start + MAX_NAME and start not in found else None
            if defining is None:
                continue
            kind = rules.kind_of(defining, rules.definitions[defining.type], data)
            if kind is not None:
                owner, name = rules.owner_of(defining, data), node_text(node, data).strip("\"':")
                found[start] = NamedNode(start, name, node, defining, kind, owner, of_self)
    return [found[start] for start in sorted(found)]


def _defining_node(name: Node, rules: NamingRules) -> Node | None:
    return next((node for node in upwards(name, MAX_CLIMB) if node.type in rules.definitions), None)


def passed_on_definitions(
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


def definition_of(
    found: NamedNode,
    rules: NamingRules,
    data: bytes,
    described: Mapping[tuple[str, int], DefinitionFacts],
    resolution: NameResolution,
) -> Definition:
    """Return a definition with the type that its file shows."""
    about = described.get((found.name, found.node.end_byte)) or DefinitionFacts()
    names = rules.type_of(found.name_node, data)
    node = found.name_node if found.kind.name_only else found.node
    end_row, end_column = node.end_point
    return Definition(
        path=found.path,
        symbol_type="method" if found.kind.type == "function" and found.is_member else found.kind.type,
        symbol_kind="method" if found.kind.word == "function" and found.is_member else found.kind.word,
        line=found.name_node.start_point[0] + 1,
        end_line=max(end_row + 1 - (end_column == 0), found.name_node.start_point[0] + 1),
        exported=about.exported,
        signature=(about.signature or _first_line(node, data))[:MAX_SIGNATURE],
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
