"""The table of formats: which function cuts files of a language."""

from collections.abc import Callable, Mapping

from codequarry.ingest.chunking.code import code_pieces
from codequarry.ingest.chunking.formats.asciidoc import asciidoc_pieces
from codequarry.ingest.chunking.formats.entry_pieces import Entries, entry_pieces
from codequarry.ingest.chunking.formats.ini import ini_entries, properties_entries
from codequarry.ingest.chunking.formats.json import json_entries
from codequarry.ingest.chunking.formats.latex import latex_pieces
from codequarry.ingest.chunking.formats.markup import html_entries, xml_entries
from codequarry.ingest.chunking.formats.notebook import notebook_pieces
from codequarry.ingest.chunking.formats.restructuredtext import restructuredtext_pieces
from codequarry.ingest.chunking.formats.sql import sql_pieces
from codequarry.ingest.chunking.formats.toml import toml_entries
from codequarry.ingest.chunking.formats.yaml import yaml_entries
from codequarry.ingest.chunking.grammar import MAX_PARSED_BYTES, spec_for
from codequarry.ingest.chunking.markdown import markdown_pieces
from codequarry.ingest.chunking.pieces import Piece, Sizes
from codequarry.ingest.chunking.plain import plain_pieces
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.ingest.chunking.text import SourceText

Cutter = Callable[[SourceFile, SourceText, Sizes], list[Piece] | None]
"""Cuts a file into pieces that cover all its rows in order; returns None if it can't read the file."""


def _code(source: SourceFile, text: SourceText, sizes: Sizes) -> list[Piece] | None:
    spec = spec_for(source.language, source.path, source.text)
    return code_pieces(spec, source.path, text, sizes) if spec is not None else None


def _entries_by(read: Callable[[SourceText], Entries]) -> Cutter:
    return lambda source, text, sizes: entry_pieces(read(text), text, sizes)


def _document_by(cut: Callable[[SourceText, Sizes], list[Piece] | None]) -> Cutter:
    return lambda source, text, sizes: cut(text, sizes)


def _notebook(source: SourceFile, text: SourceText, sizes: Sizes) -> list[Piece] | None:
    return notebook_pieces(source, text, sizes, pieces_of) or entry_pieces(json_entries(text), text, sizes)


CUTTERS: Mapping[str, Cutter] = {
    "markdown": _document_by(markdown_pieces),
    "restructuredtext": _document_by(restructuredtext_pieces),
    "asciidoc": _document_by(asciidoc_pieces),
    "tex": lambda source, text, sizes: latex_pieces(text, sizes, source.path),
    "sql": _document_by(sql_pieces),
    "plsql": _document_by(sql_pieces),
    "yaml": _entries_by(yaml_entries),
    "json": _entries_by(json_entries),
    "json with comments": _entries_by(json_entries),
    "json5": _entries_by(json_entries),
    "jupyter notebook": _notebook,
    "toml": _entries_by(toml_entries),
    "ini": _entries_by(ini_entries),
    "dotenv": _entries_by(ini_entries),
    "properties": _entries_by(properties_entries),
    "html": _entries_by(html_entries),
    "xml": _entries_by(xml_entries),
    "svg": _entries_by(xml_entries),
}
"""The formats with a function of their own. All other languages are code, or plain text if they have no grammar."""


def pieces_of(source: SourceFile, text: SourceText, sizes: Sizes) -> list[Piece]:
    """Cut a file by its language; what can't be read, or is too large for that, is cut by lines."""
    cutter = CUTTERS.get(source.language, _code)
    found = cutter(source, text, sizes) if len(text.data) <= MAX_PARSED_BYTES else None
    return found if found is not None else plain_pieces(source.language, text, sizes)
