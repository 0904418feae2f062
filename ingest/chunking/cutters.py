"""The table of formats: which function cuts files of a language.

The modules of the formats are loaded when the first file of their format comes: few repositories have all of them, and
together they take a tenth of the start of a process that reads files.
"""

from collections.abc import Callable, Mapping

from codequarry.ingest.chunking.code import code_pieces
from codequarry.ingest.chunking.formats.entry_pieces import Entries, entry_pieces
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


def _component(source: SourceFile, text: SourceText, sizes: Sizes) -> list[Piece]:
    from codequarry.ingest.chunking.components import component_pieces

    return component_pieces(source.path, text, sizes, lambda part, limits: plain_pieces("html", part, limits))


def _notebook(source: SourceFile, text: SourceText, sizes: Sizes) -> list[Piece] | None:
    from codequarry.ingest.chunking.formats.notebook import notebook_pieces

    return notebook_pieces(source, text, sizes, pieces_of) or entry_pieces(_json(text), text, sizes)


def _restructuredtext(_: SourceFile, text: SourceText, sizes: Sizes) -> list[Piece] | None:
    from codequarry.ingest.chunking.formats.restructuredtext import restructuredtext_pieces

    return restructuredtext_pieces(text, sizes)


def _asciidoc(_: SourceFile, text: SourceText, sizes: Sizes) -> list[Piece] | None:
    from codequarry.ingest.chunking.formats.asciidoc import asciidoc_pieces

    return asciidoc_pieces(text, sizes)


def _latex(source: SourceFile, text: SourceText, sizes: Sizes) -> list[Piece] | None:
    from codequarry.ingest.chunking.formats.latex import latex_pieces

    return latex_pieces(text, sizes, source.path)


def _sql(_: SourceFile, text: SourceText, sizes: Sizes) -> list[Piece] | None:
    from codequarry.ingest.chunking.formats.sql import sql_pieces

    return sql_pieces(text, sizes)


def _entries_by(read: Callable[[SourceText], Entries]) -> Cutter:
    return lambda source, text, sizes: entry_pieces(read(text), text, sizes)


def _yaml(text: SourceText) -> Entries:
    from codequarry.ingest.chunking.formats.yaml import yaml_entries

    return yaml_entries(text)


def _json(text: SourceText) -> Entries:
    from codequarry.ingest.chunking.formats.json import json_entries

    return json_entries(text)


def _toml(text: SourceText) -> Entries:
    from codequarry.ingest.chunking.formats.toml import toml_entries

    return toml_entries(text)


def _ini(text: SourceText) -> Entries:
    from codequarry.ingest.chunking.formats.ini import ini_entries

    return ini_entries(text)


def _properties(text: SourceText) -> Entries:
    from codequarry.ingest.chunking.formats.ini import properties_entries

    return properties_entries(text)


def _html(text: SourceText) -> Entries:
    from codequarry.ingest.chunking.formats.markup import html_entries

    return html_entries(text)


def _xml(text: SourceText) -> Entries:
    from codequarry.ingest.chunking.formats.markup import xml_entries

    return xml_entries(text)


CUTTERS: Mapping[str, Cutter] = {
    "markdown": lambda source, text, sizes: markdown_pieces(text, sizes),
    "restructuredtext": _restructuredtext,
    "asciidoc": _asciidoc,
    "tex": _latex,
    "sql": _sql,
    "plsql": _sql,
    "yaml": _entries_by(_yaml),
    "json": _entries_by(_json),
    "json with comments": _entries_by(_json),
    "json5": _entries_by(_json),
    "jupyter notebook": _notebook,
    "toml": _entries_by(_toml),
    "ini": _entries_by(_ini),
    "dotenv": _entries_by(_ini),
    "properties": _entries_by(_properties),
    "html": _entries_by(_html),
    "xml": _entries_by(_xml),
    "svg": _entries_by(_xml),
    "vue": _component,
    "svelte": _component,
}
"""The formats with a function of their own. All other languages are code, or plain text if they have no grammar."""


def pieces_of(source: SourceFile, text: SourceText, sizes: Sizes) -> list[Piece]:
    """Cut a file by its language; what can't be read, or is too large for that, is cut by lines."""
    cutter = CUTTERS.get(source.language, _code)
    found = cutter(source, text, sizes) if len(text.data) <= MAX_PARSED_BYTES else None
    return found if found is not None else plain_pieces(source.language, text, sizes)
