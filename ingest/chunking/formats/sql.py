"""Cuts SQL scripts into pieces by statement."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from codequarry.ingest.chunking.comments import doc_text, fold_signature
from codequarry.ingest.chunking.facts import MAX_CALLS, MAX_DEFINES, MAX_REFERENCES
from codequarry.ingest.chunking.formats.entries import MAX_NAME_CHARACTERS, Entry, EntryTree
from codequarry.ingest.chunking.formats.entry_groups import EntryGroup, grouped_rows
from codequarry.ingest.chunking.formats.named_symbols import by_name, with_symbols
from codequarry.ingest.chunking.formats.sql_facts import SqlFacts, SqlName, facts_of
from codequarry.ingest.chunking.formats.sql_statements import SqlToken, read_script
from codequarry.ingest.chunking.pieces import Piece, Sizes
from codequarry.ingest.chunking.plain import parts_of
from codequarry.ingest.chunking.text import SourceText
from codequarry.shared.relations import Definition, Reference, ReferenceKind

# A statement with fewer tokens may share a chunk with its neighbours.
_SMALL_STATEMENT = 60
# A longer head of a statement is not its signature.
_SIGNATURE_CHARACTERS = 2_000

# What stands between the name of a view and its query.
_BEFORE_QUERY = re.compile(r"\sAS\s*$", re.IGNORECASE)


def sql_pieces(text: SourceText, sizes: Sizes) -> list[Piece] | None:
    """Cut a script into its statements, small ones grouped; return None if it has none."""
    tokens, starts = read_script(text)
    if not starts:
        return None
    script = _Script.of(text, tokens, starts)
    tree = EntryTree.of(script.entries(), script.comments(), text)
    groups = grouped_rows(tree, text, sizes, _SMALL_STATEMENT)
    return [piece for group in groups for piece in script.pieces(group, sizes)]


@dataclass(frozen=True, slots=True)
class _Script:
    """A script's statements: where each begins, in characters and rows, and what each says."""

    text: SourceText
    tokens: Sequence[SqlToken]
    starts: Sequence[int]
    rows: Sequence[int]
    facts: Sequence[SqlFacts]

    @classmethod
    def of(cls, text: SourceText, tokens: Sequence[SqlToken], starts: Sequence[int]) -> "_Script":
        places = [token.start for token in tokens]
        borders = [bisect_left(places, start) for start in starts] + [len(tokens)]
        facts = [facts_of(tokens[first:last]) for first, last in pairwise(borders)]
        rows = [bisect_right(text.char_starts, start, hi=text.rows) - 1 for start in starts]
        return cls(text, tokens, starts, rows, facts)

    def entries(self) -> list[Entry]:
        """Return an entry for each statement."""
        return [
            Entry(row, 0, facts.name[:MAX_NAME_CHARACTERS], facts.qualified, facts.kind)
            for row, facts in zip(self.rows, self.facts, strict=True)
        ]

    def comments(self) -> list[bool]:
        """Return which rows have nothing but a comment."""
        filled = [False] * self.text.rows
        starts = self.text.char_starts
        for token in self.tokens:
            if token.type != "comment":
                continue
            row = bisect_right(starts, token.start, hi=self.text.rows) - 1
            if self.text.text[starts[row] : token.start].strip():
                continue
            while row < self.text.rows and starts[row] < token.end:
                filled[row] = not self.text.text[max(token.end, starts[row]) : starts[row + 1]].strip()
                row += 1
        return filled

    def pieces(self, group: EntryGroup, sizes: Sizes) -> list[Piece]:
        """Return a group of statements as one piece, or a large statement as several."""
        inside = range(bisect_left(self.rows, group.start), bisect_left(self.rows, group.end))
        kinds = {self.facts[index].kind for index in inside}
        piece = Piece(group.start, group.end, "block", kind=next(iter(kinds)) or None if len(kinds) == 1 else None)
        if len(inside) == 1 and self.facts[inside[0]].name:
            piece = self._named(piece, inside[0])
        elif (group.start, group.end) == (0, self.text.rows):
            piece = replace(piece, type="file")
        facts = [self.facts[index] for index in inside]
        return [self._filled(part, facts) for part in parts_of(piece, self.text, sizes)]

    def _named(self, piece: Piece, index: int) -> Piece:
        facts = self.facts[index]
        comments = [
            token.text
            for token in self._tokens_between(self.text.char_starts[piece.start], self.starts[index])
            if token.type == "comment"
        ]
        return replace(
            piece,
            type=facts.type,
            name=facts.name[:MAX_NAME_CHARACTERS],
            qualified=facts.qualified[:MAX_NAME_CHARACTERS],
            signature=self._signature(index),
            body_byte=self._byte(facts.body) if facts.body is not None else None,
            doc=doc_text(comments),
        )

    def _tokens_between(self, start: int, end: int) -> Sequence[SqlToken]:
        first = bisect_left(self.tokens, start, key=lambda token: token.start)
        return self.tokens[first : bisect_left(self.tokens, end, lo=first, key=lambda token: token.start)]

    def _signature(self, index: int) -> str:
        """Return a function's head, or the words before the first bracket or the query of a table or view."""
        start, facts = self.starts[index], self.facts[index]
        end = facts.body if facts.body is not None else start + _SIGNATURE_CHARACTERS
        if index + 1 < len(self.starts):
            end = min(end, self.starts[index + 1])
        head = self.text.text[start : min(end, start + _SIGNATURE_CHARACTERS)]
        if facts.type != "function":
            head = head[: facts.start - start] + head[facts.start - start :].partition("(")[0].partition("\n")[0]
        return fold_signature(_BEFORE_QUERY.sub("", head))

    def _byte(self, character: int) -> int:
        row = bisect_right(self.text.char_starts, character, hi=self.text.rows) - 1
        before = self.text.text[self.text.char_starts[row] : character]
        return self.text.byte_starts[row] + len(before.encode("utf-8", "surrogatepass"))

    def _filled(self, piece: Piece, statements: Sequence[SqlFacts]) -> Piece:
        """Return a piece with the names that stand in its rows."""
        start, end = self.text.char_starts[piece.start], self.text.char_starts[piece.end]
        defined: list[str] = []
        for facts in statements:
            if facts.name and start <= facts.start < end:
                defined += [facts.name, facts.qualified]
            defined += _between(facts.columns, start, end)
        references = (name for facts in statements for name in _between(facts.references, start, end))
        calls = (name for facts in statements for name in _between(facts.calls, start, end))
        symbols = [self._symbols(facts, start, end) for facts in statements]
        piece = with_symbols(
            replace(piece, references=tuple(dict.fromkeys(references))[:MAX_REFERENCES]),
            [found for definitions, _ in symbols for found in definitions],
            [found for _, uses in symbols for found in uses],
        )
        body = piece.body_byte
        inside = body is not None and self.text.byte_starts[piece.start] <= body < self.text.byte_starts[piece.end]
        return replace(
            piece,
            defines=tuple(dict.fromkeys(name for name in defined if len(name) <= MAX_NAME_CHARACTERS))[:MAX_DEFINES],
            calls=tuple(dict.fromkeys(calls))[:MAX_CALLS],
            body_byte=body if inside else None,
        )

    def _symbols(self, facts: SqlFacts, start: int, end: int) -> tuple[list[Definition], list[Reference]]:
        """Return what a statement defines and refers to between two characters."""
        path = tuple(filter(None, facts.qualified.split("."))) if facts.kind and _is_short(facts.qualified) else ()
        definitions = []
        if path and start <= facts.start < end:
            line = self._line(facts.start)
            definitions.append(Definition(path, facts.type, facts.kind, line, line))
        for column in _in_range(facts.columns, start, end):
            line = self._line(column.start)
            definitions.append(Definition((*path, column.name), "block", "column", line, line))
        uses: tuple[tuple[ReferenceKind, Sequence[SqlName]], ...] = (
            ("type", facts.references), ("call", facts.calls),
        )  # fmt: skip
        references = [
            by_name(kind, found.name, self._line(found.start), path)
            for kind, names in uses
            for found in _in_range(names, start, end)
        ]
        return definitions, references

    def _line(self, character: int) -> int:
        return bisect_right(self.text.char_starts, character, hi=self.text.rows)


def _between(names: Iterable[SqlName], start: int, end: int) -> list[str]:
    return [found.name for found in _in_range(names, start, end)]


def _in_range(names: Iterable[SqlName], start: int, end: int) -> list[SqlName]:
    return [found for found in names if start <= found.start < end and _is_short(found.name)]


def _is_short(name: str) -> bool:
    return len(name) <= MAX_NAME_CHARACTERS
