"""The default branches of many repositories, each looked at only when a hit of it is shown."""

from collections.abc import Iterator, Mapping

from codequarry.search_api.views import View
from codequarry.shared.repositories.catalog import Repository, default_branch
from codequarry.shared.versions.head import Head
from codequarry.shared.versions.refs import Ref


def branch_of(head: Head, catalog: Mapping[str, Repository], name: str) -> str:
    """Return what the default branch of a repository is called, which the catalog may not have any more."""
    return default_branch(head, catalog[name]) if name in catalog else head.default_branch(name)


class DefaultViews(Mapping[str, tuple[View, ...]]):
    """The view of each repository at its default branch, as of ``head``, made when it is asked for.

    A search over a thousand repositories shows hits of a few.
    """

    def __init__(self, head: Head, catalog: Mapping[str, Repository], timelines: Mapping[str, int]) -> None:
        """Take the published default ``timelines`` by repository."""
        self._head = head
        self._catalog = catalog
        self._timelines = timelines

    def __getitem__(self, name: str) -> tuple[View, ...]:
        timeline = self._timelines[name]
        state = self._head.timelines[timeline]
        branch = Ref("branch", branch_of(self._head, self._catalog, name))
        allowed = self._head.allowed.get(name, ())
        return (View(name, branch, timeline, state.published, state.commit, allowed=allowed),)

    def __iter__(self) -> Iterator[str]:
        return iter(self._timelines)

    def __len__(self) -> int:
        return len(self._timelines)
