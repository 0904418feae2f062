"""Cuts a source file into pairs of a text and the code that it describes, with the product's chunker."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from codequarry.ingest.chunking.chunker import chunk_file
from codequarry.ingest.chunking.comments import summary
from codequarry.ingest.chunking.pieces import Sizes
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.shared.identifiers import split_identifier
from codequarry.shared.model import Chunk
from codequarry.shared.settings.config import ChunkingSettings

Kind = Literal["doc", "comment", "name", "title"]

# Characters of code: about the size of a chunk; the rest of longer code adds little.
MOST_CODE = 2_000
LEAST_CODE = 60
# Words of a text: fewer words say too little, more words are an essay.
FEWEST_WORDS = 4
MOST_WORDS = 60
# Names are the weakest pairs, so only every second chunk gives one.
_NAME_EVERY = 2
_DECLARED = frozenset({"function", "method", "class", "interface", "struct", "trait", "enum", "type", "module"})
_COMMENT = re.compile(r"^\s*(?:#(?!!)|//(?!/)|--)\s?(?P<text>.*\S)\s*$")
_LINES_AFTER_COMMENT = 12
# Characters of a doc comment before the code of a title.
_MOST_DOC = 600
_FEWEST_LINES = 2
_WORD = re.compile(r"[A-Za-z]{2,}")
# Comments that are code, rulers, directives for tools, or licences.
_NO_PROSE = re.compile(
    r"[{};=]\s*$|^\W*$|^@|https?://"
    r"|\b(?:noqa|eslint|pylint|pragma|nolint|NOLINT|clang-format|type: ignore|TODO|FIXME|XXX"
    r"|copyright|licen[cs]e|SPDX|generated|deprecated|inheritdoc|region|endregion)\b",
    re.IGNORECASE,
)
_PROSE_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Pair:
    """A ``text`` that describes ``code``; ``path`` and ``head`` (context, names, signature) precede the code."""

    kind: Kind
    language: str
    path: str
    text: str
    head: str
    code: str


def pairs_of(path: str, language: str, text: str, is_kept_apart: Callable[[str], bool] | None = None) -> Iterator[Pair]:
    """Yield the pairs of a file, except of chunks that, without their doc comment, are ``is_kept_apart``."""
    source = SourceFile("training", path, "", language, text)
    for number, chunk in enumerate(chunk_file(source, Sizes.of(ChunkingSettings()))):
        bare = without_doc(chunk)
        found = list(_pairs_of_chunk(chunk, bare, with_name=number % _NAME_EVERY == 0))
        if found and not (is_kept_apart and is_kept_apart(bare)):
            yield from found


def _pairs_of_chunk(chunk: Chunk, bare: str, with_name: bool) -> Iterator[Pair]:
    if chunk.symbol_type in _DECLARED:
        about = summary(chunk.doc, limit=400)
        about = about if is_prose(about) else ""
        yield from _documented(chunk, bare, about)
        yield from _named(chunk, bare, with_name, with_title=bool(about))
    yield from _commented(chunk)


def _documented(chunk: Chunk, bare: str, about: str) -> Iterator[Pair]:
    if about and len(bare.strip()) >= LEAST_CODE:
        yield Pair("doc", chunk.language, chunk.path, about, head_of(chunk), bare[:MOST_CODE])


def _named(chunk: Chunk, bare: str, with_name: bool, with_title: bool) -> Iterator[Pair]:
    """Pair a name with the body without it, and as a title with the doc comment and that body."""
    name = chunk.symbol_name or ""
    words = split_identifier(name)
    if not (with_name or with_title) or len(words) < 2 or len(bare.strip()) < 2 * LEAST_CODE:
        return
    text, code = " ".join(words), re.sub(rf"\b{re.escape(name)}\b", "", bare)
    if with_name:
        yield Pair("name", chunk.language, "", text, "", code[:MOST_CODE])
    if with_title:
        yield Pair("title", chunk.language, "", text, "", f"{chunk.doc[:_MOST_DOC]}\n{code}"[:MOST_CODE])


def _commented(chunk: Chunk) -> Iterator[Pair]:
    """Pair a comment inside a declaration with the lines after it, up to the next comment or empty line."""
    lines = chunk.text.split("\n")
    at = 1
    while at < len(lines):
        first = at
        while at < len(lines) and (found := _COMMENT.match(lines[at])):
            at += 1
        if at == first:
            at += 1
            continue
        text = " ".join(found["text"] for line in lines[first:at] if (found := _COMMENT.match(line)))
        after = []
        for line in lines[at : at + _LINES_AFTER_COMMENT]:
            if not line.strip() or _COMMENT.match(line):
                break
            after.append(line)
        code = "\n".join(after)
        if len(after) >= _FEWEST_LINES and len(code) >= LEAST_CODE and is_prose(text):
            yield Pair("comment", chunk.language, chunk.path, text, head_of(chunk), code[:MOST_CODE])
        at += len(after)


def head_of(chunk: Chunk) -> str:
    """Return what the index puts between path and text: context, names, signature."""
    words = " ".join(split_identifier(chunk.symbol_name or ""))
    names = (chunk.qualified_name or "", chunk.signature or "", words if " " in words else "")
    return "\n".join(filter(None, (chunk.context, *names)))


def without_doc(chunk: Chunk) -> str:
    """Return a chunk's text without its doc comment, so that the code does not contain the text of the pair."""
    text = chunk.text
    for line in chunk.doc.split("\n"):
        text = text.replace(line.strip(), "") if len(line.strip()) > len("*/ ") else text
    return text


def is_prose(text: str) -> bool:
    """Return whether a comment is a sentence in English letters, not code or a directive for a tool."""
    words = _WORD.findall(text)
    if not FEWEST_WORDS <= len(words) <= MOST_WORDS or _NO_PROSE.search(text):
        return False
    return sum(map(len, words)) >= _PROSE_SHARE * len(text.replace(" ", ""))
