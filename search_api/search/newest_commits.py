"""Lists the documents of commits that pass the filters, newest first: the answer to a query without words."""

from dataclasses import replace

from codequarry.search_api.query.commit_filters import today
from codequarry.search_api.query.plan import QueryPlan
from codequarry.search_api.ranking.scoring import Ranked
from codequarry.search_api.ranking.signals import Signals
from codequarry.shared.model import Candidate, Filters, Snapshot, Tokens
from codequarry.shared.store.port import Store

# The documents of a span of days are read before they are sorted. A day of a busy project has fewer.
MOST_READ = 2_000
# As many as can be paged through with the default page of 20 (``engine.MAX_PAGES``): 33 ms, instead of 7 ms for 100
# (embedded store, 1,225 documents).
MOST_LISTED = 1_000
# Every document fits a query that has only filters.
FITS = 1.0


def newest_commits(store: Store, plan: QueryPlan, snapshot: Snapshot, limit: int = MOST_LISTED) -> list[Ranked]:
    """Return the newest ``limit`` documents, newest first; more than ``MOST_READ`` of one day are not all looked at."""
    filters = plan.selection.filters
    first = _first_day(store, snapshot, filters, limit)
    found = store.find(snapshot, _since(filters, first), MOST_READ)
    in_place = sorted(found, key=lambda chunk: (chunk.repo, chunk.path, chunk.ordinal))
    newest = sorted(in_place, key=lambda chunk: chunk.commit_date or "", reverse=True)[:limit]
    return [Ranked(Candidate(chunk, Tokens(), None), FITS, Signals(), 1.0) for chunk in newest]


def _first_day(store: Store, snapshot: Snapshot, filters: Filters, limit: int) -> int:
    """Return the latest day since which there are ``limit`` documents, or the first day of all."""
    earliest = filters.commits.since or 0
    newest = _day_after(filters)
    span = 1
    # Spans grow until one has enough. So recent commits, which are usually wanted, take few counts.
    while newest - span > earliest and store.count(snapshot, _since(filters, newest - span)) < limit:
        span *= 2
    enough, few = max(earliest, newest - span), newest - span // 2
    while few - enough > 1:
        middle = (enough + few) // 2
        if store.count(snapshot, _since(filters, middle)) < limit:
            few = middle
        else:
            enough = middle
    return enough


def _day_after(filters: Filters) -> int:
    """Return the day after the last one; commits from the future, by wrong clocks, are in every span."""
    return (today() if filters.commits.until is None else filters.commits.until) + 1


def _since(filters: Filters, day: int) -> Filters:
    return replace(filters, commits=replace(filters.commits, since=day))
