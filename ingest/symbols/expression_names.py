"""Reads the names of expressions and types by tables of node types."""

from collections.abc import Callable, Mapping
from typing import Protocol

from tree_sitter import Node

from codequarry.ingest.symbols.naming_rules import NameChain
from codequarry.ingest.symbols.nodes import inner_node, node_text

# Deeper expressions are generated.
MAX_DEPTH = 30


class ExpressionNames(Protocol):
    """Returns the names of an expression or type, which is ``depth`` nodes below the one asked for."""

    def __call__(self, node: Node | None, data: bytes, depth: int = 0) -> NameChain | None:
        """Return the names, or None if there are none to read."""
        ...


def expression_names_by(
    words: frozenset[str],
    inner: Mapping[str, str],
    special: Mapping[str, Callable[[Node, bytes, int], NameChain | None]],
) -> ExpressionNames:
    """Return a reader of names; each table is by node type.

    ``words`` are names themselves, ``inner`` those that have the names of a node inside (see ``inner_node``), and
    ``special`` have a function of their own, which is given the depth of what is inside of the node.
    """

    def names(node: Node | None, data: bytes, depth: int = 0) -> NameChain | None:
        if node is None:
            return None
        kind = node.type
        if kind in words:
            return (node_text(node, data),)
        if depth > MAX_DEPTH:
            return None
        read = special.get(kind)
        if read is not None:
            return read(node, data, depth + 1)
        return names(inner_node(node, inner), data, depth + 1) if kind in inner else None

    return names
