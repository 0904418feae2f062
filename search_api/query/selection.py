"""A search's selection: the request's filters combined with those in its query."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from codequarry.search_api.query.commit_filters import (
    AUTHOR,
    COMMIT_AUTHOR,
    COMMIT_DATE,
    OF_COMMITS,
    SINCE,
    TYPE,
    UNTIL,
    AskedCommits,
    asked_commits,
)
from codequarry.search_api.query.filters import MAX_FILTER_VALUES, VERSION_FILTERS, FilterValues
from codequarry.search_api.query.language import Clause, kind_field, language_id
from codequarry.search_api.query.names import Name, split_name
from codequarry.search_api.query.version_query import SpecifierKind, VersionQuery, VersionSpecifier
from codequarry.shared.errors import UsageError
from codequarry.shared.model import CommitDocument, Filters, PathGlobs
from codequarry.shared.versions.commit_log import log_globs

_GLOB = "*?["
Terms = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Selection:
    """The repositories that a search covers (all if empty), their version, and the filters on their chunks."""

    repos: tuple[str, ...] = ()
    excluded_repos: tuple[str, ...] = ()
    version: VersionQuery = field(default_factory=VersionQuery)
    versions: tuple[tuple[str, VersionQuery], ...] = ()  # repositories with their own versions, instead of the above
    filters: Filters = field(default_factory=Filters)
    symbols: tuple[Name, ...] = ()
    documents: tuple[CommitDocument, ...] = ()  # the documents of commits that are searched instead of code

    @property
    def chooses_kind(self) -> bool:
        """Whether the caller chose kinds of files or paths: ranking then demotes no kind of file."""
        return bool(self.filters.paths.include) or any(
            name in ("kind_of_file", "symbol_type", "blob", "id") for name, _ in self.filters.terms
        )


def select(filters: FilterValues, clauses: Iterable[Clause], include_tests: bool) -> Selection:
    """Combine the body's filters with those in the query; both must match."""
    wanted, excluded = _from_clauses(clauses)
    commits = _commits(filters, wanted, excluded)
    terms = [(name, values) for name, values in filters.items() if name not in _NOT_TERMS]
    terms += [(name, values) for name, values in wanted.items() if name not in _NOT_TERMS]
    without = [(name, values) for name, values in excluded.items() if name not in _NOT_TERMS]
    if not include_tests:
        without.append(("kind_of_file", ("test",)))
    paths = _paths(filters.get("path", ()), wanted, excluded)
    if commits.documents:
        terms.append(("symbol_type", commits.documents))
        paths = _paths_of_diffs(paths, commits.documents)
    return Selection(
        repos=_both(filters.get("repo", ()), wanted.get("repo", ())),
        excluded_repos=excluded.get("repo", ()),
        version=_version(filters, wanted),
        filters=Filters(tuple(terms), tuple(without), paths, commits.filters),
        symbols=tuple(name for value in wanted.get("symbol", ()) if (name := split_name(value))),
        documents=commits.documents,
    )


# Filters that become the scope, path globs or ranking names instead of terms.
_NOT_TERMS = frozenset({"repo", "path", "symbol", *VERSION_FILTERS, TYPE, *OF_COMMITS})


def _commits(filters: FilterValues, wanted: Terms, excluded: Terms) -> AskedCommits:
    """Return the documents of commits that are asked for, with the filters on them."""
    if name := next((name for name in (TYPE, SINCE, UNTIL) if name in excluded), ""):
        raise UsageError(f"'-{name}:' excludes nothing; name what to search instead")
    types, since, until = ((*filters.get(name, ()), *wanted.get(name, ())) for name in (TYPE, SINCE, UNTIL))
    days = filters.get(COMMIT_DATE, ())
    if len(days) > 1:
        raise UsageError(f"the filter '{COMMIT_DATE}' takes one day; use since and until for several")
    since, until = (*since, *days), (*until, *days)
    authors = _both(filters.get(AUTHOR, ()), wanted.get(AUTHOR, ()))
    authors = _both(authors, filters.get(COMMIT_AUTHOR, ()))
    return asked_commits(types, authors, excluded.get(AUTHOR, ()), since, until)


