"""One search from request to answer: parse, scope, recall, rank, page, answer."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter

from codequarry.search_api.answer import SearchAnswer, explain, hit_json
from codequarry.search_api.catalog import Catalog
from codequarry.search_api.cursor import Cursor, decode_cursor, digest, encode_cursor
from codequarry.search_api.diversify import Page, cut_page
from codequarry.search_api.empty import Emptiness, why_empty
from codequarry.search_api.plan import Plan, make_plan
from codequarry.search_api.rank import Ranked, has_match, rank
from codequarry.search_api.recall import embed, near_query, recall_query
from codequarry.search_api.request import SearchRequest, parse_request
from codequarry.search_api.scope import Scope, resolve
from codequarry.search_api.states import RepositoryState, scope_states
from codequarry.shared.config import SettingsModel
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import UsageError
from codequarry.shared.ledger import published_transactions, read_head
from codequarry.shared.repositories import Repository
from codequarry.shared.store.identity import check_identity
from codequarry.shared.store.port import Recall, Store

__all__ = ["SearchAnswer", "SearchEngine", "SearchRequest", "parse_request"]

DEGRADED_EMBEDDING = "embedding"
# Paging is for looking on, not for reading out an index: the pool of candidates ends it sooner in most searches.
MAX_PAGES = 50


@dataclass(slots=True)
class _Stopwatch:
    """Milliseconds of each stage of one search."""

    stages: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = perf_counter()
        try:
            yield
        finally:
            self.stages[name] = (perf_counter() - started) * 1000


class SearchEngine:
    """Answers searches over one store with one embedder; safe to share between threads as far as these are."""

    def __init__(self, store: Store, embedder: Embedder, settings: SettingsModel) -> None:
        self.store = store
        self.embeds = True
        self._embedder = embedder
        # Vectors of another model than the query's would be compared without a word.
        self._catalog = Catalog(store, lambda: check_identity(store, embedder, settings.embedding.model))

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Answer a request.

        Raise UsageError (and its kinds) for what is wrong with it, NotIndexed for a repository or version that the
        index does not have, ModelMismatch where it has another model's vectors, StoreUnavailable where the engine does
        not answer. A failing embedder only degrades.
        """
        watch = _Stopwatch()
        with watch.stage("parse"):
            plan = make_plan(request)
            cursor = _read_cursor(request)
        with watch.stage("scope"):
            scope, repositories = self._scope(plan, cursor)
        with watch.stage("embed"):
            vector = embed(self._embedder, plan.text) if scope.views else None
            self.embeds = vector is not None if scope.views else self.embeds
        with watch.stage("recall"):
            recall = self.store.recall(recall_query(plan, scope.snapshot, vector)) if scope.views else Recall({})
        with watch.stage("rank"):
            ranked = rank(plan, recall)
            found = ranked if has_match(plan, ranked) else []
            number = cursor.page if cursor else 0
            page = cut_page(found, request.top_k, request.max_per_file, number)
        with watch.stage("answer"):
            answer = self._answer(plan, scope, repositories, recall, page)
        return replace(
            answer,
            degraded=(DEGRADED_EMBEDDING,) if scope.views and vector is None else (),
            next_cursor=_next_cursor(request, scope, number) if page.has_more else None,
            took_ms=round(sum(watch.stages.values()), 1),
            stages=watch.stages,
        )

    def _scope(self, plan: Plan, cursor: Cursor | None) -> tuple[Scope, Mapping[str, Repository]]:
        head = read_head(self.store)
        repositories = self._catalog.repositories(head, plan.selection.repos)
        scope = resolve(
            head,
            repositories,
            plan.selection,
            lambda timeline: published_transactions(self.store, head, timeline),
            cursor,
        )
        if cursor and cursor.timelines != scope.timelines:
            raise UsageError("the index was rebuilt since the cursor was given; leave it out to begin anew")
        return scope, repositories

    def _answer(
        self, plan: Plan, scope: Scope, repositories: Mapping[str, Repository], recall: Recall, page: Page
    ) -> SearchAnswer:
        shown = {item.candidate.chunk.repo for item in page.hits}
        states = list(scope_states(self._catalog, scope, repositories, shown))
        by_name = {state.name: state for state in states}
        results = [self._hit(plan, scope, recall, item, by_name) for item in page.hits]
        why = Emptiness("") if results else self._why_empty(plan, scope, states)
        return SearchAnswer(
            results=results,
            freshness=[state.freshness() for state in states],
            reason=why.reason or None,
            suggestion=why.suggestion,
        )

    def _hit(
        self, plan: Plan, scope: Scope, recall: Recall, item: Ranked, states: dict[str, RepositoryState]
    ) -> dict[str, object]:
        repo = item.candidate.chunk.repo
        explanation = explain(item, recall) if plan.request.explain else None
        return hit_json(item, scope.views.get(repo), states.get(repo), explanation)

    def _why_empty(self, plan: Plan, scope: Scope, states: Sequence[RepositoryState]) -> Emptiness:
        """Say why nothing was found; only here are misspellings looked for, since it takes another round trip."""
        near = self.store.recall(near_query(plan, scope.snapshot)) if scope.views else Recall({})
        return why_empty(
            plan, states, near.candidates.values(), lambda filters: self.store.count(scope.snapshot, filters)
        )


def _query_digest(request: SearchRequest) -> str:
    """Return what must be the same on every page of a search."""
    filters = {name: list(values) for name, values in request.filters.items()}
    return digest(request.query, request.top_k, filters, request.max_per_file, request.include_tests)


def _read_cursor(request: SearchRequest) -> Cursor | None:
    if request.cursor is None:
        return None
    cursor = decode_cursor(request.cursor)
    if cursor.query != _query_digest(request) or cursor.page > MAX_PAGES:
        raise UsageError("the cursor belongs to another search; repeat query, filters and sizes as they were")
    return cursor


def _next_cursor(request: SearchRequest, scope: Scope, number: int) -> str | None:
    if number + 1 >= MAX_PAGES:
        return None
    return encode_cursor(Cursor(number + 1, scope.at, scope.open, _query_digest(request), scope.timelines))
