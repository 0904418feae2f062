"""The parameters of the requests about a symbol, and their OpenAPI descriptions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import request

from codequarry.search_api.http.parameters import integer_parameter, refuse_unknown_parameters
from codequarry.search_api.query.request_body import MAX_VALUE_CHARACTERS
from codequarry.shared.errors import UsageError

_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_VALUE_CHARACTERS}


@dataclass(frozen=True, slots=True)
class SymbolParameters:
    """The parameters of a route: its filters with their descriptions, and how many ``items`` a page has."""

    filters: Sequence[str]
    notes: Mapping[str, str]
    items: str
    default_limit: int
    most: int

    def described(self) -> list[dict[str, Any]]:
        """Return the parameters as OpenAPI has them."""
        name = "the exact name of a symbol, or the end of its qualified name, such as `Store.load`"
        limit = {"type": "integer", "minimum": 1, "maximum": self.most, "default": self.default_limit}
        cursor = "`next_cursor` of the previous page; the other parameters must be the same"
        return [
            {"name": "name", "in": "query", "required": True, "schema": _TEXT, "description": name},
            *map(self._described_filter, self.filters),
            _optional("limit", limit, f"maximum number of {self.items} in the answer"),
            _optional("cursor", {"type": "string", "minLength": 1}, cursor),
        ]

    def _described_filter(self, name: str) -> dict[str, Any]:
        values = {"type": "array", "items": _TEXT, "minItems": 1}
        note = f"{self.notes[name]}; may be given several times"
        return {**_optional(name, values, note), "style": "form", "explode": True}

    def read(self) -> tuple[str, dict[str, list[str]], int, str | None]:
        """Return the name, filters, limit and cursor of the present request; raise UsageError for a bad parameter."""
        refuse_unknown_parameters("name", *self.filters, "limit", "cursor")
        name = request.args.get("name")
        if not name:
            raise UsageError("?name is missing; give the name of a symbol")
        filters = {filter_name: request.args.getlist(filter_name) for filter_name in self.filters}
        return name, filters, integer_parameter("limit", self.default_limit, self.most), request.args.get("cursor")


def _optional(name: str, schema: Mapping[str, Any], description: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema, "description": description}
