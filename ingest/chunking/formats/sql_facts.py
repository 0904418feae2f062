"""Finds what an SQL statement declares, and which tables it refers to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codequarry.ingest.chunking.formats.sql_statements import SqlToken
from codequarry.shared.model import SymbolType

# What CREATE declares, with the type of symbol that is nearest.
_TYPES: dict[str, SymbolType] = {
    "TABLE": "class", "VIEW": "class", "TYPE": "class", "PACKAGE": "class", "DOMAIN": "class",
    "FUNCTION": "function", "PROCEDURE": "function", "PROC": "function", "TRIGGER": "function", "AGGREGATE": "function",
    "INDEX": "block", "SEQUENCE": "block", "SCHEMA": "block", "DATABASE": "block", "EVENT": "function",
    "POLICY": "block", "RULE": "block", "SYNONYM": "block", "EXTENSION": "block", "ROLE": "block", "USER": "block",
    "SERVER": "block", "PUBLICATION": "block", "SUBSCRIPTION": "block", "MACRO": "function", "OPERATOR": "function",
}  # fmt: skip
# A statement's kind stands among its first words.
_HEAD_TOKENS = 30
_NO_COLUMN = frozenset(
    {"CONSTRAINT", "PRIMARY", "FOREIGN", "UNIQUE", "CHECK", "KEY", "INDEX", "EXCLUDE", "LIKE", "PERIOD", "FULLTEXT",
     "SPATIAL", "SELECT", "WITH", "PARTITION"}
)  # fmt: skip
_BEFORE_TABLE = frozenset({"REFERENCES", "FROM", "JOIN", "INTO", "UPDATE", "TABLE", "TRUNCATE", "USING"})
# `IS DISTINCT FROM x`, `CREATE TABLE x`, `ON UPDATE CASCADE`, `AFTER UPDATE OF x`.
_NO_TABLE_AFTER = frozenset({"DISTINCT", "CREATE", "ON", "BEFORE", "AFTER", "FOR", "OR"})
_BEFORE_TABLE_OF = frozenset({"INDEX", "TRIGGER", "POLICY", "RULE"})
_BEFORE_CALL = frozenset({"CALL", "EXEC", "EXECUTE", "PERFORM"})
_SKIPPED = frozenset(
    {"IF", "NOT", "EXISTS", "ONLY", "CONCURRENTLY", "BODY", "TABLE", "FUNCTION", "PROCEDURE", "OVERWRITE"}
)  # fmt: skip
_NO_NAME = frozenset(
    {"SELECT", "SET", "VALUES", "LATERAL", "ON", "AS", "IS", "CASCADE", "RESTRICT", "DELETE", "INSERT", "UPDATE",
     "WHERE", "IMMEDIATE", "STDIN", "STDOUT", "DUAL", "INTO", "BEGIN", "NOTHING", "OR", "AND", "OF", "USING", "FROM",
     "BTREE", "GIN", "GIST", "HASH", "BRIN"}
)  # fmt: skip
_BEFORE_BODY = frozenset({"AS", "BEGIN", "IS"})


@dataclass(frozen=True, slots=True)
class SqlName:
    """A name that a statement declares, and the character at which it stands."""

    name: str
    start: int


@dataclass(frozen=True, slots=True)
class SqlFacts:
    """What a statement says: ``kind`` is empty if it declares nothing, ``columns`` are those of a table or type.

    ``body`` is the character at which the body of a function begins.
    """

    kind: str = ""
    type: SymbolType = "block"
    name: str = ""
    qualified: str = ""
    start: int = 0
    columns: tuple[SqlName, ...] = ()
    references: tuple[SqlName, ...] = ()
    calls: tuple[SqlName, ...] = ()
    body: int | None = None


def facts_of(tokens: Sequence[SqlToken]) -> SqlFacts:
    """Return the facts of a statement, given its tokens."""
    code = [token for token in tokens if token.type != "comment"]
    words = [token.text.upper() if token.type == "name" else token.text for token in code]
    references, calls = _mentioned(code, words)
    if not words or words[0] not in {"CREATE", "ALTER"}:
        return SqlFacts(references=references, calls=calls)
    place = next((at for at, word in enumerate(words[1:_HEAD_TOKENS], 1) if word in _TYPES), None)
    if place is None:
        return SqlFacts(references=references, calls=calls)
    kind = words[place]
    at = _after_skipped(words, place + 1)
    # An index may have no name.
    unnamed = words[at : at + 1] in (["ON"], ["AS"])
    path, after = ((), at) if unnamed else _path_at(code, words, at, any_name=True)
    table = _table_of(code, words, after) if kind in _BEFORE_TABLE_OF else ()
    if words[0] == "ALTER":
        altered = (SqlName(path[-1], code[at].start),) if path else ()
        added = _added_columns(code, words, after) if kind == "TABLE" else ()
        return SqlFacts(columns=added, references=(*altered, *references), calls=calls)
    if not path:
        return SqlFacts(references=(*table, *references), calls=calls)
    return SqlFacts(
        kind="procedure" if kind == "PROC" else kind.lower(),
        type="enum" if kind == "TYPE" and "ENUM" in words[after : after + 3] else _TYPES[kind],
        name=path[-1],
        qualified=".".join(path),
        start=code[at].start,
        columns=tuple(_columns(code, words, after)) if kind in {"TABLE", "TYPE"} else (),
        references=(*table, *(found for found in references if found.name != path[-1])),
        calls=calls,
        body=_body(code, words, after) if _TYPES[kind] == "function" else None,
    )


def _after_skipped(words: Sequence[str], at: int) -> int:
    """Return the first place from ``at`` on without a word that may stand before a name."""
    while at < len(words) and words[at] in _SKIPPED:
        at += 1
    return at


def _unquoted(token: SqlToken) -> str:
    text = token.text
    return text[1:].rstrip('"`]') if text[0] in '"`[' else text


def _path_at(
    code: Sequence[SqlToken], words: Sequence[str], at: int, *, any_name: bool = False
) -> tuple[tuple[str, ...], int]:
    """Return the dotted name at a token, and the token after it."""
    path: list[str] = []
    while at < len(code) and code[at].type == "name" and (path or any_name or words[at] not in _NO_NAME):
        path.append(_unquoted(code[at]))
        at += 1
        if at + 1 >= len(code) or words[at] != ".":
            break
        at += 1
    return tuple(name for name in path if name), at


def _mentioned(code: Sequence[SqlToken], words: Sequence[str]) -> tuple[tuple[SqlName, ...], tuple[SqlName, ...]]:
    """Return the tables after words such as FROM, and the routines after words such as CALL."""
    tables: list[SqlName] = []
    calls: list[SqlName] = []
    for index, word in enumerate(words):
        if word not in _BEFORE_TABLE and word not in _BEFORE_CALL:
            continue
        if index and words[index - 1] in _NO_TABLE_AFTER:
            continue
        at = _after_skipped(words, index + 1)
        path, _ = _path_at(code, words, at)
        if path:
            (calls if word in _BEFORE_CALL else tables).append(SqlName(path[-1], code[at].start))
    return tuple(tables), tuple(calls)


def _table_of(code: Sequence[SqlToken], words: Sequence[str], at: int) -> tuple[SqlName, ...]:
    """Return the table that an index or a trigger is on."""
    for index in range(at, min(at + _HEAD_TOKENS, len(words))):
        if words[index] == "ON":
            start = index + 2 if words[index + 1 : index + 2] == ["ONLY"] else index + 1
            path, _ = _path_at(code, words, start)
            return (SqlName(path[-1], code[start].start),) if path else ()
    return ()


def _columns(code: Sequence[SqlToken], words: Sequence[str], at: int) -> Iterator[SqlName]:
    """Yield the names that begin the items in the first brackets."""
    depth, begins = 0, False
    for index in range(at, len(words)):
        word = words[index]
        if word == "(":
            depth += 1
            begins = depth == 1
        elif word == ")":
            depth -= 1
            if depth <= 0:
                return
        elif word == ",":
            begins = depth == 1
        elif begins and depth == 1:
            begins = False
            if code[index].type == "name" and word not in _NO_COLUMN:
                yield SqlName(_unquoted(code[index]), code[index].start)


def _added_columns(code: Sequence[SqlToken], words: Sequence[str], at: int) -> tuple[SqlName, ...]:
    added = []
    for index in range(at, len(words) - 1):
        if words[index] != "ADD":
            continue
        place = index + 2 if words[index + 1] == "COLUMN" else index + 1
        while place < len(words) and words[place] in {"IF", "NOT", "EXISTS"}:
            place += 1
        if place < len(words) and code[place].type == "name" and words[place] not in _NO_COLUMN:
            added.append(SqlName(_unquoted(code[place]), code[place].start))
    return tuple(added)


def _body(code: Sequence[SqlToken], words: Sequence[str], at: int) -> int | None:
    """Return where the body begins: at the word after the parameters, or at a quoted body."""
    depth = 0
    for index in range(at, len(words)):
        depth += (words[index] == "(") - (words[index] == ")")
        if depth == 0 and (words[index] in _BEFORE_BODY or words[index].startswith("$")):
            return code[index].start
    return None
