"""A request for the versions of a symbol."""

from dataclasses import dataclass

from codequarry.search_api.query.filters import FilterValues, read_filters
from codequarry.search_api.query.names import Name, split_name
from codequarry.search_api.query.selection import Selection, select
from codequarry.shared.errors import UsageError
from codequarry.shared.filters import check_filters

DEFAULT_LIMIT = 20
MAX_LIMIT = 200
EVERY_VERSION = "*"
VERSION_NAMES = ("ref", "branch", "tag", "commit")


@dataclass(frozen=True, slots=True)
class SymbolRequest:
    """A symbol, its last part with or without the names around it, and where to look for its declarations."""

    name: Name
    selection: Selection
    filters: FilterValues
    limit: int = DEFAULT_LIMIT
    cursor: str | None = None


def symbol_request(
    name: str, filters: dict[str, list[str]], limit: int = DEFAULT_LIMIT, cursor: str | None = None
) -> SymbolRequest:
    """Check a request, for every version if the filters name none; raise UsageError or UnknownName."""
    symbol = split_name(name.strip())
    if symbol is None:
        raise UsageError(f"'{name}' is not the name of a symbol; write a name such as load or Store.load")
    given = {key: values for key, values in filters.items() if values}
    if not any(key in given for key in VERSION_NAMES):
        given["ref"] = [EVERY_VERSION]
    values = read_filters(given)
    selection = select(values, (), include_tests=True)
    check_filters(selection.filters)
    return SymbolRequest(symbol, selection, values, limit, cursor)
