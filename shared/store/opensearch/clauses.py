"""Translates field filters and writes into query clauses, and combines clauses. Pure functions."""

import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any

from codequarry.shared.filters import accepted_values, check_filters, glob_to_regex
from codequarry.shared.model import CommitFilters, Filters, PathGlobs
from codequarry.shared.versions.snapshots import OPEN

EngineClause = dict[str, Any]

# OpenSearch's own limit (index.max_terms_count) is 65,536 terms in one clause.
MAX_TERMS = 65_536
# Paths per request. OpenSearch accepts more, but a lost request is sent again in full.
PATHS_PER_REQUEST = 1_000
# OpenSearch refuses queries of more than 1,024 clauses; the rest is left for the words and filters of a search.
MAX_SNAPSHOT_CLAUSES = 600
# Limit on a glob's automaton: the server's default, set explicitly because globs come from clients.
MAX_AUTOMATON_STATES = 10_000

NUMBERS = frozenset({"timeline", "born", "died", "commit_day"})
FIRST_STRIDE: EngineClause = {"term": {"first_stride": True}}
NOTHING: EngineClause = {"match_none": {}}


def filter_clauses(filters: Filters) -> tuple[list[EngineClause], list[EngineClause]]:
    """Return the clauses that ``filters`` require and those that they exclude; raise errors like ``check_filters``."""
    check_filters(filters)
    required = [any_value(name, accepted_values(name, values)) for name, values in filters.terms]
    refused = [any_value(name, accepted_values(name, values)) for name, values in filters.excluded]
    included, excluded = _path_clauses(filters.paths)
    commits = filters.commits
    by_author = [any_of(list(map(_author_clause, commits.authors)))] if commits.authors else []
    by_others = list(map(_author_clause, commits.excluded))
    return [*required, *included, *by_author, *_day_clauses(commits)], [*refused, *excluded, *by_others]


def _author_clause(name: str) -> EngineClause:
    # Lower-case on both sides. A repository has few authors, so few terms are compared.
    literal = re.sub(r"[*?\\]", r"\\\g<0>", name)
    return {"wildcard": {"author": {"value": f"*{literal}*"}}}


def _day_clauses(commits: CommitFilters) -> list[EngineClause]:
    bounds = {"gte": commits.since, "lte": commits.until}
    given = {name: day for name, day in bounds.items() if day is not None}
    return [{"range": {"commit_day": given}}] if given else []


def _path_clauses(paths: PathGlobs) -> tuple[list[EngineClause], list[EngineClause]]:
    included = [_glob_clause(glob) for glob in paths.include]
    return [any_of(included)] if included else [], [_glob_clause(glob) for glob in paths.exclude]


def globs_clause(globs: PathGlobs) -> EngineClause:
    """Return the clause for paths that match."""
    included, excluded = _path_clauses(globs)
    return all_of(included or [{"match_all": {}}], excluded)


def _glob_clause(glob: str) -> EngineClause:
    # Without flags, OpenSearch supports only the common regex operators, and `glob_to_regex` uses no others.
    return {
        "regexp": {
            "path": {"value": glob_to_regex(glob), "flags": "NONE", "max_determinized_states": MAX_AUTOMATON_STATES}
        }
    }


def search_clause(live: EngineClause, filters: Filters, *more: EngineClause) -> EngineClause:
    """Return the clause for the ``live`` rows that match ``filters`` and every clause in ``more``."""
    required, refused = filter_clauses(filters)
    return all_of([live, *required, *more], refused)


def written_clause(timeline: int, number: int) -> EngineClause:
    """Return the clause for rows and records that a transaction wrote."""
    return all_of([{"term": {"timeline": timeline}}, {"term": {"born": number}}])


def retired_clause(timeline: int, number: int) -> EngineClause:
    """Return the clause for rows and records that a transaction retired."""
    return all_of([{"term": {"timeline": timeline}}, {"term": {"died": number}}])


def retirable_clause(timeline: int, number: int, paths: Collection[str], aborted: Collection[int]) -> EngineClause:
    """Return the clause for rows and records that ``number`` must still retire on ``paths`` (rule 3)."""
    return all_of(
        [
            {"term": {"timeline": timeline}},
            {"range": {"born": {"lt": number}}},
            any_value("died", sorted({OPEN, *aborted} - {number})),
            any_value("path", sorted(paths)),
        ]
    )


def collectable_clause(timeline: int, after: int, until: int, aborted: Collection[int]) -> EngineClause:
    """Return the clause for rows and records that ``Store.collect`` deletes."""
    required: list[EngineClause] = [
        {"term": {"timeline": timeline}},
        {"range": {"born": {"gt": after}}},
        {"range": {"died": {"lte": until}}},
    ]
    return all_of(required, [any_value("died", sorted(aborted))] if aborted else None)


def all_of(required: list[EngineClause], refused: list[EngineClause] | None = None) -> EngineClause:
    """Return a clause, without scores, for documents that match all of ``required`` and none of ``refused``."""
    return {"bool": {"filter": required, **({"must_not": refused} if refused else {})}}


def any_of(clauses: list[EngineClause]) -> EngineClause:
    """Return a clause for documents that match any of ``clauses``."""
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


def count_clauses(clause: EngineClause) -> int:
    """Return an upper bound on the number of clauses that the engine counts in a clause.

    A pattern, and a list or range of numbers, count as two clauses; a range that covers all rows or none, as fewer.
    """
    inside = clause.get("bool")
    if inside is None:
        named = clause.get("terms", {}).keys() | clause.get("range", {}).keys()
        return 2 if {"regexp", "wildcard"} & clause.keys() or NUMBERS & named else 1
    parts = (part for name, part in inside.items() if name != "minimum_should_match")
    return sum(count_clauses(inner) for part in parts for inner in part)


def any_value(field: str, values: Collection[Any]) -> EngineClause:
    """Return a clause for documents whose ``field`` has any of ``values``, however many there are."""
    parts = list(_split(list(values)))
    clauses: list[EngineClause] = [{"terms": {field: part}} for part in parts]
    return clauses[0] if len(clauses) == 1 else any_of(clauses) if clauses else NOTHING


def _split(values: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(values), MAX_TERMS):
        yield values[start : start + MAX_TERMS]


def paths_per_request(paths: Collection[str]) -> Iterator[list[str]]:
    """Yield the sorted paths in lists, each small enough for one request."""
    rest = iter(sorted(set(paths)))
    while part := list(islice(rest, PATHS_PER_REQUEST)):
        yield part
