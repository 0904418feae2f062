"""Reads the references of a file from the captures of its query."""

from collections.abc import Iterator, Mapping, Sequence

from tree_sitter import Node

from codequarry.ingest.symbols.call_arguments import read_arguments
from codequarry.ingest.symbols.name_resolution import NameResolution
from codequarry.ingest.symbols.naming_rules import ImportedName, NameChain, NamingRules
from codequarry.ingest.symbols.scopes import ScopeTree
from codequarry.shared.relations import KNOWN_ORIGINS, Reference, ReferenceKind, Target

Captures = Mapping[str, Sequence[Node]]
PlacedReference = tuple[int, Reference]
"""A reference, after the byte at which its name begins."""

# Longer names are mangled or minified.
MAX_NAME = 200
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


class Expressions:
    """Finds the expression around a captured name."""

    def __init__(self, captures: Captures, rules: NamingRules) -> None:
        # Going up from a node takes far longer than to look up what the query has captured.
        self._ends: dict[int, Node] = {}
        for node in captures.get("qualified", ()):
            known = self._ends.get(node.end_byte)
            if known is None or node.start_byte < known.start_byte:
                self._ends[node.end_byte] = node
        for node in captures.get("named", ()):
            name = node.child_by_field_name("name")
            if name is not None:
                self._ends[name.end_byte] = node
        self._starts = {node.start_byte: node for node in captures.get("keyed", ())}
        self.rules = rules

    def known(self, name: Node) -> Node | None:
        """Return the expression around a name, if the query has captured it."""
        return self._ends.get(name.end_byte) or self._starts.get(name.start_byte)

    def names(self, name: Node, data: bytes) -> NameChain | None:
        """Return the names of the expression that ends with a name, or that it is the key of."""
        return self.rules.names_of(self.known(name) or self.rules.expression_of(name), data)


def captured_references(
    captures: Captures, expressions: Expressions, data: bytes, resolution: NameResolution, defined_at: set[int]
) -> list[PlacedReference]:
    """Return the references that the query captures; names that begin at one of ``defined_at`` are definitions."""
    found: list[PlacedReference] = []
    seen = {node.start_byte for node in captures.get("local", ())}
    for capture, kind in _CAPTURED_KINDS:
        # An embedded field of Go is a definition and names the type that its struct inherits from.
        defined = defined_at if kind != "inherits" else frozenset[int]()
        for node in captures.get(capture, ()):
            at, end = node.start_byte, node.end_byte
            if at in seen or at in defined or not at < end <= at + MAX_NAME:
                continue
            seen.add(at)
            if capture == "component" and not data[at : at + 1].isupper():
                continue
            names = expressions.names(node, data)
            target = resolution.reference(names, at, of_head=kind in _OF_HEADS) if names else None
            # A mere mention counts only if the file shows what it means.
            if target is not None and (kind != "mention" or target.origin in KNOWN_ORIGINS):
                line, within = node.start_point[0] + 1, resolution.scopes.definition_around(at)
                count: int | None = None
                types: tuple[str, ...] = ()
                if kind == "call" and expressions.rules.has_overloads:
                    call = expressions.known(node)
                    count, types = read_arguments(node, call, expressions.rules, data, resolution)
                found.append((at, Reference(kind, line, target, within, arguments=count, argument_types=types)))
    for node in captures.get("tokens", ()):
        found += _in_tokens(node, expressions.rules, data, resolution)
    return found


def _in_tokens(node: Node, rules: NamingRules, data: bytes, resolution: NameResolution) -> Iterator[PlacedReference]:
    """Yield the references in code that the grammar leaves as tokens, such as the arguments of a macro."""
    start, line = node.start_byte, node.start_point[0] + 1
    for kind, at, names in rules.in_tokens(node, data):
        line += data.count(b"\n", start, at)
        start = at
        target = resolution.reference(names, at)
        if target is not None and (kind != "mention" or target.origin in KNOWN_ORIGINS):
            yield at, Reference(kind, line, target, resolution.scopes.definition_around(at))


def import_references(imports: Sequence[tuple[Node, ImportedName]], scopes: ScopeTree) -> list[PlacedReference]:
    """Return a reference for each imported name, or for the module if the import names none."""
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
