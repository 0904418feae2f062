"""Cuts a file version into chunks; the entry point of this package."""

from codequarry.ingest.chunking.chunk_ids import chunk_id, content_hash
from codequarry.ingest.chunking.code import code_pieces
from codequarry.ingest.chunking.components import COMPONENT_LANGUAGES, component_pieces
from codequarry.ingest.chunking.grammar import spec_for
from codequarry.ingest.chunking.languages import CONFIG_LANGUAGES, PROSE_LANGUAGES
from codequarry.ingest.chunking.markdown import markdown_pieces
from codequarry.ingest.chunking.pieces import Piece, Sizes, cut_rows
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.ingest.chunking.text import SourceText
from codequarry.shared.model import Chunk, SymbolType

# A part begins with a blank row only if no other border is within reach.
_BLANK = 1_000
# A closing row belongs to the rows before it.
_CLOSING = 40
_CLOSERS = ("}", "]", ")", "</", "end", "fi", "done", "esac", "else", "elif")
_MAX_INDENT = 40
_TAB_WIDTH = 4


def chunk_file(source: SourceFile, sizes: Sizes) -> list[Chunk]:
    """Cut a file into chunks that cover every row, in file order; an empty file has none.

    No text raises an error: what a grammar can't read is cut by lines. Only a single row may exceed ``sizes.maximum``.
    """
    if not source.text:
        return []
    text = SourceText.of(source.text)
    pieces = _pieces(source, text, sizes)
    return [_chunk(source, text, piece, ordinal) for ordinal, piece in enumerate(pieces)]


def _pieces(source: SourceFile, text: SourceText, sizes: Sizes) -> list[Piece]:
    if source.language == "markdown":
        return markdown_pieces(text, sizes)
    if source.language in COMPONENT_LANGUAGES:
        return component_pieces(source.path, text, sizes, lambda part, limits: plain_pieces("html", part, limits))
    spec = spec_for(source.language, source.path, source.text)
    found = code_pieces(spec, source.path, text, sizes) if spec is not None else None
    return found if found is not None else plain_pieces(source.language, text, sizes)


def _chunk(source: SourceFile, text: SourceText, piece: Piece, ordinal: int) -> Chunk:
    body = text.between(piece.start, piece.end)
    return Chunk(
        id=chunk_id(source.repo, source.path, source.blob, ordinal, piece.part),
        repo=source.repo,
        path=source.path,
        blob=source.blob,
        language=source.language,
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
    )


def plain_pieces(language: str, text: SourceText, sizes: Sizes) -> list[Piece]:
    """Cut any text into pieces near the target size."""
    symbol = _symbol_type(language)
    if text.tokens(0, text.rows) <= sizes.target:
        return [Piece(0, text.rows, "file" if symbol == "block" else symbol)]
    costs = [_cost(text, row) for row in range(text.rows)]
    smaller = Sizes(sizes.target, max(sizes.target, (sizes.target + sizes.maximum) // 2), 0)
    cuts = cut_rows(text, 0, text.rows, smaller, costs.__getitem__, overlap=False)
    return [Piece(start, end, symbol) for start, end in cuts]


def _symbol_type(language: str) -> SymbolType:
    if language in CONFIG_LANGUAGES:
        return "config"
    return "documentation" if language in PROSE_LANGUAGES else "block"


def _cost(text: SourceText, row: int) -> int:
    line = text.lines[row].expandtabs(_TAB_WIDTH)
    stripped = line.strip()
    if not stripped:
        return _BLANK
    indent = min(len(line) - len(line.lstrip()), _MAX_INDENT)
    after_blank = row == 0 or text.is_blank(row - 1)
    return 2 * indent + (not after_blank) + _CLOSING * stripped.startswith(_CLOSERS)
