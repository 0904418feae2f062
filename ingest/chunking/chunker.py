"""Cuts a file version into chunks; the entry point of this package."""

from collections.abc import Sequence

from codequarry.ingest.chunking.chunk_ids import chunk_id, content_hash
from codequarry.ingest.chunking.cutters import pieces_of
from codequarry.ingest.chunking.installed_plugins import ChunkerPlugin
from codequarry.ingest.chunking.linked_documents import with_links
from codequarry.ingest.chunking.pieces import Piece, Sizes
from codequarry.ingest.chunking.plain import plain_pieces
from codequarry.ingest.chunking.plugins import plugin_pieces
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.ingest.chunking.text import SourceText
from codequarry.shared.model import Chunk


def chunk_file(source: SourceFile, sizes: Sizes, plugins: Sequence[ChunkerPlugin] = ()) -> list[Chunk]:
    """Cut a file into chunks that cover every row, in file order; an empty file has none.

    A plug-in for the file's language comes before our own code for it. No text raises an error: what can't be read is
    cut by lines. Only a single row may exceed ``sizes.maximum``. Raise PluginFailed for an error of a plug-in.
    """
    if not source.text:
        return []
    text = SourceText.of(source.text)
    pieces = (with_links(piece, source, text) for piece in _pieces(source, text, sizes, plugins))
    return [_chunk(source, text, piece, ordinal) for ordinal, piece in enumerate(pieces)]


def chunk_by_lines(source: SourceFile, sizes: Sizes) -> list[Chunk]:
    """Cut a file by its lines alone, because the chunker of its language crashed on it or took too long."""
    text = SourceText.of(source.text)
    pieces = plain_pieces(source.language, text, sizes) if source.text else []
    return [_chunk(source, text, piece, ordinal) for ordinal, piece in enumerate(pieces)]


def _pieces(source: SourceFile, text: SourceText, sizes: Sizes, plugins: Sequence[ChunkerPlugin]) -> list[Piece]:
    plugin = next((plugin for plugin in plugins if plugin.language == source.language), None)
    if plugin is None:
        return pieces_of(source, text, sizes)
    pieces = plugin_pieces(plugin, source, text, sizes)
    return plain_pieces(source.language, text, sizes) if pieces is None else pieces


def _chunk(source: SourceFile, text: SourceText, piece: Piece, ordinal: int) -> Chunk:
    body = piece.text if piece.text is not None else text.between(piece.start, piece.end)
    return Chunk(
        id=chunk_id(source.repo, source.path, source.blob, ordinal, piece.part),
        repo=source.repo,
        path=source.path,
        blob=source.blob,
        language=piece.language or source.language,
        symbol_type=piece.type,
        start_line=piece.start + 1,
        end_line=piece.end,
        start_char=text.char_starts[piece.start],
        end_char=text.char_starts[piece.end],
        text=body,
        content_hash=content_hash(body),
        ordinal=ordinal,
        symbol_kind=piece.kind,
        symbol_name=piece.name,
        qualified_name=piece.qualified,
        signature=piece.signature,
        exported=piece.exported,
        body_start_char=text.char_at(piece.body_byte) if piece.body_byte is not None else None,
        symbol_part=piece.part,
        context=piece.context,
        doc=piece.doc,
        microservice=source.labels.microservice,
        package=piece.package,
        aggregate=source.labels.aggregate,
        tags=source.labels.tags,
        defines=piece.defines,
        references=piece.references,
        imports=piece.imports,
        exports=piece.exports,
        calls=piece.calls,
        dependencies=piece.dependencies,
        kind_of_file=source.kind_of_file,
        complexity_score=piece.complexity,
        encoding=source.encoding,
        symbols=piece.symbols,
        relations=piece.relations,
        derived=piece.text is not None,
    )
