"""The version of each repository in an answer about symbols, and the pages of such an answer."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from codequarry.search_api.answers.freshness import Freshness
from codequarry.search_api.query.selection import Selection
from codequarry.search_api.search.cursor import Cursor, decode_cursor, digest, encode_cursor
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
    located: Located
    query: str
    number: int
    limit: int

    @classmethod
    def located_by(
        cls, engine: SearchEngine, selection: Selection, cursor: str | None, query: Mapping[str, object], limit: int
    ) -> "Page":
        """Locate one version of each repository.

        Raise UsageError for several versions of a repository or a cursor of another request, and the errors of
        ``locate``.
        """
        asked = digest("relations", dict(query), limit)
        read = decode_cursor(cursor, engine.seal()) if cursor is not None else None
        if read is not None and read.query != asked:
            raise UsageError("the cursor belongs to another request; repeat the fields of that request")
        located = locate(engine.catalog, selection, read.as_of if read else None)
        if read is not None and read.timelines != digest(located.scope.timelines):
            raise UsageError("the index was rebuilt after the cursor was issued; omit the cursor to start again")
        if located.scope.version_count > len(located.scope.views) + len(located.scope.pending):
            several = next(views for views in located.scope.views.values() if len(views) > 1)
            names = listed([view.ref.name for view in several])
            raise UsageError(f"symbols are related within one version of each repository; name one of {names}")
        return cls(engine, located, asked, read.page if read else 0, limit)

    def cut(self, items: Sequence[Item]) -> tuple[tuple[Item, ...], str | None]:
        """Return the items of the page, and the cursor of the next page."""
        start = self.number * self.limit
        end = start + self.limit
        scope = self.located.scope
        if end >= len(items):
            return tuple(items[start:end]), None
        more = Cursor(self.number + 1, AsOf(scope.at, scope.open), self.query, digest(scope.timelines))
        return tuple(items[start:end]), encode_cursor(more, self.engine.seal())

    def view(self, repo: str) -> View | None:
        """Return the version of a repository."""
        return next(iter(self.located.scope.views.get(repo, ())), None)

    def origin(self, repo: str) -> str:
        """Return the origin of a repository, or "" if it is unknown."""
        known = self.located.repositories.get(repo)
        return known.origin if known else ""

    def freshness(self, repos: Collection[str]) -> tuple[Freshness, ...]:
        """Return the freshness of the versions, in full for those of ``repos``."""
        located = self.located
        shown = {(repo, view.ref.name) for repo in repos if (view := self.view(repo)) is not None}
        states = scope_states(self.engine.catalog, located.head, located.scope, located.repositories, shown)
        return tuple(state.freshness() for state in states)
