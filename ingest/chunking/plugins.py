"""Chunkers from other packages: loaded when a file of their language is read.

docs/chunkers.md describes them for those who write one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, version

from codequarry.ingest.chunking.facts import MAX_CALLS, MAX_DEFINES, MAX_IMPORTS, MAX_REFERENCES
from codequarry.ingest.chunking.installed_plugins import GROUP, ChunkerPlugin
from codequarry.ingest.chunking.pieces import Piece, Sizes
from codequarry.ingest.chunking.plain import parts_of
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.ingest.chunking.text import SourceText
from codequarry.shared.errors import CodequarryError
from codequarry.shared.model import SYMBOL_TYPES, SymbolType


@dataclass(frozen=True, slots=True)
class PluginChunk:
    """A chunk as a plug-in describes it: it begins at ``line``, counted from 1, and ends before the next one.

    The other fields are those of a stored chunk, with ``name`` for ``symbol_name``, ``kind`` for ``symbol_kind`` and
    ``type`` for ``symbol_type``. If it is too large, it is cut into parts.
    """

    line: int
    name: str | None = None
    qualified_name: str | None = None
    kind: str | None = None
    type: SymbolType = "block"
    signature: str | None = None
    context: str = ""
    doc: str = ""
    defines: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()


PluginFunction = Callable[[str, str], Iterable[PluginChunk] | None]
"""Takes the text and the path of a file; returns its chunks in order, or None if the file should be cut by lines."""


class PluginFailed(Exception):
    """A plug-in raised an error or returned something else than chunks; the message names the plug-in."""


def plugin_pieces(plugin: ChunkerPlugin, source: SourceFile, text: SourceText, sizes: Sizes) -> list[Piece] | None:
    """Cut a file with a plug-in; return None if the plug-in leaves it to us.

    Raise PluginFailed for any error of the plug-in, CodequarryError if it is not installed here in its version.
    """
    _check_version(plugin)
    try:
        found = _function(plugin)(source.text, source.path)
        chunks = None if found is None else _checked(list(found), text.rows)
    except (Exception, SystemExit) as error:
        raise PluginFailed(f"the plug-in {plugin} failed: {type(error).__name__}: {error}") from error
    return None if chunks is None else _pieces(chunks, text, sizes)


@cache
def _check_version(plugin: ChunkerPlugin) -> None:
    """Raise CodequarryError if this process sees another version than the one that decided which files to cut."""
    try:
        here = version(plugin.package)
    except PackageNotFoundError:
        here = ""
    if here != plugin.version:
        state = f"has {plugin.package} {here}" if here else "does not have it"
        raise CodequarryError(
            f"the run cuts {plugin.language} with the plug-in {plugin}, but this process {state}; install the same "
            "version wherever files are indexed, and restart services and workers"
        )


def _function(plugin: ChunkerPlugin) -> PluginFunction:
    loaded: PluginFunction = EntryPoint(plugin.language, plugin.target, GROUP).load()
    return loaded


def _checked(chunks: Sequence[object], rows: int) -> list[PluginChunk]:
    """Return a plug-in's chunks; raise ValueError or TypeError if they are not chunks in order, within the file."""
    checked: list[PluginChunk] = []
    last = 0
    for chunk in chunks:
        if not isinstance(chunk, PluginChunk):
            raise TypeError(f"it returned {type(chunk).__name__} instead of PluginChunk")
        if not last < chunk.line <= rows:
            raise ValueError(f"line {chunk.line} is not between {last + 1} and {rows}, the lines that are left")
        if chunk.type not in SYMBOL_TYPES:
            raise ValueError(f"'{chunk.type}' is no type of symbol")
        last = chunk.line
        checked.append(_plain(chunk))
    return checked


def _plain(chunk: PluginChunk) -> PluginChunk:
    """Return a chunk whose lists have only strings, and not too many."""
    return replace(
        chunk,
        defines=tuple(map(str, chunk.defines))[:MAX_DEFINES],
        references=tuple(map(str, chunk.references))[:MAX_REFERENCES],
        calls=tuple(map(str, chunk.calls))[:MAX_CALLS],
        imports=tuple(map(str, chunk.imports))[:MAX_IMPORTS],
    )


def _pieces(chunks: Sequence[PluginChunk], text: SourceText, sizes: Sizes) -> list[Piece]:
    """Return pieces that cover all rows: those above the first chunk are a chunk without a name."""
    head = [] if chunks and chunks[0].line == 1 else [PluginChunk(1)]
    borders = [*head, *chunks]
    ends = [chunk.line - 1 for chunk in borders[1:]] + [text.rows]
    return [part for chunk, end in zip(borders, ends, strict=True) for part in _parts(chunk, end, text, sizes)]


def _parts(chunk: PluginChunk, end: int, text: SourceText, sizes: Sizes) -> list[Piece]:
    whole = Piece(
        chunk.line - 1,
        end,
        chunk.type,
        kind=chunk.kind,
        name=chunk.name,
        qualified=chunk.qualified_name or chunk.name,
        signature=chunk.signature,
        context=chunk.context,
        doc=chunk.doc,
        defines=chunk.defines,
        references=chunk.references,
        calls=chunk.calls,
        imports=chunk.imports,
    )
    return parts_of(whole, text, sizes)
