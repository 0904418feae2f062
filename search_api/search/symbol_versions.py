"""Which versions have a symbol: with which text, and which versions lack it. It reads the store, not the ranking."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from codequarry.search_api.answers.hits import HitVersion
from codequarry.search_api.answers.symbol_versions import (
    DeclaredSymbol,
    Lack,
    LackingVersion,
    SymbolText,
    SymbolVersions,
)
from codequarry.search_api.query.names import Name
from codequarry.search_api.query.symbol_request import SymbolRequest
from codequarry.search_api.ranking.declarations import Declarations, VersionedDeclaration
from codequarry.search_api.search.cursor import digest
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.search.hits import chunk_url
from codequarry.search_api.search.pages import Page
from codequarry.search_api.versions.membership import records_by_version, versions_by_blob
from codequarry.search_api.versions.resolution import Located
from codequarry.search_api.versions.views import View
from codequarry.shared.errors import UsageError
from codequarry.shared.model import INDEXED, Chunk, FileRecord, Filters

# A name with more chunks than this, in all versions together, needs a filter.
MAX_CHUNKS = 20_000
_SEPARATOR = re.compile(r"\.|::|->|#|/|\\")


def symbol_versions(engine: SearchEngine, request: SymbolRequest) -> SymbolVersions:
    """Return a page of the declarations of a symbol, each with the versions that have or lack it.

    Raise UsageError for a name that is too common, and the errors of ``Page.located``.
    """
    filters = {key: list(values) for key, values in request.filters.items()}
    query = digest("symbol", request.name.qualified, filters, request.limit)
    page = Page.located(engine, request.selection, request.cursor, query, request.limit)
    declared = list(_declared(engine, page.found, request))
    shown, next_cursor = page.cut(declared)
    return SymbolVersions(
        declarations=tuple(item.answer() for item in shown),
        total=len(declared),
        versions_searched=page.found.scope.version_count,
        next_cursor=next_cursor,
    )


def _declared(engine: SearchEngine, found: Located, request: SymbolRequest) -> Iterator["_Declared"]:
    """Yield the declarations of every repository, by path and place in the file."""
    filters = request.selection.filters
    # Only the first part of a long declaration defines its symbol; all parts bear its name.
    both = (
        Filters((*filters.terms, (field, (request.name.last,))), filters.excluded, filters.paths)
        for field in ("defines", "symbol_name")
    )
    known = [engine.store.find(found.scope.snapshot, named, MAX_CHUNKS + 1) for named in both]
    chunks = {chunk.id: chunk for part in known for chunk in part}.values()
    if len(chunks) > MAX_CHUNKS:
        raise UsageError(
            f"'{request.name.qualified}' has more than {MAX_CHUNKS:,} declarations; name a repository or a path"
        )
    by_repo: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        if is_declared_in(chunk, request.name):
            by_repo.setdefault(chunk.repo, []).append(chunk)
    for repo, of_repo in sorted(by_repo.items()):
        repository = found.repositories.get(repo)
        views = found.scope.views[repo]
        paths = {chunk.path for chunk in of_repo}
        records = records_by_version(engine.store, views, found.scope.hidden, paths)
        for path in sorted(paths):
            file = _File(views, records[path], request.name, repository.origin if repository else "")
            yield from file.declarations([chunk for chunk in of_repo if chunk.path == path])


def is_declared_in(chunk: Chunk, name: Name) -> bool:
    """Return whether a chunk is the declaration of a symbol, or holds it among others."""
    if is_declaration(chunk, name):
        return True
    if chunk.symbol_name == name.last or name.last not in chunk.defines:
        return False
    around = _parts(chunk)
    return around[-len(name.scope) :] == name.scope if around and name.scope else set(name.scope) <= {*chunk.defines}


def is_declaration(chunk: Chunk, name: Name) -> bool:
    """Return whether a chunk is the declaration of a symbol: the end of its qualified name is the name."""
    wanted = (*name.scope, name.last)
    return chunk.symbol_name == name.last and _parts(chunk)[-len(wanted) :] == wanted


def _symbol(chunk: Chunk, name: Name) -> str:
    """Return the qualified name of a symbol whose declaration a chunk is or holds."""
    if is_declaration(chunk, name):
        return chunk.qualified_name or name.last
    return ".".join((*_parts(chunk), name.last)) if _parts(chunk) else name.qualified


@dataclass(frozen=True, slots=True)
class _Declared:
    """A declaration at one path, and each of its texts with the versions that have it."""

    file: "_File"
    declaration: VersionedDeclaration

    def answer(self) -> DeclaredSymbol:
        """Return it as it is shown; every chunk is in at least one version."""
        holders = versions_by_blob(self.file.records)
        texts = [
            sorted(
                ((position, chunk) for chunk in chunks for position in holders[chunk.blob]), key=lambda place: place[0]
            )
            for chunks in self.declaration.texts.values()
        ]
        texts.sort(key=lambda places: places[0][0])
        having = {position for places in texts for position, _ in places}
        first, name = texts[0][0][1], self.file.name
        others = (position for position in range(len(self.file.views)) if position not in having)
        return DeclaredSymbol(
            repo=first.repo,
            path=first.path,
            language=first.language,
            symbol=_symbol(first, name),
            symbol_type=first.symbol_type,
            texts=tuple(map(self._text, texts)),
            lacking=tuple(map(self.file.lacking, others)),
        )

    def _text(self, places: Sequence[tuple[int, Chunk]]) -> SymbolText:
        position, chunk = places[0]
        return SymbolText(
            versions=tuple(self.file.version(place, at) for place, at in places),
            id=chunk.id,
            blob=chunk.blob,
            content_hash=chunk.content_hash,
            start_line=chunk.start_line,
            end_line=chunk.end_line,
            signature=chunk.signature,
            shared=not is_declaration(chunk, self.file.name),
            url=chunk_url(self.file.origin, self.file.views[position], chunk),
        )


@dataclass(frozen=True, slots=True)
class _File:
    """One path in all versions of a repository."""

    views: Sequence[View]
    records: Sequence[FileRecord | None]
    name: Name
    origin: str

    def declarations(self, chunks: Sequence[Chunk]) -> list[_Declared]:
        """Return the declarations of the symbol in this file, in file order."""
        first = {blob: positions[0] for blob, positions in versions_by_blob(self.records).items()}
        known = sorted(
            (chunk for chunk in chunks if chunk.blob in first),
            key=lambda chunk: (first[chunk.blob], chunk.ordinal, chunk.start_char),
        )
        declarations = Declarations()
        own = _with_parts_joined(chunk for chunk in known if is_declaration(chunk, self.name))
        declarations.add(own)
        found = list({id(item): item for item in map(declarations.of, own)}.values())
        rest = [chunk for chunk in known if not is_declaration(chunk, self.name) and not _add_shared(found, chunk)]
        declarations.add(rest)
        found += {id(item): item for item in map(declarations.of, rest)}.values()
        return [_Declared(self, item) for item in found]

    def version(self, position: int, chunk: Chunk) -> HitVersion:
        """Return a version, with the lines of a chunk."""
        view = self.views[position]
        return HitVersion(view.ref.name, view.commit, chunk.start_line, chunk.end_line)

    def lacking(self, position: int) -> LackingVersion:
        """Return a version that has no chunk of the declaration, and what it lacks."""
        record, view = self.records[position], self.views[position]
        lack: Lack = "declaration missing"
        if record is None:
            lack = "file missing"
        elif record.verdict != INDEXED:
            lack = "file skipped"
        return LackingVersion(view.ref.name, view.commit, lack)


def _with_parts_joined(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return the chunks, with the parts of each long declaration as one: an edit moves the ends of all later parts."""
    found: list[Chunk] = []
    for chunk in chunks:
        last = found[-1] if found else chunk
        follows = chunk.symbol_part is not None and not chunk.symbol_part.startswith("1/")
        if found and follows and (last.blob, last.qualified_name) == (chunk.blob, chunk.qualified_name):
            text = last.text + chunk.text[max(0, last.end_char - chunk.start_char) :]
            digest_of_text = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            found[-1] = replace(
                last, text=text, content_hash=digest_of_text, end_line=chunk.end_line, end_char=chunk.end_char
            )
        else:
            found.append(chunk)
    return found


