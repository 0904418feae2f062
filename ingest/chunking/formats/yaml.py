"""Reads the keys of YAML files row by row.

A parser would refuse templates and give no rows for what it drops. The rows of a file say where its keys are, because
YAML nests by indentation.
"""

import re
from dataclasses import dataclass, field

from codequarry.ingest.chunking.formats.entries import MAX_ENTRIES_IN_ROW, MAX_NAME_CHARACTERS, Entry, qualify
from codequarry.ingest.chunking.formats.entry_pieces import Entries
from codequarry.ingest.chunking.text import SourceText

_QUOTED_KEY = re.compile(r""""((?:[^"\\]|\\.)*+)"[ \t]*:(?=\s|$)|'((?:[^']|'')*+)'[ \t]*:(?=\s|$)""")
_END_OF_KEY = re.compile(r":(?=\s|$)")
# A plain key doesn't begin with these; with others it may, if no blank follows.
_NO_KEY = frozenset("#&*!|>%@`[]{},\"'")
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w.-]*:(?=\s|$)")
_PROPERTIES = re.compile(r"(?:[&!]\S*[ \t]+)*")
_BLOCK_SCALAR = re.compile(r"[|>][-+0-9]{0,2}[ \t]*(?:#.*)?$")
_DOCUMENT = re.compile(r"---(?:\s|$)")
# In a flow or a quoted scalar: what opens, closes or ends it.
_FLOW = re.compile(r"""[\[\]{}"']|[ \t]#""")
_MERGE_KEY = "<<"


def yaml_entries(text: SourceText) -> Entries:
    """Return the keys and items of a YAML file."""
    reader = _Reader(documents=_has_documents(text))
    for row, line in enumerate(text.lines):
        reader.read(row, line.rstrip())
    return Entries(reader.entries, reader.comments)


def _has_documents(text: SourceText) -> bool:
    """Return whether the file has several documents: a separator after the first content."""
    content = False
    for line in text.lines:
        if content and _DOCUMENT.match(line):
            return True
        content = content or (bool(line.strip()) and line[0] not in "#%" and not _DOCUMENT.match(line))
    return False


@dataclass(slots=True)
class _Reader:
    """Reads rows in order. ``stack`` has the position and the label of each entry that is open.

    The position of a key is twice its column; that of a dash is one more, because the items of a list may be at the
    column of the list's key.
    """

    documents: bool
    entries: list[Entry] = field(default_factory=list)
    comments: list[bool] = field(default_factory=list)
    stack: list[tuple[int, str]] = field(default_factory=list)
    scalar_indent: int = -1
    quote: str = ""
    brackets: int = 0
    outer_indent: int = 0

    def read(self, row: int, line: str) -> None:
        """Read the next row."""
        content = line.lstrip(" ")
        indent = len(line) - len(content)
        self.comments.append(False)
        if not content:
            return
        if self.scalar_indent >= 0:
            if indent >= self.scalar_indent:
                return
            self.scalar_indent = -1
        if self.quote or self.brackets:
            # A key at the column of the one with the open bracket shows that nobody will close it.
            if indent > self.outer_indent or not _PLAIN_KEY.match(content):
                self._continue(line, indent)
                return
            self.quote, self.brackets = "", 0
        if content[0] == "#":
            self.comments[row] = True
        elif not self.entries and self.documents:
            self._open(row, -1)
            self._read_content(row, line, indent)
        elif indent == 0 and _DOCUMENT.match(line):
            self._begin_document(row, line)
        else:
            self._read_content(row, line, indent)

    def _begin_document(self, row: int, line: str) -> None:
        self.stack.clear()
        if self.documents:
            self._open(row, -1)
        if len(line) > len("--- "):
            self._read_content(row, "    " + line[4:], 4)

    def _read_content(self, row: int, line: str, column: int) -> None:
        """Read the dashes, the key and the value that begin at a column."""
        for _ in range(MAX_ENTRIES_IN_ROW):
            if not _is_dash(line, column):
                break
            self._open(row, 2 * column + 1)
            outer = column
            column += 1
            while column < len(line) and line[column] in " \t":
                column += 1
            if column >= len(line):
                return
            if self._begins_value(line, column, outer):
                return
        name, end = _key_at(line, column)
        if end < 0:
            self._begins_value(line, column, max(column - 1, 0))
            return
        self._open(row, 2 * column, name)
        while end < len(line) and line[end] in " \t":
            end += 1
        self._begins_value(line, end, column)

    def _open(self, row: int, position: int, name: str = "") -> None:
        while self.stack and self.stack[-1][0] >= position:
            self.stack.pop()
        outer = self.stack[-1][1] if self.stack else ""
        named = bool(name) and name != _MERGE_KEY and len(name) <= MAX_NAME_CHARACTERS
        qualified = qualify(outer, name) if named else ""
        label = qualified or outer
        self.entries.append(Entry(row, len(self.stack), name if named else "", qualified, "key", label))
        self.stack.append((position, label))

    def _begins_value(self, line: str, column: int, outer: int) -> bool:
        """Read a value that may go on in further rows; return whether it is one that holds no key in this row."""
        found = _PROPERTIES.match(line, column)
        column = found.end() if found else column
        if column >= len(line):
            return False
        if line[column] in "|>" and _BLOCK_SCALAR.match(line, column):
            self.scalar_indent = outer + 1
            return True
        if line[column] in "[{" or (line[column] in "\"'" and _key_at(line, column)[1] < 0):
            self.outer_indent = outer
            self._continue(line, column)
            return True
        return False

    def _continue(self, line: str, column: int) -> None:
        """Read on in a flow or a quoted scalar, to its end or that of the row."""
        while column < len(line):
            if self.quote:
                column = _end_of_quote(line, column, self.quote)
                self.quote = "" if column <= len(line) else self.quote
                if not self.quote and not self.brackets:
                    return
                continue
            found = _FLOW.search(line, column)
            if found is None or found[0][-1] == "#":
                return
            column = found.end()
            if found[0] in "\"'":
                self.quote = found[0]
            else:
                self.brackets += 1 if found[0] in "[{" else -1
                if self.brackets <= 0:
                    self.brackets = 0
                    return


def _is_dash(line: str, column: int) -> bool:
    """Return whether the dash of an item, or the question mark of a long key, is at a column."""
    return line.startswith(("- ", "? "), column) or (column == len(line) - 1 and line[column] in "-?")


def _end_of_quote(line: str, column: int, quote: str) -> int:
    """Return the column after the closing quote, or one beyond the row's end."""
    while column < len(line):
        if line[column] == quote:
            if quote == "'" and line.startswith("''", column):
                column += 2
                continue
            return column + 1
        column += 2 if quote == '"' and line[column] == "\\" else 1
    return len(line) + 1


def _key_at(line: str, column: int) -> tuple[str, int]:
    """Return the key at a column and the column after its colon, which is -1 if there is no key."""
    if column >= len(line):
        return "", -1
    if line[column] in "\"'":
        found = _QUOTED_KEY.match(line, column)
        return (found[1] or found[2] or "", found.end()) if found else ("", -1)
    if line[column] in _NO_KEY:
        return "", -1
    end = _END_OF_KEY.search(line, column)
    if end is None or line.find(" #", column, end.start()) >= 0:
        return "", -1
    return line[column : end.start()].rstrip(), end.end()
