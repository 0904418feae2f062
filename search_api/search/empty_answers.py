"""Why an answer is empty, and what to try instead."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from codequarry.search_api.answers.freshness import IMPORTING
from codequarry.search_api.query.commit_filters import shown_day
from codequarry.search_api.query.plan import QueryPlan
from codequarry.search_api.versions.freshness import RepositoryState
from codequarry.shared.model import COMMIT_DOCUMENTS, Candidate, CommitFilters, Filters, PathGlobs

# Minimum similarity of a suggested name to the name or word in the query (difflib's ratio).
MIN_LIKENESS = 0.75
MAX_SUGGESTIONS = 3
NOTHING_INDEXED = "not indexed yet"

CountMatches = Callable[[Filters], int]
"""Returns how many chunks in scope match the filters."""


@dataclass(frozen=True, slots=True)
class Emptiness:
    """The reason why nothing was found, and a suggestion if there is one."""

    reason: str
    suggestion: str | None = None


def why_empty(
    plan: QueryPlan, states: Sequence[RepositoryState], near: Iterable[Candidate], count: CountMatches
) -> Emptiness:
    """Return why nothing was found: the first reason that applies, from repositories to filters to words."""
    importing = [state for state in states if state.state == IMPORTING]
    ready = [state for state in states if state.indexed_commit]
    progress = ", ".join(f"{state.name} {state.percent or 0} %" for state in importing)
    if importing and not ready:
        return Emptiness(f"importing: {progress}", "search again when the import is done")
    if not states and plan.selection.excluded_repos:
        return Emptiness(f"filter leaves nothing: repo is not {', '.join(plan.selection.excluded_repos)}")
    if not ready:
        return Emptiness(NOTHING_INDEXED, "index a repository: codequarry index PATH_OR_URL")
    guess = did_you_mean(plan, near)
    filters = plan.selection.filters
    if plan.selection.documents and not count(Filters(terms=(("symbol_type", COMMIT_DOCUMENTS),))):
        return Emptiness("no commits are indexed here", "set [history] commits above 0 and index again")
    if filters != Filters() and not count(filters):
        return Emptiness(f"filter leaves nothing: {_blame(filters, count)}", guess or "remove or change a filter")
    if importing:
        return Emptiness(f"no match; still importing: {progress}", guess)
    return Emptiness("no match", guess or "use other words, or the name of a symbol or file")


def _blame(filters: Filters, count: CountMatches) -> str:
    """Return the filters that match nothing on their own, or all filters if only their combination matches nothing."""
    singles = dict(_single_filters(filters))
    guilty = [shown for shown, single in singles.items() if not count(single)]
    return "; ".join(guilty) if guilty else "only the combination of " + " and ".join(singles)


def _single_filters(filters: Filters) -> Iterable[tuple[str, Filters]]:
    for name, values in filters.terms:
        shown = "type" if name == "symbol_type" and set(values) <= set(COMMIT_DOCUMENTS) else name
        yield f"{shown} = {', '.join(values)}", Filters(terms=((name, values),))
    for name, values in filters.excluded:
        yield f"{name} is not {', '.join(values)}", Filters(excluded=((name, values),))
    yield from _commit_filters(filters.commits)
    if filters.paths.include:
        yield f"path = {', '.join(filters.paths.include)}", Filters(paths=PathGlobs(filters.paths.include))
    if filters.paths.exclude:
        yield f"path is not {', '.join(filters.paths.exclude)}", Filters(paths=PathGlobs((), filters.paths.exclude))


def _commit_filters(commits: CommitFilters) -> Iterable[tuple[str, Filters]]:
    if commits.authors:
        yield f"author = {commits.authors[0]}", Filters(commits=CommitFilters(authors=commits.authors))
    if commits.excluded:
        yield f"author is not {commits.excluded[0]}", Filters(commits=CommitFilters(excluded=commits.excluded))
    if commits.since is not None:
        yield f"since {shown_day(commits.since)}", Filters(commits=CommitFilters(since=commits.since))
    if commits.until is not None:
        yield f"until {shown_day(commits.until)}", Filters(commits=CommitFilters(until=commits.until))


def did_you_mean(plan: QueryPlan, near: Iterable[Candidate]) -> str | None:
    """Suggest symbols of the candidates that resemble names or words in the query."""
    known: dict[str, str] = {}
    for candidate in near:
        chunk = candidate.chunk
        for name in (chunk.symbol_name, *chunk.defines):
            if name:
                known.setdefault(name.lower(), name)
    asked = [name.last for name in plan.names] or plan.text.split()
    found = [
        known[match]
        for word in asked
        for match in get_close_matches(word.lower(), known, MAX_SUGGESTIONS, MIN_LIKENESS)
        if known[match] != word
    ]
    names = list(dict.fromkeys(found))[:MAX_SUGGESTIONS]
    return f"did you mean {', '.join(names)}?" if names else None
