"""Reads the keys of JSON files: also of JSON lines, JSON with comments, and JSON5."""

from codequarry.ingest.chunking.formats.entries import (
    MAX_ENTRIES_IN_ROW,
    MAX_NAME_CHARACTERS,
    CommentRows,
    Entry,
    qualify,
)
from codequarry.ingest.chunking.formats.entry_pieces import Entries
from codequarry.ingest.chunking.formats.json_tokens import JsonToken, TokenType, json_tokens
from codequarry.ingest.chunking.text import SourceText


def json_entries(text: SourceText) -> Entries:
    """Return the keys, and the items of lists, with the values at the top as items too."""
    entries: list[Entry] = []
    comments = CommentRows.of(text)
    names = [""]
    in_row, row_of_count = 0, -1
    for token in json_tokens(text):
        if token.type is TokenType.COMMENT:
            comments.note(token.start, token.end, token.row)
            continue
        if token.type is TokenType.CLOSE:
            del names[max(token.depth + 1, 1) :]
            continue
        if token.row != row_of_count:
            in_row, row_of_count = 0, token.row
        if token.type is TokenType.KEY:
            name = _name(token.raw)
            outer = names[min(token.depth, len(names) - 1)]
            qualified = qualify(outer, name) if name else ""
            label = qualified or outer
            in_row += 1
            if in_row <= MAX_ENTRIES_IN_ROW:
                entries.append(Entry(token.row, token.depth, name, qualified, "key", label))
            # The value's bracket belongs to the key.
            del names[token.depth + 1 :]
            names.append(label)
            continue
        if token.in_list and not _is_in_row(entries, token):
            entries.append(Entry(token.row, token.depth, label=names[token.depth] if token.depth < len(names) else ""))
        if token.type is TokenType.OPEN and (token.in_list or len(names) <= token.depth + 1):
            del names[token.depth + 1 :]
            names.append(names[-1])
    return Entries(entries, comments.rows)


def _is_in_row(entries: list[Entry], token: JsonToken) -> bool:
    """Return whether an item adds nothing, because another entry of its row is as far out or further."""
    return bool(entries) and entries[-1].row == token.row and entries[-1].depth <= token.depth


def _name(raw: str) -> str:
    name = raw[1:-1] if raw[:1] in "\"'" and raw[-1:] == raw[:1] and len(raw) > 1 else raw.strip("\"'")
    return name if len(name) <= MAX_NAME_CHARACTERS else ""