def _paths_of_diffs(paths: PathGlobs, documents: tuple[CommitDocument, ...]) -> PathGlobs:
    """Return the globs for the changed files; a message has no path."""
    if paths == PathGlobs():
        return paths
    if "diff" not in documents:
        raise UsageError("a commit's message has no path; search its changes with type:diff, or leave the path out")
    return log_globs(paths)


def _from_clauses(clauses: Iterable[Clause]) -> tuple[Terms, Terms]:
    wanted: Terms = {}
    excluded: Terms = {}
    for clause in clauses:
        if clause.negated and clause.word in VERSION_FILTERS:
            raise UsageError(f"'-{clause.word}:' can't exclude versions; name the versions to search instead")
        into = excluded if clause.negated else wanted
        for name, value in _fields(clause):
            into[name] = (*into.get(name, ()), value)
    return wanted, excluded


def _fields(clause: Clause) -> list[tuple[str, str]]:
    if clause.word == "lang":
        return [("language", language_id(clause.value))]
    if clause.word == "kind":
        return [(kind_field(clause.value), clause.value)]
    if clause.word == "symbol":
        name = split_name(clause.value)
        if name is None:
            raise UsageError(f"'symbol:{clause.value}' is not the name of a symbol")
        return [("defines", name.last), ("symbol", clause.value)]
    return [(clause.word, clause.value)]


def _version(filters: FilterValues, wanted: Terms) -> VersionQuery:
    """Return the requested versions; if both the body and the query name versions, those in both."""
    both = {name: _both(filters.get(name, ()), wanted.get(name, ()), patterns=True) for name in VERSION_FILTERS}
    for kind in ("branch", "tag"):
        if both[kind] and both["ref"]:
            # A ref may be a branch or a tag: names in both lists count as such.
            both[kind] = _both(both[kind], both["ref"], patterns=True)
    if both["branch"] or both["tag"]:
        both["ref"] = ()
    asked: dict[SpecifierKind, tuple[VersionSpecifier, ...]] = {
        kind: tuple(VersionSpecifier(kind, text) for text in both[kind]) for kind in VERSION_FILTERS
    }
    return VersionQuery(asked["branch"] + asked["tag"] + asked["ref"], asked["commit"])


def _both(first: tuple[str, ...], second: tuple[str, ...], *, patterns: bool = False) -> tuple[str, ...]:
    """Return the values in both lists, or with ``patterns`` matched by the other; an empty list allows all values."""
    if not first or not second:
        return first or second
    both = tuple(value for value in first if value in second)
    if patterns:
        both += tuple(
            value
            for values, others in ((first, second), (second, first))
            for value in values
            if value not in both and any(fnmatchcase(value, other) for other in others)
        )
    if not both:
        raise UsageError(f"the filters contradict each other: {', '.join(first)} and {', '.join(second)}")
    return both


def _paths(globs: tuple[str, ...], wanted: Terms, excluded: Terms) -> PathGlobs:
    include = tuple(glob for glob in globs if not glob.startswith("!"))
    exclude = tuple(glob[1:] for glob in globs if glob.startswith("!"))
    asked = tuple(_as_glob(value) for value in wanted.get("path", ()))
    if include and asked:
        raise UsageError("give paths in the query or in filters.path, not in both")
    chosen = PathGlobs(include or asked, exclude + tuple(_as_glob(value) for value in excluded.get("path", ())))
    if len(chosen.include) + len(chosen.exclude) > MAX_FILTER_VALUES:
        raise UsageError(f"a search takes at most {MAX_FILTER_VALUES} included and excluded paths; use fewer globs")
    return chosen


def _as_glob(value: str) -> str:
    """Return the glob for ``path:value``; a value without wildcards matches anywhere, but not across folders."""
    if any(char in value for char in _GLOB):
        return value
    if value.startswith("/"):
        return value
    folder = value.endswith("/")
    inside = value.strip("/")
    return f"**/{inside}/" if folder else f"**/*{inside}*"
