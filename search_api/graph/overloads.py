"""Which of several definitions with the same name a reference fits: a field or a method, and which overload."""

from functools import lru_cache

from codequarry.search_api.graph.definitions import DefinedSymbol, WrittenReference

_CALLABLE = frozenset({"function", "method", "class"})
_ANY = 1_000
_OPEN, _CLOSE = "([{<", ")]}>"


def misfit(found: DefinedSymbol, written: WrittenReference) -> int:
    """Return how badly a definition fits a reference with its name: 0 is a fit."""
    reference, definition = written.reference, found.definition
    is_callable = definition.symbol_type in _CALLABLE
    if reference.kind == "mention":
        return int(is_callable and definition.symbol_type != "class")
    if reference.kind != "call":
        return 0
    if not is_callable:
        return 4
    if reference.arguments is None or definition.symbol_type == "class":
        return 0
    fewest, most = parameters(definition.signature)
    if not fewest <= reference.arguments <= most:
        return 2
    # An overload that takes any number of arguments is chosen last.
    return int(most >= _ANY)


@lru_cache(maxsize=65_536)
def parameters(signature: str) -> tuple[int, int]:
    """Return how few and how many arguments a signature takes, as far as it can be read."""
    start = signature.find("(")
    if start < 0:
        return 0, _ANY
    parts, depth, begin = [], 0, start + 1
    for at in range(start, len(signature)):
        sign = signature[at]
        depth += (sign in _OPEN) - (sign in _CLOSE and signature[at - 1] not in "-=")
        if not depth or (depth == 1 and sign == ","):
            parts.append(signature[begin:at].strip())
            begin = at + 1
        if not depth:
            break
    else:
        return len(parts), _ANY
    given = [part for part in parts if part]
    optional = sum("=" in part or "?:" in part for part in given)
    open_ended = any("..." in part or part.startswith("*") for part in given)
    return len(given) - optional - open_ended, _ANY if open_ended else len(given)
