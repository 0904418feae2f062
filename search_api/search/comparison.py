"""Compares two versions by one query: which hits were added, removed, moved or changed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

from codequarry.search_api.answers.comparison import CHANGES, Change, ComparisonAnswer, Difference
from codequarry.search_api.answers.freshness import Freshness
from codequarry.search_api.answers.hits import VersionedChunk
from codequarry.search_api.query.diff_request import DiffRequest
from codequarry.search_api.query.plan import QueryPlan, make_plan
from codequarry.search_api.search.compared_versions import locate_both
from codequarry.search_api.search.counterparts import Side, change_of, is_unchanged, same_place
from codequarry.search_api.search.engine import SearchEngine, ranked_matches
from codequarry.search_api.search.hits import versioned_chunk
from codequarry.search_api.search.move_candidates import find_moves
from codequarry.search_api.search.recall import recall_query
from codequarry.search_api.versions.freshness import ready_state
from codequarry.search_api.versions.resolution import Located
from codequarry.shared.arrays import Vector
from codequarry.shared.model import INDEXED, Chunk

# The number of best hits compared in each version; those further down have little to do with the query.
DEPTH = 200


@dataclass(frozen=True, slots=True)
class _Found:
    """What happened to one piece of code; ``before`` or ``after`` is None if that version does not have it."""

    change: Change
    score: float
    before: Chunk | None
    after: Chunk | None

    @property
    def chunk(self) -> Chunk:
        """The new chunk, or the old one if it was removed."""
        chunk = self.after or self.before
        assert chunk is not None, "the code is in at least one version"
        return chunk


def compare(engine: SearchEngine, request: DiffRequest) -> ComparisonAnswer:
    """Answer a comparison; raise the errors of ``SearchEngine.search`` and of ``locate_both``."""
    started = perf_counter()
    plan = make_plan(request.search)
    versions = locate_both(engine, plan, request)
    before, after = versions.before, versions.after
    vector = engine.embed(plan)
    found: list[_Found] = []
    old = _hits(engine, plan, before, vector)
    new = _hits(engine, plan, after, vector)
    for repo in sorted({*old, *new}):
        sides = _side(engine, before, repo), _side(engine, after, repo)
        found += _differences(*sides, old.get(repo, {}), new.get(repo, {}))
    counts = Counter(match.change for match in found)
    wanted = [match for match in found if request.all or match.change != "unchanged"]
    shown = _cut(sorted(wanted, key=_order), request.search.top_k, request.search.max_per_file)
    return ComparisonAnswer(
        results=tuple(_difference(match, before, after) for match in shown),
        counts={change: counts[change] for change in CHANGES},
        freshness=(*_freshness(engine, before), *_freshness(engine, after)),
        merge_bases=versions.merge_bases,
        degraded=() if vector is not None else engine.without_embedding,
        reason=None if shown else "no hit differs" if found else "no match in either version",
        took_ms=round((perf_counter() - started) * 1000, 1),
    )


ScoredChunks = dict[str, tuple[float, Chunk]]
"""Hits in one version of one repository: score and chunk by chunk id."""


def _hits(engine: SearchEngine, plan: QueryPlan, found: Located, vector: Vector | None) -> dict[str, ScoredChunks]:
    recall = engine.store.recall(recall_query(plan, found.scope.snapshot, vector))
    hits: dict[str, ScoredChunks] = defaultdict(dict)
    # A summary changes with its file: the declarations that changed are the differences.
    code = [item for item in ranked_matches(plan, recall) if not item.candidate.chunk.is_summary]
    for item in code[:DEPTH]:
        hits[item.candidate.chunk.repo][item.id] = (item.score, item.candidate.chunk)
    return hits


def _side(engine: SearchEngine, found: Located, repo: str) -> Side:
    return Side(engine.store, found.scope.views[repo][0], found.scope.hidden)


def _differences(before: Side, after: Side, old: ScoredChunks, new: ScoredChunks) -> Iterator[_Found]:
    """Yield what happened to each hit in either version; each piece of code appears once."""
    found: list[_Found] = []
    removed = _absent(before, after, old, found, reverse=False)
    added = _absent(after, before, new, found, reverse=True)
    scores = {chunk.id: score for hits in (old, new) for score, chunk in hits.values()}
    moves = find_moves(removed, added, before, after)
    for pieces in moves:
        score = max(scores.get(pieces.before.id, 0.0), scores.get(pieces.after.id, 0.0))
        found.append(_Found(change_of(pieces, after), score, pieces.before, pieces.after))
    known = {chunk.id for pieces in moves for chunk in (pieces.before, pieces.after)}
    found += [_Found("removed", scores[chunk.id], chunk, None) for chunk in removed if chunk.id not in known]
    found += [_Found("added", scores[chunk.id], None, chunk) for chunk in added if chunk.id not in known]
    seen: dict[tuple[object, ...], _Found] = {}
    for match in sorted(found, key=lambda match: -match.score):
        seen.setdefault(_key(match), match)
    yield from seen.values()


def _key(match: _Found) -> tuple[object, ...]:
    """Return a key that is equal for the same piece of code found from both sides."""
    if match.change == "unchanged":
        return match.change, match.chunk.path, match.chunk.text.strip()
    return match.change, match.before and match.before.id, match.after and match.after.id


def _absent(here: Side, there: Side, hits: ScoredChunks, found: list[_Found], *, reverse: bool) -> list[Chunk]:
    """Return the hits in ``here`` that ``there`` lacks at their path, and add the others to ``found``.

    ``reverse`` if ``here`` is the newer version.
    """
    same_files = _same_files(here, there, {chunk.path for _, chunk in hits.values()})
    absent: list[Chunk] = []
    for score, chunk in hits.values():
        if chunk.path in same_files or is_unchanged(chunk, there):
            found.append(_Found("unchanged", score, chunk, chunk))
        elif other := same_place(chunk, there):
            pair = (other, chunk) if reverse else (chunk, other)
            found.append(_Found("changed", score, *pair))
        else:
            absent.append(chunk)
    return absent


def _same_files(here: Side, there: Side, paths: set[str]) -> set[str]:
    files, others = (
        {
            (file.path, file.blob)
            for file in side.store.files(side.view.snapshot(side.hidden), paths)
            if file.verdict == INDEXED
        }
        for side in (here, there)
    )
    return {path for path, _ in files & others}


def _order(match: _Found) -> tuple[float, str, str, int, str]:
    chunk = match.chunk
    return -match.score, chunk.repo, chunk.path, chunk.start_line, match.change


def _cut(found: Sequence[_Found], top_k: int, max_per_file: int) -> list[_Found]:
    """Return the best ``top_k``; a file has more than ``max_per_file`` only if other files can't fill the answer."""
    crowding: Counter[tuple[str, str]] = Counter()
    turns: list[tuple[int, _Found]] = []
    for match in found:
        place = (match.chunk.repo, match.chunk.path)
        crowding[place] += 1
        turns.append((max(0, crowding[place] - max_per_file), match))
    chosen = sorted(turns, key=lambda turn: turn[0])[:top_k]
    return sorted((match for _, match in chosen), key=_order)


def _difference(match: _Found, before: Located, after: Located) -> Difference:
    chunk = match.chunk
    return Difference(
        change=match.change,
        score=match.score,
        repo=chunk.repo,
        path=chunk.path,
        symbol=chunk.qualified_name or chunk.symbol_name,
        before=_at_version(match.before, before),
        after=_at_version(match.after, after),
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
