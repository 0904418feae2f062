"""The chunks nearest to a vector by similarity only, without the words and rules of a search."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from codequarry.search_api.answers.freshness import Freshness
from codequarry.search_api.answers.hits import NearChunk
from codequarry.search_api.query.filters import read_filters
from codequarry.search_api.query.selection import select
from codequarry.search_api.search.hits import near_chunk
from codequarry.search_api.search.placement import FoundDeclaration, placements
from codequarry.search_api.versions.catalog import Catalog
from codequarry.search_api.versions.freshness import scope_states
from codequarry.search_api.versions.resolution import Located, locate
from codequarry.shared.arrays import Vector
from codequarry.shared.errors import NotIndexed
from codequarry.shared.filters import check_filters
from codequarry.shared.model import Candidate
from codequarry.shared.store.records import RecallQuery


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Candidates with their similarity, nearest first, and the scope that was searched."""

    candidates: Sequence[Candidate]
    located: Located


def nearest_chunks(catalog: Catalog, vector: Vector, filters: object, limit: int) -> Neighbours:
    """Return the ``limit`` chunks nearest to a vector of length one; ``filters`` are those of a search.

    Raise NotIndexed if nothing that the filters name is published yet, and the errors of ``locate``.
    """
    selection = select(read_filters(filters), (), include_tests=True)
    check_filters(selection.filters)
    located = locate(catalog, selection)
    if not located.scope.views:
        where = f" of {', '.join(located.scope.pending)}" if located.scope.pending else ""
        raise NotIndexed(f"nothing{where} is indexed yet; index a repository: codequarry index PATH_OR_URL")
    query = RecallQuery(located.scope.snapshot, selection.filters, vector, vector_limit=limit)
    recall = catalog.store.recall(query)
    found = [recall.candidates[chunk_id] for chunk_id in recall.by_vector]
    return Neighbours(sorted(found, key=lambda candidate: -(candidate.similarity or 0.0))[:limit], located)


def near_chunks(catalog: Catalog, found: Neighbours) -> Iterator[NearChunk]:
    """Yield each chunk with its similarity and the fields of a hit."""
    located = found.located
    chunks = [FoundDeclaration(candidate.chunk) for candidate in found.candidates]
    places = placements(catalog.store, located.scope, chunks, chunks)
    for candidate in found.candidates:
        known = located.repositories.get(candidate.chunk.repo)
        place = places[candidate.chunk.id]
        yield near_chunk(replace(candidate, chunk=place.chunk), place.view, known.origin if known else "")


def neighbour_freshness(catalog: Catalog, found: Neighbours) -> tuple[Freshness, ...]:
    """Return the freshness of the scope, in the form of a search answer."""
    located = found.located
    repos = {candidate.chunk.repo for candidate in found.candidates} & located.scope.views.keys()
    shown = {(repo, located.scope.views[repo][0].ref.name) for repo in repos}
    states = scope_states(catalog, located.head, located.scope, located.repositories, shown)
    return tuple(state.freshness() for state in states)
