"""One search from request to answer: parse, scope, recall, rank, page, answer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import astuple, dataclass, field, replace
from time import perf_counter

from codequarry.search_api.answer import SearchAnswer, explain, hit_json
from codequarry.search_api.blend import SecondScores, blended, scored_twice
from codequarry.search_api.catalog import Catalog
from codequarry.search_api.cursor import Cursor, decode_cursor, digest, encode_cursor
from codequarry.search_api.diversify import Page, cut_page
from codequarry.search_api.empty import Emptiness, why_empty
from codequarry.search_api.holders import holding_views
from codequarry.search_api.locate import Located, locate
from codequarry.search_api.places import Directory, versions_of
from codequarry.search_api.plan import Plan, make_plan
from codequarry.search_api.rank import Ranked, has_match, rank
from codequarry.search_api.recall import embed, near_query, recall_query
from codequarry.search_api.request import SearchRequest, parse_request
from codequarry.search_api.scope import Scope
from codequarry.search_api.second import SecondStage
from codequarry.search_api.states import RepositoryState, scope_states
from codequarry.search_api.waiting import WaitingPlaces, await_commit
from codequarry.shared.access.grants import Principal
from codequarry.shared.breaker import Breaker
from codequarry.shared.embedding.port import Embedder, Vector
from codequarry.shared.errors import UsageError
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.identity import check_identity
from codequarry.shared.store.port import Recall, Store
from codequarry.shared.telemetry.traces import span
from codequarry.shared.versions.head import Head

__all__ = ["SearchAnswer", "SearchEngine", "SearchRequest", "parse_request"]

DEGRADED_EMBEDDING = "embedding"
# A model that did not answer is asked again after so long, by one search; the others go on lexically at once.
MODEL_LEFT_ALONE_SECONDS = 5.0
# What a query may take (embedding/patience.py), and a little more.
MODEL_LONGEST_SECONDS = 12.0
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
            with span(f"search.{name}"):
                yield
        finally:
            self.stages[name] = (perf_counter() - started) * 1000


@dataclass(slots=True)
class _Health:
    """What the engine of one store found out, whoever asked."""

    embeds: bool
    breaker: Breaker = field(default_factory=lambda: Breaker(MODEL_LEFT_ALONE_SECONDS, MODEL_LONGEST_SECONDS))


class SearchEngine:
    """Answers searches over one store with one embedder; safe to share between threads as far as these are.

    It answers the owner, who sees everything; ``seen_by`` gives the engine of anybody else.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        settings: SettingsModel,
        degraded: Sequence[str] = (),
        second: SecondStage | None = None,
    ) -> None:
        """Search ``store`` with the model that made it; ``degraded`` says what is missing where that can't be used.

        A ``second`` stage is the caller's to close.
        """
        self.store = store
        self.embedder = embedder
        self._health = _Health(not degraded)
        self.without_embedding = tuple(degraded) or (DEGRADED_EMBEDDING,)
        self._second = second
        self._roots = settings.api.local_roots
        self.waiting_places = WaitingPlaces(settings.api.threads)
        # Vectors of another model than the query's would be compared without a word.
        self.catalog = Catalog(store, lambda: check_identity(store, embedder, settings.embedding.model))

    def seen_by(self, principal: Principal) -> "SearchEngine":
        """Return the same engine as it answers somebody else, who may see less."""
        seen = copy(self)
        seen.catalog = self.catalog.seen_by(principal)
        return seen

    @property
    def embeds(self) -> bool:
        """Tell whether the model answered when it was asked last."""
        return self._health.embeds

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Answer a request.

        Raise UsageError (and its kinds) for what is wrong with it, NotIndexed for a repository or version that the
        index does not have, NotReached where ``min_commit`` did not come in time, ModelMismatch where the index has
        another model's vectors, StoreUnavailable where the engine does not answer. A failing embedder only degrades.
        """
        watch = _Stopwatch()
        with watch.stage("parse"):
            plan = make_plan(request)
            cursor = self._read_cursor(request)
        with watch.stage("scope"):
            found = self._located(plan, cursor)
            scope = found.scope
        with watch.stage("embed"):
            vector = self.embed(plan) if scope.views else None
        with watch.stage("recall"):
            recall = self.store.recall(recall_query(plan, scope.snapshot, vector)) if scope.views else Recall({})
        with watch.stage("rank"):
            ranked = ranked_matches(plan, recall)
        second = cursor.second if cursor else self._scored_again(plan, found, ranked, watch)
        number = cursor.page if cursor else 0
        with watch.stage("answer"):
            ranked = blended(ranked, second) if second else ranked
            page = cut_page(ranked, request.top_k, request.max_per_file, number)
            answer = self._answer(plan, found, recall, page)
        return replace(
            answer,
            degraded=self._missed(vector is None and bool(scope.views), second),
            next_cursor=self._next_cursor(request, scope, number, second) if page.has_more else None,
            took_ms=round(sum(watch.stages.values()), 1),
            stages=watch.stages,
        )

    def _scored_again(
        self, plan: Plan, found: Located, ranked: Sequence[Ranked], watch: _Stopwatch
    ) -> SecondScores | None:
        """Return what the second stage says of the first candidates, or None where it has no part in the search."""
        if self._second is None or not plan.request.rerank or not ranked:
            return None
        with watch.stage("rerank"):
            chunks = scored_twice(ranked, self._second.candidate_count)
            named = {chunk.repo for chunk in chunks if chunk.repo in found.repositories}
            return self._second.score(plan.text, chunks, {name: found.repositories[name].origin for name in named})

    def _missed(self, without_embedding: bool, second: SecondScores | None) -> tuple[str, ...]:
        """Return what the answer has to say of stages that it had to do without."""
        warnings = (second.warning,) if second and second.warning else ()
        return (*self.without_embedding, *warnings) if without_embedding else warnings

    def head(self) -> Head:
        """Return the head document as it is now, as far as the reader may see it."""
        return self.catalog.head()

    def embed(self, plan: Plan) -> Vector | None:
        """Return the vector of a query, or None where the model fails."""
        vector = embed(self.embedder, plan.text, self._health.breaker)
        self._health.embeds = vector is not None
        return vector

    def locate(self, plan: Plan, cursor: Cursor | None = None) -> Located:
        """Return what a plan sees of the index as it is now; errors as ``resolve``."""
        selection = plan.selection
        if plan.request.repos:
            head = self.head()
            directory = Directory(head, self.catalog.repositories(head), self._roots)
            selection = versions_of(plan.request.repos, directory, selection)
        return locate(self.catalog, selection, cursor)

    def _located(self, plan: Plan, cursor: Cursor | None) -> Located:
        request = plan.request
        if request.min_commit:
            wanted, wait_ms = request.min_commit, request.wait_ms
            with self.waiting_places.taken() as pause:
                found = await_commit(
                    self.store, self.catalog, lambda: self.locate(plan, cursor), wanted, wait_ms, pause
                )
        else:
            found = self.locate(plan, cursor)
        if cursor and cursor.timelines != found.scope.timelines:
            raise UsageError("the index was rebuilt since the cursor was given; leave it out to begin anew")
        return found

    def _read_cursor(self, request: SearchRequest) -> Cursor | None:
        if request.cursor is None:
            return None
        cursor = decode_cursor(request.cursor, self.catalog.seal())
        if cursor.query != _query_digest(request) or cursor.page > MAX_PAGES:
            raise UsageError("the cursor belongs to another search; repeat query, filters and sizes as they were")
        return cursor

    def _next_cursor(
        self, request: SearchRequest, scope: Scope, number: int, second: SecondScores | None
    ) -> str | None:
        if number + 1 >= MAX_PAGES:
            return None
        following = Cursor(number + 1, scope.at, scope.open, _query_digest(request), scope.timelines, second)
        return encode_cursor(following, self.catalog.seal())

    def _answer(self, plan: Plan, found: Located, recall: Recall, page: Page) -> SearchAnswer:
        shown = {item.candidate.chunk.repo for item in page.hits}
        states = list(scope_states(self.catalog, found.head, found.scope, found.repositories, shown))
        why = Emptiness("") if page.hits else self._why_empty(plan, found.scope, states)
        return SearchAnswer(
            results=self._hits(plan, found, recall, page.hits),
            freshness=[state.freshness() for state in states],
            reason=why.reason or None,
            suggestion=why.suggestion,
        )

    def _hits(self, plan: Plan, found: Located, recall: Recall, items: Sequence[Ranked]) -> list[dict[str, object]]:
        holders = holding_views(self.store, found.scope, (item.candidate.chunk for item in items))
        hits = []
        for item in items:
            repo = item.candidate.chunk.repo
            explanation = explain(item, recall) if plan.request.explain else None
            origin = found.repositories[repo].origin if repo in found.repositories else ""
            several = len(found.scope.views.get(repo, ())) > 1
            hits.append(hit_json(item, holders[item.id], origin, several=several, explanation=explanation))
        return hits

    def _why_empty(self, plan: Plan, scope: Scope, states: Sequence[RepositoryState]) -> Emptiness:
        """Say why nothing was found; only here are misspellings looked for, since it takes another round trip."""
        near = self.store.recall(near_query(plan, scope.snapshot)) if scope.views else Recall({})
        return why_empty(
            plan, states, near.candidates.values(), lambda filters: self.store.count(scope.snapshot, filters)
        )


def ranked_matches(plan: Plan, recall: Recall) -> list[Ranked]:
    """Return what was recalled, best first; nothing where none of it has to do with the query."""
    ranked = rank(plan, recall)
    return ranked if has_match(plan, ranked) else []


def _query_digest(request: SearchRequest) -> str:
    """Return what must be the same on every page of a search."""
    filters = {name: list(values) for name, values in request.filters.items()}
    repos = [list(astuple(one)) for one in request.repos]
    return digest(request.query, request.top_k, filters, request.max_per_file, request.include_tests, repos)
