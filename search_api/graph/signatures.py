"""Reads the parameters of a signature."""

from functools import lru_cache

ANY_NUMBER = 1_000
"""The largest number of arguments if a function takes any number."""
_OPEN, _CLOSE = "([{<", ")]}>"


@lru_cache(maxsize=65_536)
def parameter_list(signature: str) -> tuple[tuple[str, ...], bool]:
    """Return the parameters of a signature as written, and whether the signature shows all of them."""
    start = signature.find("(")
    if start < 0:
        return (), False
    parts, depth, begin = [], 0, start + 1
    for at in range(start, len(signature)):
        sign = signature[at]
        depth += (sign in _OPEN) - (sign in _CLOSE and signature[at - 1] not in "-=")
        if not depth or (depth == 1 and sign == ","):
            parts.append(signature[begin:at].strip())
            begin = at + 1
        if not depth:
            return tuple(part for part in parts if part), True
    return tuple(parts), False


@lru_cache(maxsize=65_536)
def parameters(signature: str) -> tuple[int, int]:
    """Return how few and how many arguments a signature takes, as far as it can be read."""
    given, is_whole = parameter_list(signature)
    if not is_whole:
        return len(given), ANY_NUMBER
    optional = sum("=" in part or "?:" in part for part in given)
    open_ended = any("..." in part or part.startswith("*") for part in given)
    return len(given) - optional - open_ended, ANY_NUMBER if open_ended else len(given)
