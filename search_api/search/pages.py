"""Pages of an answer that lists what some versions hold, all in the state of the index that the first page saw."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from codequarry.search_api.answers.freshness import Freshness
from codequarry.search_api.query.selection import Selection
from codequarry.search_api.search.cursor import Cursor, digest, encode_cursor, read_cursor
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.versions.freshness import scope_states
from codequarry.search_api.versions.missing_version import listed
from codequarry.search_api.versions.resolution import Located, locate
from codequarry.search_api.versions.views import AsOf, View
from codequarry.shared.errors import UsageError

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page:
    """The versions that an answer is about, and which page of it is asked for."""

    engine: SearchEngine
    found: Located
    query: str
    number: int
    limit: int

    @classmethod
    def located(cls, engine: SearchEngine, selection: Selection, cursor: str | None, query: str, limit: int) -> "Page":
        """Locate what a request selects; ``query`` is a digest of everything else in the request.

        Raise UsageError for a cursor of another request or of an index that was rebuilt, and the errors of ``locate``.
        """
        read = read_cursor(cursor, engine.seal(), query)
        found = locate(engine.catalog, selection, read.as_of if read else None)
        if read is not None and read.timelines != digest(found.scope.timelines):
            raise UsageError("the index was rebuilt after the cursor was issued; omit the cursor to start again")
        return cls(engine, found, query, read.page if read else 0, limit)

    def require_one_version(self) -> None:
        """Raise UsageError if several versions of a repository are selected."""
        scope = self.found.scope
        if scope.version_count > len(scope.views) + len(scope.pending):
            several = next(views for views in scope.views.values() if len(views) > 1)
            names = listed([view.ref.name for view in several])
            raise UsageError(f"symbols are related within one version of each repository; name one of {names}")

    def cut(self, items: Sequence[Item]) -> tuple[tuple[Item, ...], str | None]:
        """Return the items of the page, and the cursor of the next page."""
        start = self.number * self.limit
        end = start + self.limit
        scope = self.found.scope
        if end >= len(items):
            return tuple(items[start:end]), None
        more = Cursor(self.number + 1, AsOf(scope.at, scope.open), self.query, digest(scope.timelines))
        return tuple(items[start:end]), encode_cursor(more, self.engine.seal())

    def view(self, repo: str) -> View | None:
        """Return the version of a repository."""
        return next(iter(self.found.scope.views.get(repo, ())), None)

    def origin(self, repo: str) -> str:
        """Return the origin of a repository, or "" if it is unknown."""
        known = self.found.repositories.get(repo)
        return known.origin if known else ""

    def freshness(self, repos: Collection[str]) -> tuple[Freshness, ...]:
        """Return the freshness of the versions, in full for those of ``repos``."""
        found = self.found
        shown = {(repo, view.ref.name) for repo in repos if (view := self.view(repo)) is not None}
        states = scope_states(self.engine.catalog, found.head, found.scope, found.repositories, shown)
        return tuple(state.freshness() for state in states)
