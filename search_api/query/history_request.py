"""A request for the history of a symbol."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codequarry.search_api.query.filters import FilterValues, read_filters
from codequarry.search_api.query.names import Name, split_name
from codequarry.search_api.query.selection import Selection, select
from codequarry.shared.errors import UsageError
from codequarry.shared.filters import check_filters

DEFAULT_EVENTS = 100
MAX_EVENTS = 1_000
FILTERS = ("repo", "path", "language", "ref", "branch", "commit")


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """A symbol, with or without the names around it, where to look for it, and the number of events on a page."""

    name: Name
    selection: Selection
    filters: FilterValues
    limit: int = DEFAULT_EVENTS
    cursor: str | None = None


def history_request(
    name: str, filters: Mapping[str, Sequence[str]], limit: int = DEFAULT_EVENTS, cursor: str | None = None
) -> HistoryRequest:
    """Check a request, for the default branches if the filters name no version; raise UsageError or UnknownName."""
    symbol = split_name(name.strip())
    if symbol is None:
        raise UsageError(f"'{name}' is not the name of a symbol; write a name such as load or Store.load")
    values = read_filters({key: list(given) for key, given in filters.items() if given})
    selection = select(values, (), include_tests=True)
    check_filters(selection.filters)
    return HistoryRequest(symbol, selection, values, limit, cursor)
