"""The query plan, made before any engine is queried: words, names, paths and filters."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from codequarry.search_api.query.language import ParsedQuery, parse_query
from codequarry.search_api.query.names import Name, find_names, find_paths, symbol_queries
from codequarry.search_api.query.request import SearchRequest
from codequarry.search_api.query.selection import Selection, select
from codequarry.search_api.query.terms import TermGroup, term_groups
from codequarry.shared.filters import check_filters
from codequarry.shared.identifiers import iter_tokens
from codequarry.shared.model import CommitFilters, KindOfFile

# A query with one of these words asks for files of that kind; they then keep their full weight.
_KIND_WORDS: dict[KindOfFile, str] = {
    "test": "test tests testing tested unittest unittests spec specs mock mocks mocked fixture fixtures",
    "example": "example examples sample samples demo demos tutorial snippet",
    "generated": "generated",
    "vendored": "vendor vendored",
    "docs": "doc docs documentation readme changelog guide tutorial manual license contributing",
    "config": "yaml yml toml json ini dockerfile makefile docker ci workflow pipeline build packaging dependencies",
    "lock": "lock lockfile",
}
# A question for whole files: "which file parses cookies", "the module that opens sockets", "the file for locks".
_FILE_QUESTION = re.compile(
    r"\b(?:which|what)\s+(?:\w+\s+)?(?:files?|modules?|scripts?)\b"
    r"|\b(?:files?|modules?|scripts?)\s+(?:that|which|where|with|for|responsible)\b",
    re.IGNORECASE,
)
KIND_WORDS = {kind: frozenset(words.split()) for kind, words in _KIND_WORDS.items()}


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A parsed request. ``text`` is the text to embed; ``words`` are all its plain words, lower-case.

    ``asks_for_files`` is set if the query asks for whole files, which their summaries answer best.
    """

    request: SearchRequest
    selection: Selection
    text: str
    phrases: tuple[str, ...]
    groups: tuple[TermGroup, ...]
    names: tuple[Name, ...]
    paths: tuple[str, ...]
    words: frozenset[str]
    kinds_asked: frozenset[KindOfFile]
    has_words: bool = True
    asks_for_files: bool = False

    @property
    def lists_commits(self) -> bool:
        """Whether the newest commits are wanted, because the query has only filters."""
        return bool(self.selection.documents) and not self.has_words

    @property
    def is_narrowed(self) -> bool:
        """Whether the caller narrowed the search with filters."""
        selection, filters = self.selection, self.selection.filters
        terms = [name for name, _ in filters.terms if not (selection.documents and name == "symbol_type")]
        chosen = selection.repos or self.request.repos
        return bool(terms or filters.paths.include or filters.commits != CommitFilters() or chosen)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names to look up in the symbol channel."""
        return symbol_queries(self.names)


def make_plan(request: SearchRequest) -> QueryPlan:
    """Parse a request; raise UsageError or UnknownName for an invalid query or filter."""
    parsed = parse_query(request.query)
    selection = select(request.filters, parsed.clauses, request.include_tests)
    check_filters(selection.filters)
    text = parsed.text or _text_of_filters(parsed)
    words = frozenset(iter_tokens(text))
    return QueryPlan(
        request=request,
        selection=selection,
        text=text,
        phrases=parsed.phrases,
        groups=term_groups(text),
        names=tuple(dict.fromkeys((*selection.symbols, *find_names(text)))),
        paths=find_paths(text),
        words=words,
        kinds_asked=frozenset(_kinds_asked(words)),
        has_words=bool(parsed.text),
        asks_for_files=bool(_FILE_QUESTION.search(text)),
    )


def _text_of_filters(parsed: ParsedQuery) -> str:
    """Return the text to search for if a query has only filters: their values."""
    values = [clause.value for clause in parsed.clauses if not clause.negated]
    return " ".join(values) or " ".join(clause.value for clause in parsed.clauses)


def _kinds_asked(words: frozenset[str]) -> Iterable[KindOfFile]:
    return (kind for kind, kind_words in KIND_WORDS.items() if kind_words & words)
