"""Finds the rule for a syntax node inside its wrappers."""

from dataclasses import dataclass

from tree_sitter import Node

from codequarry.ingest.chunking.language_spec import LanguageSpec, Role, Rule

# Wrappers nest: `export default abstract class`, `template <…> template <…>`.
_MAX_WRAPPERS = 4


@dataclass(frozen=True, slots=True)
class ResolvedNode:
    """A node without its wrappers, and its rule."""

    node: Node
    head: Node
    rule: Rule
    exported: bool


def read_node(node: Node, spec: LanguageSpec, data: bytes) -> ResolvedNode | None:
    """Remove the wrappers of a node and find its rule; return None for punctuation."""
    head, exported = node, False
    for _ in range(_MAX_WRAPPERS):
        if head.type not in spec.wrappers:
            break
        inner = _unwrapped(head, spec)
        if inner is None:
            break
        exported = exported or head.type in spec.export_wrappers
        head = inner
    found = _resolved(head, spec, data)
    if found is None:
        return ResolvedNode(node, node, Rule(Role.BLOCK, "statement"), exported) if node.is_named else None
    inner, rule = found
    return ResolvedNode(inner, head, rule, exported)


def _unwrapped(node: Node, spec: LanguageSpec) -> Node | None:
    """Return the declaration inside a wrapper: a field, or the first child with a rule."""
    name = spec.wrappers[node.type]
    if name:
        return node.child_by_field_name(name)
    known = (spec.rules, spec.resolvers, spec.wrappers)
    return next((child for child in node.named_children if any(child.type in table for table in known)), None)


def _resolved(node: Node, spec: LanguageSpec, data: bytes) -> tuple[Node, Rule] | None:
    resolver = spec.resolvers.get(node.type)
    if resolver is None:
        rule = spec.rules.get(node.type)
        return (node, rule) if rule is not None else None
    found = resolver(node, data)
    if found is None or isinstance(found, tuple):
        return found
    return node, found
