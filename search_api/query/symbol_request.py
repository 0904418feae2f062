"""A request about a symbol: for its versions, or for its history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codequarry.search_api.query.filters import FilterValues, read_filters
from codequarry.search_api.query.names import Name, split_name
from codequarry.search_api.query.selection import Selection, select
from codequarry.shared.errors import UsageError
from codequarry.shared.filters import check_filters

EVERY_VERSION = "*"
VERSION_NAMES = ("ref", "branch", "tag", "commit")


@dataclass(frozen=True, slots=True)
class SymbolRequest:
    """A symbol, its last part with or without the names around it, and where to look for its declarations.

    ``limit`` is the number of declarations, or of events of a history, on a page.
    """

    name: Name
    selection: Selection
    filters: FilterValues
    limit: int
    cursor: str | None = None


def versions_request(
    name: str, filters: Mapping[str, Sequence[str]], limit: int = 20, cursor: str | None = None
) -> SymbolRequest:
    """Check a request, for every version if the filters name none; raise UsageError or UnknownName."""
    names_version = any(filters.get(kind) for kind in VERSION_NAMES)
    return _request(name, filters if names_version else {**filters, "ref": [EVERY_VERSION]}, limit, cursor)


def history_request(
    name: str, filters: Mapping[str, Sequence[str]], limit: int = 100, cursor: str | None = None
) -> SymbolRequest:
    """Check a request, for the default branches if the filters name no version; raise UsageError or UnknownName."""
    return _request(name, filters, limit, cursor)


def _request(name: str, filters: Mapping[str, Sequence[str]], limit: int, cursor: str | None) -> SymbolRequest:
    symbol = split_name(name.strip())
    if symbol is None:
        raise UsageError(f"'{name}' is not the name of a symbol; write a name such as load or Store.load")
    values = read_filters({key: list(given) for key, given in filters.items() if given})
    selection = select(values, (), include_tests=True)
    check_filters(selection.filters)
    return SymbolRequest(symbol, selection, values, limit, cursor)
