"""Cuts Jupyter notebooks by cell: text as Markdown, code in the kernel's language; outputs are dropped.

A chunk's text is derived: it has the lines of cells, not the JSON around them. Its lines are true: counted from the
chunk's first line, line n of the text is line n of the file, so blank lines stand for the JSON between cells. What
follows the text within the chunk's lines is JSON and outputs.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from codequarry.ingest.chunking.formats.notebook_cells import Notebook, NotebookCell, read_notebook
from codequarry.ingest.chunking.pieces import Piece, Sizes
from codequarry.ingest.chunking.source_file import SourceFile
from codequarry.ingest.chunking.text import SourceText, count_tokens
from codequarry.shared.relations import shifted

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S[^\n]{0,200}?)[ \t#]*$")
# Commands of IPython, which no grammar knows.
_COMMAND = re.compile(r"(?m)^[ \t]*(?:[%!?]|\w+\?\??$)")
_MAGIC = "%%"
# More rows before the first cell are metadata; the lines of the first chunk are not true then.
_MAX_HEAD_ROWS = 100

CellCut = Callable[[SourceFile, SourceText, Sizes], list[Piece]]
"""Cuts the text of a cell by its language."""


def notebook_pieces(source: SourceFile, text: SourceText, sizes: Sizes, cut: CellCut) -> list[Piece] | None:
    """Cut a notebook; return None if the file is none or has only blank cells, or if cells share a row."""
    notebook = read_notebook(text)
    if notebook is None or not any(line.strip() for cell in notebook.cells for line in cell.lines):
        return None
    # Parts that overlap would show the rows between them twice.
    cutter = _CellCutter(source, text, Sizes(sizes.target, sizes.maximum, 0), cut)
    return _tiled(list(cutter.pieces(notebook)), text, sizes)


def _tiled(pieces: list[Piece], text: SourceText, sizes: Sizes) -> list[Piece] | None:
    """Return the pieces with all rows of the file: each goes on to the next one's first row."""
    starts = [piece.start for piece in pieces]
    # A cell whose lines share rows of the file can't be cut.
    too_large = any(count_tokens(piece.text or "") > sizes.maximum for piece in pieces)
    if starts != sorted(set(starts)) or too_large:
        return None
    ends = [*starts[1:], text.rows]
    first = pieces[0]
    head = "\n" * first.start if first.start <= _MAX_HEAD_ROWS else ""
    pieces[0] = replace(first, start=0, text=head + (first.text or ""))
    return [replace(piece, end=end) for piece, end in zip(pieces, ends, strict=True)]


@dataclass(slots=True)
class _CellCutter:
    """Cuts cells in order, and remembers the headings above them."""

    source: SourceFile
    text: SourceText
    sizes: Sizes
    cut: CellCut
    headings: tuple[tuple[int, str], ...] = ()

    def pieces(self, notebook: Notebook) -> Iterator[Piece]:
        """Yield the pieces of all cells; neighbouring cells of text are one document."""
        for is_document, group in groupby(notebook.cells, lambda cell: cell.type == "markdown" and cell.aligned):
            cells = list(group)
            if is_document:
                yield from self._aligned(cells, "markdown")
                self._note_headings(cells)
                continue
            for cell in cells:
                language = self._language(cell, notebook.language)
                yield from self._aligned([cell], language) if cell.aligned else self._whole(cell, language)
                if cell.type == "markdown":
                    self._note_headings([cell])

    def _language(self, cell: NotebookCell, kernel: str) -> str:
        if cell.type == "code":
            return cell.magic or kernel
        return "markdown" if cell.type in {"markdown", "heading"} else "text"

    def _aligned(self, cells: list[NotebookCell], language: str) -> list[Piece]:
        """Cut cells whose lines are in rows of their own, with a blank line for each row between them."""
        first = cells[0].rows[0]
        lines = ["\n"] * (cells[-1].rows[-1] + 1 - first)
        for cell in cells:
            for row, line in zip(cell.rows, cell.lines, strict=True):
                lines[row - first] = line if line.endswith("\n") else line + "\n"
        shown = SourceText.of("".join(lines))
        return [
            replace(
                self._described(piece, language),
                start=first + piece.start,
                end=first + piece.end,
                body_byte=self._byte_of(piece, first, shown),
                text=shown.between(piece.start, piece.end),
                relations=shifted(piece.relations, first),
            )
            for piece in self._cut(shown, language)
        ]

    def _byte_of(self, piece: Piece, first: int, shown: SourceText) -> int | None:
        """Return the byte of the file at which the row with the first line of a body begins."""
        if piece.body_byte is None:
            return None
        row = next(row for row in range(piece.start, piece.end) if piece.body_byte <= shown.byte_starts[row + 1])
        return self.text.byte_starts[first + row]

    def _whole(self, cell: NotebookCell, language: str) -> list[Piece]:
        """Return a cell whose lines are all in one row as one piece."""
        shown = SourceText.of("".join(cell.lines))
        pieces = self._cut(shown, language)
        whole = self._described(pieces[0] if len(pieces) == 1 else _union(pieces), language)
        start, end = cell.rows[0], cell.rows[-1] + 1
        return [replace(whole, start=start, end=end, body_byte=None, text=shown.text, symbols=(), relations="")]

    def _cut(self, shown: SourceText, language: str) -> list[Piece]:
        read = shown
        if language == "python" and _COMMAND.search(shown.text):
            read = SourceText.of(_COMMAND.sub(lambda found: "#" * len(found[0]), shown.text))
        elif shown.text.startswith(_MAGIC):
            line, end, rest = shown.text.partition("\n")
            read = SourceText.of(" " * len(line) + end + rest)
        return self.cut(replace(self.source, language=language, text=read.text), read, self.sizes)

    def _described(self, piece: Piece, language: str) -> Piece:
        """Return a piece with its language, and the headings above the cell as context."""
        titled = language == "markdown" and (piece.name or piece.context)
        above = "" if titled else " > ".join(title for _, title in self.headings)
        context = "\n".join(filter(None, (above, piece.context)))
        return replace(piece, language=language, context=context, type="block" if piece.type == "file" else piece.type)

    def _note_headings(self, cells: list[NotebookCell]) -> None:
        fenced = False
        for line in (line for cell in cells for line in cell.lines):
            fenced ^= line.lstrip().startswith(("```", "~~~"))
            if not fenced and (found := _HEADING.match(line.rstrip("\n"))):
                level = len(found[1])
                above = tuple(heading for heading in self.headings if heading[0] < level)
                self.headings = (*above, (level, found[2]))


def _union(pieces: list[Piece]) -> Piece:
    """Return a piece with the names of several."""
    return Piece(
        0,
        0,
        "documentation" if pieces[0].type == "documentation" else "block",
        package=pieces[0].package,
        defines=tuple(dict.fromkeys(name for piece in pieces for name in piece.defines)),
        references=tuple(dict.fromkeys(name for piece in pieces for name in piece.references)),
        imports=tuple(dict.fromkeys(name for piece in pieces for name in piece.imports)),
        calls=tuple(dict.fromkeys(name for piece in pieces for name in piece.calls)),
        dependencies=tuple(dict.fromkeys(name for piece in pieces for name in piece.dependencies)),
    )
