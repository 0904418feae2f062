"""Reads the cells of a Jupyter notebook, with the row of the file that each line of a cell is in."""

import json
import re
from dataclasses import dataclass, field

from codequarry.ingest.chunking.formats.json_tokens import JsonToken, TokenType, json_tokens
from codequarry.ingest.chunking.languages import LANGUAGES
from codequarry.ingest.chunking.text import SourceText

# Jupyter's own kernel.
_DEFAULT_LANGUAGE = "python"
# Names of kernels and of cell magics for languages that are called otherwise here.
_LANGUAGE_BY_NAME = {
    "bash": "shell", "sh": "shell", "zsh": "shell", "js": "javascript", "csharp": "c#", "fsharp": "f#", "cpp": "c++",
    "c++11": "c++", "c++14": "c++", "c++17": "c++", "ir": "r", "ipython": "python", "python2": "python",
    "python3": "python", "pypy": "python", "cython": "python", "latex": "tex", "postgresql": "sql", "mysql": "sql",
    "sqlite": "sql", "bigquery": "sql", "svg": "svg",
}  # fmt: skip
_CELL_MAGIC = re.compile(r"%%([\w+#]{1,30})")
_WHOLE_PAIRS = re.compile(r"[\ud800-\udbff][\udc00-\udfff]|([\ud800-\udfff\0])")
# Cells are in a list of the notebook, or (before 2014) in one of its worksheets.
_CELL_DEPTH = {("cells",): 2, ("worksheets", "cells"): 4}


@dataclass(slots=True)
class NotebookCell:
    """A cell: its lines with their line feeds, and the row of each. ``aligned`` is set if each line has its own row."""

    type: str = ""
    lines: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    aligned: bool = True

    @property
    def magic(self) -> str:
        """The language that the first line says the cell is in, or an empty string."""
        found = _CELL_MAGIC.match(self.lines[0]) if self.lines else None
        return language_named(found[1]) if found else ""


@dataclass(frozen=True, slots=True)
class Notebook:
    """The cells that have a text, and the language of those with code."""

    cells: list[NotebookCell]
    language: str


def language_named(name: str) -> str:
    """Return the id of the language with a kernel's name for it, or an empty string if it is not known."""
    lower = name.strip().lower()
    known = _LANGUAGE_BY_NAME.get(lower, lower)
    return known if known in LANGUAGES else ""


def read_notebook(text: SourceText) -> Notebook | None:
    """Return a notebook's cells without their outputs, or None if the file is no notebook."""
    reader = _Reader()
    try:
        for token in json_tokens(text):
            reader.read(token)
    except ValueError:
        return None
    cells = [cell for cell in reader.cells if cell.lines]
    return Notebook(cells, reader.language or _DEFAULT_LANGUAGE) if cells else None


@dataclass(slots=True)
class _Reader:
    """Reads tokens in order. ``keys`` are those around the token, by their depth."""

    cells: list[NotebookCell] = field(default_factory=list)
    keys: dict[int, str] = field(default_factory=dict)
    language: str = ""

    def read(self, token: JsonToken) -> None:
        """Read the next token; raise ValueError if a cell's text is not valid JSON."""
        depth = token.depth
        if token.type is TokenType.KEY:
            self.keys[depth] = token.raw.strip("\"'")
            for deeper in [known for known in self.keys if known > depth]:
                del self.keys[deeper]
        elif token.type is TokenType.OPEN and depth == self._cell_depth() and token.in_list and token.raw == "{":
            self.cells.append(NotebookCell())
        elif token.type is TokenType.VALUE:
            self._read_value(token)

    def _cell_depth(self) -> int:
        outer = (self.keys.get(1, ""), self.keys[3]) if self.keys.get(1) == "worksheets" and 3 in self.keys else None
        return _CELL_DEPTH.get(outer or (self.keys.get(1, ""),), -1)

    def _read_value(self, token: JsonToken) -> None:
        cell_depth = self._cell_depth()
        if cell_depth < 0 or not self.cells:
            self._read_metadata(token)
            return
        key = self.keys.get(cell_depth + 1)
        own = token.depth == cell_depth + 1
        if key == "cell_type" and own:
            self.cells[-1].type = _decoded(token.raw)
        elif key in {"source", "input"} and (own or (token.depth == cell_depth + 2 and token.in_list)):
            self._add(_decoded(token.raw), token.row)

    def _read_metadata(self, token: JsonToken) -> None:
        if self.keys.get(1) != "metadata":
            return
        place = (self.keys.get(2), self.keys.get(3))
        # The kernel's specification may lack the language; the kernel that ran last is the second best answer.
        if place == ("kernelspec", "language") or (place == ("language_info", "name") and not self.language):
            self.language = language_named(_decoded(token.raw)) or self.language

    def _add(self, source: str, row: int) -> None:
        """Add a string of a cell's source: normally one line, with its line feed unless it is the last one."""
        cell = self.cells[-1]
        lines = source.split("\n")
        if not lines[-1] and len(lines) > 1:
            lines.pop()
        follows = bool(cell.rows) and (cell.rows[-1] == row or not cell.lines[-1].endswith("\n"))
        if len(lines) > 1 or follows:
            cell.aligned = False
        if follows and not cell.lines[-1].endswith("\n"):
            cell.lines[-1] += lines.pop(0)
        cell.lines += [line + "\n" for line in lines]
        cell.rows += [row] * len(lines)
        if not source.endswith("\n") and cell.lines:
            cell.lines[-1] = cell.lines[-1].removesuffix("\n")


def _decoded(raw: str) -> str:
    """Return the string that a token stands for; half of a pair of surrogates is replaced, as is a null character."""
    value = json.loads(raw, strict=False)
    if not isinstance(value, str):
        raise ValueError(raw[:20])
    return _WHOLE_PAIRS.sub(lambda found: "\ufffd" if found[1] else found[0], value)
