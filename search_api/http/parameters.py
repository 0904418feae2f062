"""Query parameters (`?state=failed`), validated like the fields of a body: unknown names are refused."""

from collections.abc import Sequence
from typing import TypeVar

from flask import request

from codequarry.shared.errors import UnknownName, UsageError

Value = TypeVar("Value", bound=str)


def refuse_unknown_parameters(*known: str) -> None:
    """Raise UnknownName for a query parameter that is not in ``known``."""
    for name in request.args:
        if name not in known:
            raise UnknownName("parameter", name, known)


def listed_parameter(name: str, known: Sequence[Value]) -> tuple[Value, ...]:
    """Return the values of a parameter that may be given several times; raise UnknownName for an unknown value."""
    by_name: dict[str, Value] = {value: value for value in known}
    asked = request.args.getlist(name)
    for value in asked:
        if value not in by_name:
            raise UnknownName(name, value, known)
    return tuple(by_name[value] for value in asked)


def integer_parameter(name: str, default: int, most: int) -> int:
    """Return an integer parameter from 1 to ``most``, or the default; raise UsageError for any other value."""
    text = request.args.get(name)
    if text is None:
        return default
    # A number with more digits than the limit is too large, and slow to parse.
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
        raise UsageError(f"?{name} must be a number from 1 to {most:,}, not '{text[:20]}'")
    return int(text)
