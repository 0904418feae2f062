"""The summary of a file: an extra chunk that says what the file is about, made from its other chunks without a model.

Questions about files ("which file parses cookies?") share their words with no single declaration, but with the names
and the documentation of several declarations of a file.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

from codequarry.ingest.chunking.chunk_ids import chunk_id, content_hash
from codequarry.ingest.chunking.comments import clean_comment
from codequarry.ingest.chunking.comments import summary as first_paragraph
from codequarry.ingest.chunking.languages import CONFIG_LANGUAGES, PROSE_LANGUAGES
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.ingest.chunking.text import count_tokens
from codequarry.shared.model import SUMMARY_KIND, Chunk

# Longer first sentences are cut: a summary has room for a few words about each declaration.
_SENTENCE_CHARACTERS = 120
_FILE_COMMENT_CHARACTERS = 400
# Licences are the same in every file and say nothing about any of them.
_LICENCE = re.compile(r"copyright|licen[cs]e|spdx|all rights reserved", re.IGNORECASE)
# The comment or docstring at the top of a file, if an empty line separates it from what follows.
_TOP = re.compile(
    r"(?:#!.*\n)?\s*"
    r"(?:[rR]?\"{3}(?P<double>[\s\S]*?)\"{3}|[rR]?'{3}(?P<single>[\s\S]*?)'{3}"
    r"|(?P<comment>/\*[\s\S]*?\*/|(?:[ \t]*(?://|#|--|;|%).*\n)+))"
    r"[ \t\r]*\n?[ \t\r]*\n"
)
# Enough of a file's beginning to hold its comment.
_TOP_CHARACTERS = 4_000
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
# The members of a type follow it; they are left out of a summary that would be too long.
_MEMBERS = frozenset({"method", "constructor", "property", "field", "getter", "setter"})
# Names without documentation share a line.
_NAMES_PER_LINE = 8
# Chunks with these names declare nothing that a reader would look for.
_UNNAMED_KINDS = frozenset({"prologue", "statement", None})


@dataclass(frozen=True, slots=True)
class _Symbol:
    """A declaration as a summary names it: its kind, its name and the first sentence of its documentation."""

    kind: str
    name: str
    sentence: str
    is_member: bool


def file_summary(source: SourceFile, chunks: Sequence[Chunk], sizes: Sizes) -> Chunk | None:
    """Return the summary of a file of code that has several ``chunks``, or None if there is nothing to summarise.

    It spans the whole file, is the last chunk in order, and names no symbol of its own, so that a search for a symbol
    finds the declaration.
    """
    if len(chunks) < 2 or source.language in CONFIG_LANGUAGES or source.language in PROSE_LANGUAGES:
        return None
    symbols = list(_symbols(chunks))
    comment = _file_comment(chunks[0])
    if not symbols and not comment:
        return None
    text = _text([source.path, *_package(chunks), *filter(None, (comment,))], symbols, sizes.target)
    first, last = chunks[0], chunks[-1]
    return Chunk(
        id=chunk_id(source.repo, source.path, source.blob, len(chunks), None),
        repo=source.repo,
        path=source.path,
        blob=source.blob,
        language=source.language,
        symbol_type="file",
        symbol_kind=SUMMARY_KIND,
        start_line=1,
        end_line=last.end_line,
        start_char=0,
        end_char=last.end_char,
        text=text,
        content_hash=content_hash(text),
        ordinal=len(chunks),
        package=first.package,
        microservice=first.microservice,
        aggregate=first.aggregate,
        tags=first.tags,
        kind_of_file=first.kind_of_file,
        encoding=first.encoding,
        derived=True,
    )


def _package(chunks: Sequence[Chunk]) -> list[str]:
    return [f"package {chunks[0].package}"] if chunks[0].package else []


def _file_comment(first: Chunk) -> str:
    """Return the first sentences of the comment at the top of a file, unless it is a licence."""
    doc = first.doc if first.symbol_kind in _UNNAMED_KINDS else ""
    if not doc and (top := _TOP.match(first.text[:_TOP_CHARACTERS])):
        doc = top["double"] or top["single"] or clean_comment(top["comment"] or "")
    paragraphs = (paragraph for paragraph in doc.strip().split("\n\n") if not _LICENCE.search(paragraph))
    return first_paragraph(next(paragraphs, ""), _FILE_COMMENT_CHARACTERS)


def _symbols(chunks: Sequence[Chunk]) -> Iterator[_Symbol]:
    """Yield the declarations of a file in file order, each once."""
    seen: set[str] = set()
    for chunk in chunks:
        names = (chunk.qualified_name,) if chunk.qualified_name else chunk.defines
        for name in names:
            if not name or name in seen or chunk.symbol_kind in _UNNAMED_KINDS:
                continue
            seen.add(name)
            kind = chunk.symbol_kind or chunk.symbol_type
            # The documentation of several small neighbours belongs to none of them alone.
            sentence = _first_sentence(chunk.doc) if chunk.qualified_name else ""
            is_member = kind in _MEMBERS
            # The type of a member is on a line before it.
            shown = chunk.symbol_name if is_member and chunk.symbol_name else name
            yield _Symbol(kind, shown, sentence, is_member)


def _first_sentence(doc: str) -> str:
    return _SENTENCE_END.split(first_paragraph(doc, _SENTENCE_CHARACTERS), maxsplit=1)[0]


def _text(head: Sequence[str], symbols: Sequence[_Symbol], limit: int) -> str:
    """Return the most detailed summary that has at most ``limit`` tokens; the least detailed is cut to fit."""
    bare = [replace(symbol, sentence="") for symbol in symbols]
    top = [symbol for symbol in bare if not symbol.is_member]
    brief = [unsaid if symbol.is_member else symbol for symbol, unsaid in zip(symbols, bare, strict=True)]
    lines: list[str] = []
    for shown in (symbols, brief, bare, top or bare):
        lines = [*head, *_lines(shown)]
        if sum(map(count_tokens, lines)) <= limit:
            return "\n".join(lines) + "\n"
    totals = list(accumulate(map(count_tokens, lines)))
    # The path is always shown, however long it is.
    fitting = max(1, sum(total <= limit for total in totals))
    return "\n".join(lines[:fitting]) + "\n"


def _lines(symbols: Sequence[_Symbol]) -> Iterator[str]:
    """Yield a line for each declaration with documentation, and one for neighbours of a kind that have none."""
    for (kind, sentence), together in groupby(symbols, key=lambda symbol: (symbol.kind, symbol.sentence)):
        named = list(together)
        names = [symbol.name for symbol in named]
        for start in range(0, len(names), _NAMES_PER_LINE):
            shown = ", ".join(names[start : start + _NAMES_PER_LINE])
            yield f"{kind} {shown}: {sentence}" if sentence else f"{kind} {shown}"
