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
    sections = _sections(piece, text) if piece.qualified and piece.kind == "section" else ()
    links = links_in(text.between(piece.start, piece.end), source.language, source.path, piece.start + 1)
    if sections:
        links = [link._replace(within=sections[0].path) for link in links]
    symbols = Symbols(sections, tuple(links))
    names = dict.fromkeys((*piece.references, *(link.name for link in links)))
    return replace(piece, references=tuple(names), symbols=defined_names(symbols), relations=encode(symbols))


def _sections(piece: Piece, text: SourceText) -> tuple[Definition, ...]:
    """Return the section of a piece, and the small sections below its own that share the piece."""
    titles = tuple((piece.qualified or "").split(_BELOW))
    own = Definition(titles, "documentation", "section", piece.start + 1, max(piece.end, piece.start + 1))
    others = [title for title in piece.defines if title != titles[-1]]
    rows = range(piece.start, piece.end)
    lines = {title: next((row + 1 for row in rows if title in text.lines[row]), piece.start + 1) for title in others}
    return (
        own,
        *(Definition((*titles[:-1], title), "documentation", "section", line, line) for title, line in lines.items()),
    )
