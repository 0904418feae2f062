"""When the declarations of a symbol appeared, changed, moved and vanished among the indexed heads, from rows alone."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from codequarry.search_api.answers.symbol_history import DeclarationHistory, SymbolHistory
from codequarry.search_api.query.names import Name
from codequarry.search_api.query.symbol_request import SymbolRequest
from codequarry.search_api.search.cursor import Cursor, digest, encode_cursor, read_cursor
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.search.history.declared_texts import declared_texts
from codequarry.search_api.search.history.events import HistoryTeller
from codequarry.search_api.search.history.lineage import DeclaringFile, Lineage, State, follow
from codequarry.search_api.versions.catalog import CatalogHistory
from codequarry.search_api.versions.indexed_heads import indexed_heads, timelines_of
from codequarry.search_api.versions.lookup import VersionLine, lines_of
from codequarry.search_api.versions.resolution import Located, locate
from codequarry.search_api.versions.views import AsOf, Moment, View, branch_of
from codequarry.shared.errors import UsageError
from codequarry.shared.filters import accepted_values, path_matches
from codequarry.shared.model import Chunk, Filters
from codequarry.shared.store.records import StoredRow
from codequarry.shared.versions.snapshots import OPEN

# A name with more rows than this, dead and alive, needs a filter; they take about 5 kB each.
MAX_ROWS = 50_000
NO_GIT = "the service reads only the index; `codequarry log --git` asks git about earlier commits"


def symbol_history(engine: SearchEngine, request: SymbolRequest) -> SymbolHistory:
    """Return a page of the events of a symbol's declarations, those that exist first.

    Raise UsageError for a cursor of another request or a name that is too common, and the errors of ``locate``.
    """
    filters = {key: list(values) for key, values in request.filters.items()}
    query = digest("history", request.name.qualified, filters, request.limit)
    cursor = read_cursor(request.cursor, engine.seal(), query)
    found = locate(engine.catalog, request.selection, cursor.as_of if cursor else None)
    versions = _versions(engine, found)
    timelines = digest([version.identity for version in versions])
    if cursor is not None and cursor.timelines != timelines:
        raise UsageError("commits were dropped after the cursor was issued; omit the cursor to start again")
    histories = sorted(_histories(engine, versions, request), key=_order)
    number = cursor.page if cursor else 0
    start, total = number * request.limit, sum(len(history.events) for history in histories)
    more = Cursor(number + 1, AsOf(found.scope.at, found.scope.open), query, timelines)
    return SymbolHistory(
        declarations=tuple(_page(histories, start, request.limit)),
        total=len(histories),
        total_events=total,
        next_cursor=encode_cursor(more, engine.seal()) if start + request.limit < total else None,
        beyond_reason=NO_GIT,
    )


@dataclass(frozen=True, slots=True)
class _Version:
    """A version whose history is told, all lines of its repository, and the timelines that may hold its rows."""

    moment: Moment
    view: View
    lines: Sequence[VersionLine]
    timelines: frozenset[int]
    origin: str

    @property
    def identity(self) -> list[list[int]]:
        """The timelines and the oldest number that each still has; a cursor is valid while they do not change."""
        states = self.moment.head.timelines
        return [[timeline, states[timeline].floor] for timeline in sorted(self.timelines) if timeline in states]


def _versions(engine: SearchEngine, found: Located) -> list[_Version]:
    head = found.head
    moment = Moment(head, CatalogHistory(engine.catalog, head), found.scope.at, found.scope.open)
    versions: list[_Version] = []
    for repo, views in sorted(found.scope.views.items()):
        lines = lines_of(moment, repo, branch_of(head, found.repositories, repo), head.of_repo(repo))
        known = found.repositories.get(repo)
        for view in views:
            timelines = frozenset(timelines_of(moment, lines, view))
            versions.append(_Version(moment, view, lines, timelines, known.origin if known else ""))
    return versions


def _histories(
    engine: SearchEngine, versions: Sequence[_Version], request: SymbolRequest
) -> Iterator[DeclarationHistory]:
    if not versions:
        return
    moment = versions[0].moment
    rows = list(islice(_visible_rows(engine, moment, versions, request.name), MAX_ROWS + 1))
    if len(rows) > MAX_ROWS:
        raise UsageError(
            f"'{request.name.qualified}' has more than {MAX_ROWS:,} rows in the history of these repositories; name "
            "one repository and one branch"
        )
    lives: dict[int, list[DeclaringFile]] = {}
    for life in _file_lives(rows, request.name, moment.hidden):
        lives.setdefault(life.timeline, []).append(life)
    for version in versions:
        if any(timeline in lives for timeline in version.timelines):
            yield from _histories_of(version, lives, request.selection.filters)


def _visible_rows(
    engine: SearchEngine, moment: Moment, versions: Sequence[_Version], name: Name
) -> Iterator[StoredRow]:
    """Yield the rows that declare the symbol at paths that the principal may see; no other row counts (rule 15)."""
    head = moment.head
    timelines = {timeline for version in versions for timeline in version.timelines} & head.timelines.keys()
    for stored in engine.store.symbol_lives(timelines, name.last):
        allowed = head.allowed.get(head.timelines[stored.row.timeline].repo, ())
        if not allowed or any(path_matches(globs, stored.row.chunk.path) for globs in allowed):
            yield stored


def _file_lives(rows: Sequence[StoredRow], name: Name, hidden: Collection[int]) -> Iterator[DeclaringFile]:
    """Yield the file versions that declare the symbol, without what open and aborted transactions did."""
    together: dict[tuple[str, int, int, int], list[Chunk]] = {}
    for stored in rows:
        row = stored.row
        if row.born not in hidden:
            died = OPEN if stored.died in hidden else stored.died
            together.setdefault((row.chunk.path, row.timeline, row.born, died), []).append(row.chunk)
    for place, chunks in together.items():
        if texts := declared_texts(chunks, name):
            yield DeclaringFile(*place, texts)


def _histories_of(
    version: _Version, lives: Mapping[int, Sequence[DeclaringFile]], filters: Filters
) -> Iterator[DeclarationHistory]:
    heads = indexed_heads(version.moment, version.lines, version.view)
    teller = HistoryTeller(version.moment.past, version.view, heads, version.origin)
    for lineage in follow([_state(head.view, lives) for head in heads.heads]):
        if _fits(lineage, filters):
            yield teller.tell(lineage)


def _state(view: View, lives: Mapping[int, Sequence[DeclaringFile]]) -> State:
    """Return the files of a view (rule 12): the base's without the masked paths, and its own."""
    files: dict[str, DeclaringFile] = {}
    if view.base is not None:
        timeline, number = view.base
        files = {life.path: life for life in _live(lives, timeline, number) if life.path not in view.mask}
    return files | {life.path: life for life in _live(lives, view.timeline, view.number)}


def _live(lives: Mapping[int, Sequence[DeclaringFile]], timeline: int, number: int) -> list[DeclaringFile]:
    return [life for life in lives.get(timeline, ()) if life.born <= number < life.died]


def _fits(lineage: Lineage, filters: Filters) -> bool:
    """Return whether any text of a declaration matches the filters, so that it is followed wherever it moved."""
    texts = [text for event in lineage.events for text in (event.before, event.after) if text is not None]
    languages = [accepted_values(name, values) for name, values in filters.terms if name == "language"]
    return any(
        path_matches(filters.paths, text.chunk.path) and all(text.chunk.language in accepted for accepted in languages)
        for text in texts
    )


def _order(history: DeclarationHistory) -> tuple[object, ...]:
    text = history.events[0].after or history.events[0].before
    return not history.exists, history.repo, history.ref, history.path, text.start_line if text else 0


def _page(histories: Sequence[DeclarationHistory], start: int, limit: int) -> Iterator[DeclarationHistory]:
    """Yield the declarations with events ``start`` to ``start + limit``, counted over all of them."""
    done = 0
    for history in histories:
        first, last = max(0, start - done), start + limit - done
        events = history.events[first : max(first, last)]
        done += len(history.events)
        if events:
            yield replace(history, events=events)
