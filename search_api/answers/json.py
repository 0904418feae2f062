"""From a typed answer to JSON, and to the schema of that very JSON."""

from collections.abc import Iterable
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter

Answer = TypeVar("Answer")


_adapters: dict[type, TypeAdapter[Any]] = {}


def adapter(kind: type[Answer]) -> TypeAdapter[Answer]:
    """Return what checks and writes answers of a type; making it takes milliseconds, so it is kept."""
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def to_json(answer: object) -> dict[str, Any]:
    """Return the JSON object of an answer, as HTTP, MCP and ``--json`` give it.

    A page of 20 hits takes 0.1 ms, and 0.2 ms more to become text (``python -m bench.answers``).
    """
    body: dict[str, Any] = adapter(type(answer)).dump_python(answer, mode="json", by_alias=True)
    return body


def schemas(kinds: Iterable[type], ref_template: str) -> dict[str, Any]:
    """Return the JSON schemas of what ``to_json`` gives for some types, and of all types in them, by name."""
    inputs: list[tuple[str, Literal["serialization"], TypeAdapter[Any]]] = [
        (kind.__name__, "serialization", adapter(kind)) for kind in kinds
    ]
    _, document = TypeAdapter.json_schemas(inputs, ref_template=ref_template)
    definitions: dict[str, Any] = document["$defs"]
    return definitions
