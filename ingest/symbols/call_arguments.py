"""Reads the arguments of a call: their number and, as far as the file says, their types, which tell overloads apart."""

from tree_sitter import Node

from codequarry.ingest.symbols.name_resolution import NameResolution
from codequarry.ingest.symbols.naming_rules import NamingRules
from codequarry.ingest.symbols.nodes import MAX_CLIMB, upwards

# Overloads differ in their first parameters.
_MAX_TYPED = 6


def read_arguments(
    name: Node, call: Node | None, rules: NamingRules, data: bytes, resolution: NameResolution
) -> tuple[int | None, tuple[str, ...]]:
    """Return the number of arguments after the name of what is called, and the types of the first ones.

    A type that the file does not show is empty; the types are left out if it shows none. ``call`` is the call if it is
    known, so that it need not be found.
    """
    arguments = _arguments(name, call or name.parent)
    if arguments is None:
        return None, ()
    count = arguments.named_child_count
    if rules.evident_type is None or not count:
        return count, ()
    types = []
    for argument in arguments.named_children[:_MAX_TYPED]:
        type_, value = rules.evident_type(argument, data)
        types.append(resolution.declared_type(value, argument.start_byte) if value else type_)
    return count, tuple(types) if any(types) else ()


def _arguments(name: Node, call: Node | None) -> Node | None:
    for node in upwards(call, MAX_CLIMB):
        arguments = node.child_by_field_name("arguments")
        if arguments is not None:
            return arguments if arguments.start_byte >= name.end_byte else None
    return None
