"""Reads nodes of a syntax tree, whose text is not kept with the tree."""

from collections.abc import Iterator, Mapping

from tree_sitter import Node

# What encloses a name, or is around a call that is an argument, is at most this far above it:
# `static int (*table[4])(void)`, `f(x=await g())`.
MAX_CLIMB = 8


def node_text(node: Node, data: bytes) -> str:
    """Return a node's text."""
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def upwards(node: Node | None, most: int) -> Iterator[Node]:
    """Yield a node and the nodes around it, the innermost first, ``most`` at most."""
    for _ in range(most):
        if node is None:
            return
        yield node
        node = node.parent


def first_named(node: Node) -> Node | None:
    """Return the first child that is not punctuation, if any."""
    return node.named_child(0) if node.named_child_count else None


def inner_node(node: Node, fields: Mapping[str, str]) -> Node | None:
    """Return the field of a node that the table names for its type, or its first child if the field is empty."""
    field = fields[node.type]
    return node.child_by_field_name(field) if field else first_named(node)
