"""Two versions compared by one question: what was added, removed, moved or changed among the hits."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from codequarry.search_api.answers.comparison import CHANGES, Change, ComparisonAnswer, Difference
from codequarry.search_api.answers.freshness import Freshness
from codequarry.search_api.answers.hits import VersionedChunk
from codequarry.search_api.query.diff_request import DiffRequest
from codequarry.search_api.query.plan import QueryPlan, make_plan
from codequarry.search_api.query.version_query import VersionQuery, VersionSpecifier
from codequarry.search_api.search.counterparts import Side, is_unchanged, moved_from, same_place
from codequarry.search_api.search.engine import SearchEngine, ranked_matches
from codequarry.search_api.search.hits import versioned_chunk
from codequarry.search_api.search.recall import recall_query
from codequarry.search_api.versions.catalog import CatalogPast
from codequarry.search_api.versions.freshness import ready_state
from codequarry.search_api.versions.resolution import Located
from codequarry.search_api.versions.scope import resolve
from codequarry.shared.arrays import Vector
from codequarry.shared.errors import NotIndexed
from codequarry.shared.model import INDEXED, Chunk
from codequarry.shared.versions.head import Head

# The hits of each version that are looked at, best first: what is further down has little to do with the question.
DEPTH = 200


@dataclass(frozen=True, slots=True)
class _Found:
    """What became of one piece of code between two versions; None where a version does not have it."""

    change: Change
    score: float
    before: Chunk | None
    after: Chunk | None

    @property
    def chunk(self) -> Chunk:
        """The piece as it is now, or as it was."""
        chunk = self.after or self.before
        assert chunk is not None, "it is in one of the versions"
        return chunk


def compare(engine: SearchEngine, request: DiffRequest) -> ComparisonAnswer:
    """Answer a comparison; errors as ``SearchEngine.search``, and NotIndexed where no repository has both versions."""
    started = perf_counter()
    plan = make_plan(request.search)
    before, after = _located(engine, plan, request)
    vector = engine.embed(plan)
    found: list[_Found] = []
    old = _hits(engine, plan, before, vector)
    new = _hits(engine, plan, after, vector)
    for repo in sorted({*old, *new}):
        sides = _side(engine, before, repo), _side(engine, after, repo)
        found += _differences(*sides, old.get(repo, {}), new.get(repo, {}))
    counts = Counter(one.change for one in found)
    wanted = [one for one in found if request.all or one.change != "unchanged"]
    shown = _cut(sorted(wanted, key=_order), request.search.top_k, request.search.max_per_file)
    return ComparisonAnswer(
        results=tuple(_difference(one, before, after) for one in shown),
        counts={change: counts[change] for change in CHANGES},
        freshness=(*_freshness(engine, before), *_freshness(engine, after)),
        degraded=() if vector is not None else engine.without_embedding,
        reason=None if shown else "no hit differs" if found else "no match in either version",
        took_ms=round((perf_counter() - started) * 1000, 1),
    )


def _located(engine: SearchEngine, plan: QueryPlan, request: DiffRequest) -> tuple[Located, Located]:
    """Return both versions as of one head document, each in the repositories that have both."""
    head = engine.head()
    names = plan.selection.repos
    both: list[Located] = []
    for text in (request.before, request.after):
        both.append(_at(engine, plan, head, text, names))
    names = tuple(sorted(both[0].scope.views.keys() & both[1].scope.views.keys()))
    if not names:
        one, other = (", ".join(sorted(found.scope.views)) for found in both)
        raise NotIndexed(f"no repository has both: '{request.before}' is in {one}, '{request.after}' in {other}")
    before, after = (_at(engine, plan, head, text, names) for text in (request.before, request.after))
    return before, after


def _at(engine: SearchEngine, plan: QueryPlan, head: Head, text: str, names: tuple[str, ...]) -> Located:
    repositories = engine.catalog.repositories(head, names)
    selection = replace(plan.selection, repos=names, version=VersionQuery((VersionSpecifier("ref", text),)))
    past = CatalogPast(engine.catalog, head)
    return Located(head, repositories, resolve(head, repositories, selection, past))


ScoredChunks = dict[str, tuple[float, Chunk]]
"""Hits of one version of one repository: score and chunk by the chunk's id."""


