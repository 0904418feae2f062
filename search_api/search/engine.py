"""One search from request to answer: parse, scope, recall, rank, page, answer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import astuple, dataclass, field, replace
from time import perf_counter, sleep

from codequarry.search_api.answers.hits import Hit, SearchAnswer
from codequarry.search_api.query.plan import QueryPlan, make_plan
from codequarry.search_api.query.request import SearchRequest, parse_request
from codequarry.search_api.ranking.score_fusion import SecondScores, blended, chunks_to_rescore
from codequarry.search_api.ranking.scoring import Ranked, ResultPage, cut_page, has_match, rank
from codequarry.search_api.ranking.second_stage import SecondStage
from codequarry.search_api.search.code_owners import CodeOwners
from codequarry.search_api.search.cursor import Cursor, Seal, decode_cursor, digest, encode_cursor, seal_key
from codequarry.search_api.search.empty_answers import Emptiness, why_empty
from codequarry.search_api.search.hits import explain, make_hit
from codequarry.search_api.search.newest_commits import newest_commits
from codequarry.search_api.search.placement import FoundDeclaration, placements
from codequarry.search_api.search.recall import embed, near_query, recall_query
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.commit_wait import WaitingPlaces, await_commit
from codequarry.search_api.versions.freshness import RepositoryState, scope_states
from codequarry.search_api.versions.local_heads import LocalHeads
from codequarry.search_api.versions.repository_lookup import Directory, versions_of
from codequarry.search_api.versions.resolution import Located, locate
from codequarry.search_api.versions.scope import VersionScope
from codequarry.search_api.versions.views import AsOf
from codequarry.shared.access.grants import Principal
from codequarry.shared.arrays import Vector
from codequarry.shared.embedding.port import Embedder
from codequarry.shared.errors import UsageError
from codequarry.shared.index.identity import check_identity
from codequarry.shared.liveness.breaker import Breaker
from codequarry.shared.liveness.deadline import Deadline
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.port import Store
from codequarry.shared.store.records import Recall
from codequarry.shared.telemetry.traces import span
from codequarry.shared.versions.head import Head

__all__ = ["SearchAnswer", "SearchEngine", "SearchRequest", "parse_request"]

DEGRADED_EMBEDDING = "embedding"
# Seconds before one search retries a model that failed; until then, searches use words only.
MODEL_RETRY_SECONDS = 5.0
# Slightly more than a query may take (shared/embedding/retries.py).
MODEL_TRIAL_SECONDS = 12.0
# Paging is for browsing results, not for exporting the index; most searches run out of candidates earlier.
MAX_PAGES = 50


@dataclass(slots=True)
class _Stopwatch:
    stages: dict[str, float] = field(default_factory=dict)  # milliseconds of each stage

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
    """State that the engines of one store share, so that each request knows what earlier ones found."""

    embeds: bool
    seal_key: bytes | None = None
    breaker: Breaker = field(default_factory=lambda: Breaker(MODEL_RETRY_SECONDS, MODEL_TRIAL_SECONDS))


class SearchEngine:
    """Answers the owner's searches, or another principal's (``seen_by``); as thread-safe as its store and embedder."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        settings: SettingsModel,
        degraded: Sequence[str] = (),
        second: SecondStage | None = None,
    ) -> None:
        """Search ``store``; ``degraded`` names what is unavailable without its model. The caller closes ``second``."""
        self.store = store
        self.embedder = embedder
        self._health = _Health(not degraded)
        self.without_embedding = tuple(degraded) or (DEGRADED_EMBEDDING,)
        self._second = second
        self._roots = settings.api.local_roots
        self.waiting_places = WaitingPlaces(settings.api.threads)
        # Without this check, vectors from different models would be compared silently.
        self.catalog = Catalog(
            store,
            lambda store: check_identity(store, embedder, settings.embedding.model),
            local_heads=LocalHeads(settings),
        )
        self._code_owners = CodeOwners()
        self.deadline: Deadline | None = None

    def seen_by(self, principal: Principal) -> "SearchEngine":
        """Return the same engine limited to what ``principal`` may see."""
        seen = copy(self)
        seen.catalog = self.catalog.seen_by(principal)
        return seen

    def within(self, deadline: Deadline | None) -> "SearchEngine":
        """Return the engine with a request's ``deadline``; without one, it waits as long as an indexing run does."""
        if deadline is self.deadline:
            return self
        bound = copy(self)
        bound.deadline = deadline
        bound.store = self.store.within(deadline)
        bound.catalog = self.catalog.over(bound.store)
        return bound

    def rest(self, seconds: float) -> None:
        """Wait for something other than the store, then give the store its full time again."""
        sleep(seconds)
        if self.deadline is not None:
            self.deadline.restart()

    def seal(self) -> Seal:
        """Return the seal for text that the principal sends back, such as cursors."""
        if self._health.seal_key is None:
            self._health.seal_key = seal_key(self.store)
        return Seal(self._health.seal_key, self.catalog.principal.name)

    @property
    def embeds(self) -> bool:
        """Whether the last call to the model succeeded."""
        return self._health.embeds

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Answer a request.

        Raise UsageError (or a subclass) for an invalid request, NotIndexed for a repository or version that the index
        lacks, NotReached if ``min_commit`` is not indexed in time, ModelMismatch if the index has vectors from a
        different model, StoreUnavailable if the store does not answer. A failing embedder only degrades the answer.
        """
        watch = _Stopwatch()
        with watch.stage("parse"):
            plan = make_plan(request)
            cursor = self._read_cursor(request)
        with watch.stage("scope"):
            found = self._located(plan, cursor)
            scope = found.scope
        vector, recall, ranked = self._ranked(plan, scope, watch)
        second = cursor.second if cursor else self._second_scores(plan, found, ranked, watch)
        number = cursor.page if cursor else 0
        with watch.stage("answer"):
            ranked = blended(ranked, second) if second else ranked
            page = cut_page(ranked, request.top_k, request.max_per_file, number)
            answer = self._answer(plan, found, recall, page, ranked)
        return replace(
            answer,
            degraded=self._degraded(vector is None and bool(scope.views) and not plan.lists_commits, second),
            next_cursor=self._next_cursor(request, scope, number, second) if page.has_more else None,
            took_ms=round(sum(watch.stages.values()), 1),
            stages=watch.stages,
        )

    def _ranked(
        self, plan: QueryPlan, scope: VersionScope, watch: _Stopwatch
    ) -> tuple[Vector | None, Recall, list[Ranked]]:
        """Return the vector of the query, the candidates, and those that match, best first."""
        if not scope.views:
            return None, Recall({}), []
        if plan.lists_commits:
            with watch.stage("recall"):
                return None, Recall({}), newest_commits(self.store, plan, scope.snapshot)
        with watch.stage("embed"):
            vector = self.embed(plan)
        with watch.stage("recall"):
            recall = self.store.recall(recall_query(plan, scope.snapshot, vector))
        with watch.stage("rank"):
            return vector, recall, ranked_matches(plan, recall)

    def _second_scores(
        self, plan: QueryPlan, found: Located, ranked: Sequence[Ranked], watch: _Stopwatch
    ) -> SecondScores | None:
        """Return the second stage's scores for the best candidates, or None if the search does not use it."""
        if self._second is None or not plan.request.rerank or not ranked or plan.lists_commits:
            return None
        with watch.stage("rerank"):
            chunks = chunks_to_rescore(ranked, self._second.candidate_count)
            named = {chunk.repo for chunk in chunks if chunk.repo in found.repositories}
            return self._second.score(plan.text, chunks, {name: found.repositories[name].origin for name in named})

    def _degraded(self, without_embedding: bool, second: SecondScores | None) -> tuple[str, ...]:
        warnings = (second.warning,) if second and second.warning else ()
        return (*self.without_embedding, *warnings) if without_embedding else warnings

    def head(self) -> Head:
        """Return the current head document, limited to what the principal may see."""
        return self.catalog.head()

    def embed(self, plan: QueryPlan) -> Vector | None:
        """Return the vector of a query, or None if the model fails."""
        vector = embed(self.embedder, plan.text, self._health.breaker)
        self._health.embeds = vector is not None
        return vector

    def locate(self, plan: QueryPlan, as_of: AsOf | None = None) -> Located:
        """Return the scope of a plan in the current index; raise the errors of ``resolve``."""
        selection = plan.selection
        if plan.request.repos:
            head = self.head()
            directory = Directory(head, self.catalog.repositories(head), self._roots)
            selection = versions_of(plan.request.repos, directory, selection)
        return locate(self.catalog, selection, as_of)

    def _located(self, plan: QueryPlan, cursor: Cursor | None) -> Located:
        request = plan.request
        as_of = cursor.as_of if cursor else None
        if request.min_commit:
            wanted, wait_ms = request.min_commit, request.wait_ms
            with self.waiting_places.taken(self.rest) as pause:
                found = await_commit(self.store, self.catalog, lambda: self.locate(plan, as_of), wanted, wait_ms, pause)
        else:
            found = self.locate(plan, as_of)
        if cursor and cursor.timelines != digest(found.scope.timelines):
            raise UsageError("the index was rebuilt after the cursor was issued; omit the cursor to start again")
        return found

    def _read_cursor(self, request: SearchRequest) -> Cursor | None:
        if request.cursor is None:
            return None
        cursor = decode_cursor(request.cursor, self.seal())
        if cursor.query != _query_digest(request):
            raise UsageError("the cursor belongs to another search; repeat the query, filters and sizes of that search")
        return cursor

    def _next_cursor(
        self, request: SearchRequest, scope: VersionScope, number: int, second: SecondScores | None
    ) -> str | None:
        if number + 1 >= MAX_PAGES:
            return None
        as_of, query = AsOf(scope.at, scope.open), _query_digest(request)
        return encode_cursor(Cursor(number + 1, as_of, query, digest(scope.timelines), second), self.seal())

    def _answer(
        self, plan: QueryPlan, found: Located, recall: Recall, page: ResultPage, ranked: Sequence[Ranked]
    ) -> SearchAnswer:
        hits = tuple(self._hits(plan, found, recall, page.hits, ranked))
        shown = {(hit.repo, hit.ref) for hit in hits if hit.ref is not None}
        states = list(scope_states(self.catalog, found.head, found.scope, found.repositories, shown))
        why = Emptiness("") if hits else self._why_empty(plan, found.scope, states)
        return SearchAnswer(
            results=hits,
            freshness=tuple(state.freshness() for state in states),
            versions_searched=found.scope.version_count,
            reason=why.reason or None,
            suggestion=why.suggestion,
        )

    def _hits(
        self, plan: QueryPlan, found: Located, recall: Recall, items: Sequence[Ranked], ranked: Sequence[Ranked]
    ) -> Iterator[Hit]:
        places = placements(self.store, found.scope, [*map(_found, items)], map(_found, ranked))
        for item in items:
            repo = item.candidate.chunk.repo
            explanation = explain(item, recall) if plan.request.explain else None
            origin = found.repositories[repo].origin if repo in found.repositories else ""
            place = places[item.id]
            is_code = not plan.selection.documents
            owners = (
                self._code_owners.of(place.chunk.path, place.view, self.store, found.scope.hidden) if is_code else ()
            )
            yield make_hit(item, place, origin, explanation, owners)

    def _why_empty(self, plan: QueryPlan, scope: VersionScope, states: Sequence[RepositoryState]) -> Emptiness:
        """Return why nothing was found; only empty answers pay for the round trip that looks for misspellings."""
        near = self.store.recall(near_query(plan, scope.snapshot)) if scope.views else Recall({})
        return why_empty(
            plan, states, near.candidates.values(), lambda filters: self.store.count(scope.snapshot, filters)
        )


def _found(item: Ranked) -> FoundDeclaration:
    others = tuple(other.candidate.chunk for other in item.others)
    return FoundDeclaration(item.candidate.chunk, others, {other.id: other.score for other in item.others})


def ranked_matches(plan: QueryPlan, recall: Recall) -> list[Ranked]:
    """Return the recalled candidates, best first, or none if no candidate matches the query."""
    ranked = rank(plan, recall)
    return ranked if has_match(plan, ranked) else []


def _query_digest(request: SearchRequest) -> str:
    filters = {name: list(values) for name, values in request.filters.items()}
    repos = [list(astuple(version)) for version in request.repos]
    return digest(request.query, request.top_k, filters, request.max_per_file, request.include_tests, repos)
