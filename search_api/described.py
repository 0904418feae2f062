"""What the OpenAPI document says of keys: every operation with its need, and the errors that the gate answers."""

import re
from typing import Any

from codequarry.search_api.admission import NEEDS
from codequarry.search_api.routes import problem_responses

SCHEME = "key"
_VARIABLE = re.compile(r"<(?:[^<>:]+:)?([^<>:]+)>")
_KEY_PROBLEMS = (401, 403, 429)


def describe_keys(spec: dict[str, Any]) -> None:
    """Add to each operation of ``spec`` that it needs a key, and what happens without."""
    spec["components"]["securitySchemes"] = {
        SCHEME: {"type": "http", "scheme": "bearer", "description": "A key of `codequarry keys create`."}
    }
    for request, need in NEEDS.items():
        method, _, rule = request.partition(" ")
        operation = spec["paths"].get(_VARIABLE.sub(r"{\1}", rule), {}).get(method.lower())
        if operation is None:
            continue  # the description does not describe itself
        if need == "open":
            operation["security"] = []
        elif need == "signed":
            operation["security"] = []
            operation["responses"] |= _problems(429)
        else:
            operation["security"] = [{SCHEME: []}]
            operation["description"] = f"{operation.get('description', '')}\n\nNeeds the scope `{need}`.".strip()
            operation["responses"] |= _problems(*_KEY_PROBLEMS)


def _problems(*statuses: int) -> dict[str, Any]:
    return {str(status): response for status, response in problem_responses(*statuses).items()}
