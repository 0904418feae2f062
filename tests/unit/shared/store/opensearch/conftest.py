"""An evaluator of query clauses."""

from collections.abc import Callable
from typing import Any

import pytest


def evaluate(clause: dict[str, Any], row: dict[str, Any]) -> bool:
    """Evaluate a clause of a snapshot as the engine does."""
    ((kind, body),) = clause.items()
    if kind == "match_none":
        return False
    if kind in ("term", "terms"):
        ((field, wanted),) = body.items()
        return row[field] in (wanted if kind == "terms" else [wanted])
    if kind == "range":
        ((field, bounds),) = body.items()
        tests = {"lte": row[field].__le__, "lt": row[field].__lt__, "gt": row[field].__gt__}
        return all(tests[name](bound) for name, bound in bounds.items())
    assert kind == "bool" and set(body) <= {"filter", "must_not", "should", "minimum_should_match"}
    should = [evaluate(part, row) for part in body.get("should", ())]
    return (
        all(evaluate(part, row) for part in body.get("filter", ()))
        and not any(evaluate(part, row) for part in body.get("must_not", ()))
        and sum(should) >= body.get("minimum_should_match", 0)
    )


@pytest.fixture(scope="session")
def holds() -> Callable[[dict[str, Any], dict[str, Any]], bool]:
    """Return the function that evaluates a clause on a row as the engine does."""
    return evaluate
