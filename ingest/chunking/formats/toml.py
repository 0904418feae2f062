"""Reads the tables and keys of TOML files row by row."""

import re
from dataclasses import dataclass, field

from codequarry.ingest.chunking.formats.entries import MAX_NAME_CHARACTERS, Entry, qualify
from codequarry.ingest.chunking.formats.entry_pieces import Entries
from codequarry.ingest.chunking.text import SourceText

_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_KEY = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART}){{0,50}}"
_TABLE = re.compile(rf"\[\[?[ \t]*({_KEY})[ \t]*\]\]?[ \t]*(?:#.*)?$")
_ASSIGNMENT = re.compile(rf"({_KEY})[ \t]*=")
_PART_OF_KEY = re.compile(_PART)
# Multi-line strings first: three quotes are not an empty string and a quote.
_TOKEN = re.compile(r"""\"\"\"|'''|"(?:[^"\\]|\\.)*+"?|'[^']*+'?|[\[\]{}#]""")


def toml_entries(text: SourceText) -> Entries:
    """Return the tables and keys of a TOML file."""
    reader = _Reader()
    for row, line in enumerate(text.lines):
        reader.read(row, line.strip())
    return Entries(reader.entries, reader.comments)


@dataclass(slots=True)
class _Reader:
    entries: list[Entry] = field(default_factory=list)
    comments: list[bool] = field(default_factory=list)
    table: str = ""
    depth: int = 0
    quotes: str = ""
    brackets: int = 0

    def read(self, row: int, line: str) -> None:
        """Read the next row, without the white space around it."""
        self.comments.append(False)
        if self.quotes or self.brackets:
            self._read_value(line, 0)
        elif line.startswith("#"):
            self.comments[row] = True
        elif line.startswith("[") and (table := _TABLE.match(line)):
            parts = _parts(table[1])
            self.table, self.depth = qualify("", ".".join(parts)), 1
            self._add(row, 0, parts[-1], self.table, "table")
        elif key := _ASSIGNMENT.match(line):
            parts = _parts(key[1])
            self._add(row, self.depth, parts[-1], qualify(self.table, ".".join(parts)), "key")
            self._read_value(line, key.end())

    def _add(self, row: int, depth: int, name: str, qualified: str, kind: str) -> None:
        name = name if len(name) <= MAX_NAME_CHARACTERS else ""
        self.entries.append(Entry(row, depth, name, qualified, kind, qualified or self.table))

    def _read_value(self, line: str, column: int) -> None:
        """Read on in a value, to its end or that of the row."""
        while column < len(line):
            if self.quotes:
                end = line.find(self.quotes, column)
                if end < 0:
                    return
                self.quotes, column = "", end + len('"""')
                continue
            found = _TOKEN.search(line, column)
            if found is None or found[0] == "#":
                return
            column = found.end()
            if found[0] in ('"""', "'''"):
                self.quotes = found[0]
            elif found[0] in "[{":
                self.brackets += 1
            elif found[0] in "]}":
                self.brackets = max(self.brackets - 1, 0)


def _parts(key: str) -> list[str]:
    return [part[1:-1] if part[0] in "\"'" else part for part in _PART_OF_KEY.findall(key)]