def _hits(engine: SearchEngine, plan: QueryPlan, found: Located, vector: Vector | None) -> dict[str, ScoredChunks]:
    recall = engine.store.recall(recall_query(plan, found.scope.snapshot, vector))
    hits: dict[str, ScoredChunks] = defaultdict(dict)
    for item in ranked_matches(plan, recall)[:DEPTH]:
        hits[item.candidate.chunk.repo][item.id] = (item.score, item.candidate.chunk)
    return hits


def _side(engine: SearchEngine, found: Located, repo: str) -> Side:
    return Side(engine.store, found.scope.views[repo][0], found.scope.hidden)


def _differences(before: Side, after: Side, old: ScoredChunks, new: ScoredChunks) -> Iterator[_Found]:
    """Yield what became of every hit of either version, each piece of code once."""
    pairs = [
        *_matched(after, before, new, turned=True),
        *_matched(before, after, old, turned=False),
    ]
    seen: dict[tuple[object, ...], _Found] = {}
    for one in sorted(pairs, key=lambda one: -one.score):
        seen.setdefault(_key(one), one)
    yield from seen.values()


def _key(one: _Found) -> tuple[object, ...]:
    """Return what is the same where one piece of code was found from both sides."""
    if one.change == "unchanged":
        return one.change, one.chunk.path, one.chunk.text.strip()
    return one.change, one.before and one.before.id, one.after and one.after.id


def _matched(here: Side, there: Side, hits: ScoredChunks, *, turned: bool) -> Iterator[_Found]:
    """Yield what the hits of one version are in the other; ``turned`` where ``here`` is the newer one."""
    same_files = _same_files(here, there, {chunk.path for _, chunk in hits.values()})
    absent: list[tuple[float, Chunk]] = []
    for score, chunk in hits.values():
        if chunk.path in same_files or is_unchanged(chunk, there):
            yield _Found("unchanged", score, chunk, chunk)
        elif other := same_place(chunk, there):
            yield _pair("changed", score, chunk, other, turned=turned)
        else:
            absent.append((score, chunk))
    moved = moved_from([chunk for _, chunk in absent], here, there)
    for score, chunk in absent:
        if other := moved.get(chunk.id):
            yield _pair("moved", score, chunk, other, turned=turned)
        elif turned:
            yield _Found("added", score, None, chunk)
        else:
            yield _Found("removed", score, chunk, None)


def _same_files(here: Side, there: Side, paths: set[str]) -> set[str]:
    """Return the paths whose file is the very same in both versions."""
    one, other = (
        {
            (file.path, file.blob)
            for file in side.store.files(side.view.snapshot(side.hidden), paths)
            if file.verdict == INDEXED
        }
        for side in (here, there)
    )
    return {path for path, _ in one & other}


def _pair(change: Change, score: float, chunk: Chunk, other: Chunk, *, turned: bool) -> _Found:
    return _Found(change, score, other, chunk) if turned else _Found(change, score, chunk, other)


def _order(one: _Found) -> tuple[float, str, str, int, str]:
    chunk = one.chunk
    return -one.score, chunk.repo, chunk.path, chunk.start_line, one.change


def _cut(found: Sequence[_Found], top_k: int, max_per_file: int) -> list[_Found]:
    """Return the best, at most ``max_per_file`` of a file as long as others fill the answer."""
    crowding: Counter[tuple[str, str]] = Counter()
    turns: list[tuple[int, _Found]] = []
    for one in found:
        place = (one.chunk.repo, one.chunk.path)
        crowding[place] += 1
        turns.append((max(0, crowding[place] - max_per_file), one))
    chosen = sorted(turns, key=lambda turn: turn[0])[:top_k]
    return sorted((one for _, one in chosen), key=_order)


def _difference(one: _Found, before: Located, after: Located) -> Difference:
    chunk = one.chunk
    return Difference(
        change=one.change,
        score=one.score,
        repo=chunk.repo,
        path=chunk.path,
        symbol=chunk.qualified_name or chunk.symbol_name,
        before=_at_version(one.before, before),
        after=_at_version(one.after, after),
    )


def _at_version(chunk: Chunk | None, found: Located) -> VersionedChunk | None:
    if chunk is None:
        return None
    repository = found.repositories.get(chunk.repo)
    return versioned_chunk(chunk, found.scope.views[chunk.repo][0], repository.origin if repository else "")


def _freshness(engine: SearchEngine, found: Located) -> Iterable[Freshness]:
    for name, views in found.scope.views.items():
        for view in views:
            yield ready_state(engine.catalog, found.head, view, found.repositories.get(name)).freshness()
