"""Adds to the pieces of a document its sections and links, so that documents have a graph too."""

from dataclasses import replace

from codequarry.ingest.chunking.links import LINKING_LANGUAGES, links_in
from codequarry.ingest.chunking.pieces import Piece
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.ingest.chunking.text import SourceText
from codequarry.shared.relations import Definition, Symbols, defined_names, encode

# Between the titles of a section's qualified name.
_BELOW = " > "


def with_links(piece: Piece, source: SourceFile, text: SourceText) -> Piece:
    """Return a piece of a document with its section and links; other pieces are returned unchanged."""
    if piece.relations or source.language not in LINKING_LANGUAGES:
        return piece
    section = _section(piece) if piece.qualified and piece.kind == "section" else None
    links = links_in(text.between(piece.start, piece.end), source.language, source.path, piece.start + 1)
    if section is not None:
        links = [replace(link, within=section.path) for link in links]
    symbols = Symbols((section,) if section is not None else (), tuple(links))
    names = dict.fromkeys((*piece.references, *(link.name for link in links)))
    return replace(piece, references=tuple(names), symbols=defined_names(symbols), relations=encode(symbols))


def _section(piece: Piece) -> Definition:
    titles = tuple((piece.qualified or "").split(_BELOW))
    return Definition(titles, "documentation", "section", piece.start + 1, max(piece.end, piece.start + 1))