def _add_shared(found: Sequence[VersionedDeclaration], chunk: Chunk) -> bool:
    """Add a chunk that holds the symbol among others to its declaration, and return whether that is known.

    Only file versions without a chunk of its own need it. A text that the chunk contains is the same text, at those
    lines.
    """
    around = _parts(chunk)
    scopes = {id(item): _parts(_first_chunk(item))[:-1] for item in found}
    # A whole file in one chunk does not say what its declarations are in.
    fitting = [item for item in found if scopes[id(item)] == around] or ([] if around else list(found))
    lacking = [item for item in fitting if chunk.blob not in item.blobs]
    for item in lacking:
        item.put(next(filter(None, (_inside(chunk, texts[0]) for texts in item.texts.values())), chunk))
    return bool(fitting)


def _first_chunk(declaration: VersionedDeclaration) -> Chunk:
    return next(iter(declaration.texts.values()))[0]


def _parts(chunk: Chunk) -> tuple[str, ...]:
    return tuple(filter(None, _SEPARATOR.split(chunk.qualified_name or chunk.symbol_name or "")))


def _inside(chunk: Chunk, part: Chunk) -> Chunk | None:
    """Return a part's text as a chunk at the lines at which another chunk has it, or None if it does not."""
    text = part.text.strip("\n")
    at = f"\n{chunk.text}\n".find(f"\n{text}\n")
    if not text or at < 0:
        return None
    start = chunk.start_line + chunk.text[:at].count("\n")
    return replace(part, id=chunk.id, blob=chunk.blob, start_line=start, end_line=start + text.count("\n"))
