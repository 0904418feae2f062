"""Splits SQL scripts into statements, with sqlparse where that is quick."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from codequarry.ingest.chunking.text import SourceText

# sqlparse reads about 200,000 characters a second. Larger scripts are dumps, whose statements all end with a semicolon.
MAX_PARSED_CHARACTERS = 200_000

# Lines that only clients know: the batches of T-SQL and Oracle, MySQL's delimiters, psql's commands and data.
_SEPARATOR = re.compile(r"\s*(?:go(?:\s+\d+)?\s*;?|/)\s*$|\\[a-z!?]", re.IGNORECASE)
_DELIMITER = re.compile(r"\s*delimiter\s+(\S{1,20})\s*$", re.IGNORECASE)
_COPY = re.compile(r"\s*copy\s[^;]*\sfrom\s+stdin\b[^;]*;\s*$", re.IGNORECASE)
_END_OF_COPY = "\\."
_CREATE = re.compile(
    r"(?:create|alter)\s+(?:or\s+(?:replace|alter)\s+)?(?:\w+\s+){0,3}"
    r"(?:table|view|function|procedure|proc|trigger|index|sequence|type|schema|package)\b",
    re.IGNORECASE,
)

_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)"
    r"|(?P<string>[eEnN]?'(?:''|\\'|[^'])*+'?)"
    r"|(?P<dollar>\$(?:[A-Za-z_]\w{0,60})?\$)"
    r"|(?P<name>\"[^\"\n]*+\"?|`[^`\n]*+`?|\[[^\[\]\n]{1,128}\]|[^\W\d][\w$#]*+)"
    r"|(?P<end>;)"
    r"|(?P<other>[(),.=])"
)
# Longer rows are data.
_CLIENT_LINE = 500
# A script with more unclosed dollar quotes has none: each one was looked for to the end of the file.
_MAX_UNCLOSED = 200


class SqlToken(NamedTuple):
    """A name, a keyword, a comment, a string or a punctuation mark; ``start`` counts characters of what was read."""

    type: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The character after it."""
        return self.start + len(self.text)


def sql_tokens(source: str) -> Iterator[SqlToken]:
    """Yield the tokens that say something about a statement's structure; quoted bodies are strings."""
    at, unclosed = 0, 0
    while found := _TOKEN.search(source, at):
        at, type_ = found.end(), found.lastgroup or ""
        if type_ == "dollar" and unclosed < _MAX_UNCLOSED:
            end = source.find(found[0], at)
            at = end + len(found[0]) if end >= 0 else at
            unclosed += end < 0
            type_ = "string"
        yield SqlToken(type_, source[found.start() : at], found.start())


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows that the client reads at once: ``single`` if they are one statement, ``data`` if only the first is SQL."""

    start: int
    end: int
    single: bool = False
    data: bool = False


def read_script(text: SourceText) -> tuple[list[SqlToken], list[int]]:
    """Return a script's tokens, and where statements begin: at their first names or keywords, after comments."""
    tokens: list[SqlToken] = []
    offsets: set[int] = set()
    quick = len(text.text) <= MAX_PARSED_CHARACTERS
    for batch in _batches(text):
        first = text.char_starts[batch.start]
        source = text.between(batch.start, batch.start + 1 if batch.data else batch.end)
        tokens += (token._replace(start=first + token.start) for token in sql_tokens(source))
        found = [0] if batch.single else _parsed(source) if quick else _split(source)
        offsets |= {first + offset for offset in found}
    return tokens, _starts(tokens, offsets | set(_declarations(tokens, text)))


def _starts(tokens: Sequence[SqlToken], offsets: set[int]) -> list[int]:
    """Return the places of the first tokens after the offsets that are no comments."""
    code = [token.start for token in tokens if token.type not in {"comment", "end"}]
    places = (bisect_left(code, offset) for offset in offsets)
    return sorted({code[place] for place in places if place < len(code)})


def _batches(text: SourceText) -> Iterator[_Batch]:
    start, row = 0, 0
    delimiter = ""
    while row < text.rows:
        line = text.lines[row]
        line = line[:_CLIENT_LINE] if len(line) > 2 * _CLIENT_LINE else line
        if changed := _DELIMITER.match(line):
            delimiter = "" if changed[1] == ";" else changed[1]
            yield _Batch(start, row + 1)
            start = row + 1
        elif delimiter:
            if line.rstrip().endswith(delimiter):
                yield _Batch(start, row + 1, single=True)
                start = row + 1
        elif _SEPARATOR.match(line):
            yield _Batch(start, row + 1)
            start = row + 1
        elif _COPY.match(line):
            yield _Batch(start, row)
            start = row
            while row < text.rows and text.lines[row].rstrip() != _END_OF_COPY:
                row += 1
            yield _Batch(start, min(row + 1, text.rows), single=True, data=True)
            start = min(row + 1, text.rows)
        row += 1
    if start < text.rows:
        yield _Batch(start, text.rows, single=bool(delimiter))


def _parsed(source: str) -> list[int]:
    """Return the characters at which sqlparse sees statements begin, or those after semicolons if it fails."""
    from sqlparse.engine import FilterStack  # most runs read no SQL

    offsets: list[int] = []
    at = 0
    try:
        for statement in FilterStack().run(source):
            written = str(statement).strip()
            found = source.find(written, at) if written else -1
            if found >= 0:
                offsets.append(found)
                at = found + len(written)
    except Exception:  # whatever it can't read is split like a script that is too large
        return _split(source)
    return offsets


def _split(source: str) -> list[int]:
    """Return the characters after semicolons outside strings, comments and brackets."""
    offsets, depth = [0], 0
    for token in sql_tokens(source):
        if token.type == "end" and depth <= 0:
            offsets.append(token.end)
        elif token.text == "(":
            depth += 1
        elif token.text == ")":
            depth = max(depth - 1, 0)
    return offsets


def _declarations(tokens: Sequence[SqlToken], text: SourceText) -> Iterator[int]:
    """Yield where a declaration begins a row after a semicolon, which is a statement even after a body left open."""
    ended = False
    for token in tokens:
        begins_row = ended and token.type == "name" and text.text[token.start - 1 : token.start] == "\n"
        if begins_row and _CREATE.match(text.text, token.start):
            yield token.start
        if token.type != "comment":
            ended = token.type == "end"
