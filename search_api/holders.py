"""Which of several versions in view holds a hit."""

from collections.abc import Iterable, Sequence

from codequarry.search_api.scope import Scope
from codequarry.search_api.views import View
from codequarry.shared.model import Chunk
from codequarry.shared.store.port import Store


def holding_views(store: Store, scope: Scope, chunks: Iterable[Chunk]) -> dict[str, tuple[View, ...]]:
    """Return for each chunk, by its id, the views that hold its file version.

    The store is asked only about repositories with several versions in view.
    """
    found: dict[str, tuple[View, ...]] = {}
    unsure: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        views = scope.views.get(chunk.repo, ())
        if len(views) > 1:
            unsure.setdefault(chunk.repo, []).append(chunk)
        else:
            found[chunk.id] = views
    for repo, shown in unsure.items():
        found |= _among(store, scope.views[repo], scope.hidden, shown)
    return found


def _among(
    store: Store, views: Sequence[View], hidden: frozenset[int], chunks: Sequence[Chunk]
) -> dict[str, tuple[View, ...]]:
    paths = {chunk.path for chunk in chunks}
    held = {
        (file.path, file.blob, position)
        for position, view in enumerate(views)
        for file in store.files(view.snapshot(hidden), paths)
    }
    return {
        chunk.id: tuple(view for place, view in enumerate(views) if (chunk.path, chunk.blob, place) in held)
        for chunk in chunks
    }
