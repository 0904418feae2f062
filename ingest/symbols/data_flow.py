"""Where the result of one function goes to another: it returns it, or takes it as an argument."""

from collections.abc import Iterable, Mapping, Sequence

from tree_sitter import Node

from codequarry.ingest.symbols.name_resolution import NameResolution
from codequarry.ingest.symbols.naming_rules import NamingRules
from codequarry.ingest.symbols.nodes import MAX_CLIMB, upwards
from codequarry.ingest.symbols.scopes import ScopeTree
from codequarry.shared.relations import KNOWN_ORIGINS, Reference, Target


def data_flows(
    captures: Mapping[str, Sequence[Node]],
    rules: NamingRules,
    data: bytes,
    resolution: NameResolution,
    calls: Iterable[tuple[int, Reference]],
) -> list[tuple[int, Reference]]:
    """Return the flows of results, each after the byte of its call's name.

    ``calls`` are the file's references, which say what each call means.
    """
    scopes = resolution.scopes
    called = {at: call for at, call in calls if call.kind == "call" and call.target.origin in KNOWN_ORIGINS}
    found: list[tuple[int, Reference]] = []
    for node in captures.get("returned", ()):
        call = called.get(node.start_byte)
        if call is not None and call.within and _is_result_of_definition(scopes, node.start_byte):
            found.append((node.start_byte, _flow(call, None)))
    arguments = captures.get("argument", ())
    # Most lists of arguments begin where the name of what is called ends; that spares to read the name again.
    ends = {node.end_byte: node.start_byte for node in captures.get("call", ())} if arguments else {}
    for node in arguments:
        call = called.get(node.start_byte)
        around = _list_around(node, rules) if call is not None else None
        if call is None or around is None:
            continue
        at = ends.get(around.start_byte)
        if at is None:
            into = _taker(around, node, rules, data, resolution)
        else:
            into = called[at].target if at in called else None
        if into is not None:
            found.append((node.start_byte, _flow(call, into)))
    return found


def _flow(call: Reference, into: Target | None) -> Reference:
    return call._replace(kind="data_flow", into=into)


def _is_result_of_definition(scopes: ScopeTree, at: int) -> bool:
    """Return whether what is returned at a byte is the result of the definition around it, not of a function in it.

    A function without a name is the definition itself if it is the value of a variable or field: both end together.
    """
    for scope in scopes.around(at).outwards():
        around = scope.parent
        if around is None or scope.path != around.path:
            return True
        if scope.is_lambda:
            return around.end == scope.end and around.parent is not None and around.path != around.parent.path
    return True


def _list_around(node: Node, rules: NamingRules) -> Node | None:
    """Return the list of arguments in which a call is, given its name."""
    return next((outer for outer in upwards(node.parent, MAX_CLIMB) if outer.type in rules.call_lists), None)


def _taker(arguments: Node, name: Node, rules: NamingRules, data: bytes, resolution: NameResolution) -> Target | None:
    """Return the function that is called with a list of arguments, if the file shows what it means."""
    call = arguments.parent
    names = rules.names_of(call, data) if call is not None else None
    target = resolution.reference(names, name.start_byte) if names else None
    return target if target is not None and target.origin in KNOWN_ORIGINS else None
