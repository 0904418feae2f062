"""A request's filters: fields of a hit, each with a list of accepted values."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from codequarry.search_api.query.commit_filters import (
    AUTHOR,
    COMMIT_AUTHOR,
    COMMIT_DATE,
    DAY_FORMS,
    OF_COMMITS,
    SINCE,
    TYPE,
    TYPES,
    UNTIL,
)
from codequarry.search_api.query.request_body import MAX_VALUE_CHARACTERS, NULL, storable
from codequarry.search_api.query.version_query import SpecifierKind
from codequarry.shared.errors import UnknownName, UsageError
from codequarry.shared.filters import BOOLEANS, FILTERABLE_FIELDS
from codequarry.shared.model import CODE_TYPES, KINDS_OF_FILE

FilterValues = Mapping[str, tuple[str, ...]]  # the accepted values of each field
# Longer lists of files or repositories belong in a setting.
MAX_FILTER_VALUES = 200

VERSION_FILTERS: tuple[SpecifierKind, ...] = ("ref", "branch", "tag", "commit")
FILTERS: tuple[str, ...] = (*FILTERABLE_FIELDS, "path", *VERSION_FILTERS, TYPE, *OF_COMMITS)
# Fields with a fixed set of values.
CLOSED_VALUES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"symbol_type": CODE_TYPES, "kind_of_file": KINDS_OF_FILE, TYPE: TYPES}
    | {name: BOOLEANS for name, kind in FILTERABLE_FIELDS.items() if kind == "boolean"}
)

FILTER_NOTES = {
    "path": "globs as in .gitignore; a leading ! excludes",
    "branch": "an indexed branch, or a pattern such as feature/*; the default branch if omitted",
    "tag": "an indexed tag, or a pattern such as v2.*",
    "ref": "any indexed version: a branch, a tag, pull/12, workspace:/path (any folder in it), a full ref, or a "
    "commit; or a pattern, and * for every version but working trees",
    "commit": "an indexed commit: the full hash or at least its first 7 digits",
    TYPE: "code (the default), or documents of commits instead: commit (messages) or diff (changed lines)",
    AUTHOR: "any part of the name or e-mail address of the author of a commit: for code, of the last one that touched "
    "the file",
    SINCE: f"the first day (UTC) of such commits: {DAY_FORMS}",
    UNTIL: "the last day (UTC) of such commits, in the same forms as since",
    COMMIT_AUTHOR: "the same as author",
    COMMIT_DATE: "the day (UTC) of such commits, in the same forms as since",
    "language": "lower case; config also matches yaml, json, toml, ini and properties",
}


def _filter_schema(name: str) -> dict[str, Any]:
    closed = CLOSED_VALUES.get(name)
    value: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": MAX_VALUE_CHARACTERS}
    if closed == BOOLEANS:
        value = {"enum": [True, False, *BOOLEANS]}
    elif closed:
        value = {"type": "string", "enum": list(closed)}
    listed = {"type": "array", "items": value, "minItems": 1, "maxItems": MAX_FILTER_VALUES}
    note = FILTER_NOTES.get(name)
    return {"anyOf": [value, listed, NULL], **({"description": note} if note else {})}


FILTERS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {name: _filter_schema(name) for name in FILTERS},
    "additionalProperties": False,
}


def read_filters(value: object) -> FilterValues:
    """Return the checked ``filters`` object; raise UnknownName or UsageError for an invalid field or value."""
    if value is None:
        return MappingProxyType({})
    if not isinstance(value, Mapping):
        raise UsageError("'filters' must be an object of field names and values")
    filters = {name: _values(name, given) for name, given in value.items() if given is not None}
    return MappingProxyType(filters)


def _values(name: str, given: object) -> tuple[str, ...]:
    if name not in FILTERS:
        raise UnknownName("filter", storable(name), FILTERS)
    listed: Sequence[object] = given if isinstance(given, list | tuple) else [given]
    if not 1 <= len(listed) <= MAX_FILTER_VALUES:
        raise UsageError(f"the filter '{name}' must have 1 to {MAX_FILTER_VALUES} values")
    return tuple(dict.fromkeys(_value(name, value) for value in listed))


def _value(name: str, value: object) -> str:
    if isinstance(value, bool) and CLOSED_VALUES.get(name) == BOOLEANS:
        return str(value).lower()
    if not isinstance(value, str):
        raise UsageError(f"each value of the filter '{name}' must be a {_type_name(name)}")
    text = storable(value)
    if not 1 <= len(text) <= MAX_VALUE_CHARACTERS:
        raise UsageError(f"each value of the filter '{name}' must have 1 to {MAX_VALUE_CHARACTERS} characters")
    closed = CLOSED_VALUES.get(name)
    if closed and text not in closed:
        raise UnknownName(name, text, closed)
    return text


def _type_name(name: str) -> str:
    return "boolean" if CLOSED_VALUES.get(name) == BOOLEANS else "string"
