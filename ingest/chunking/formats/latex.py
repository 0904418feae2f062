"""Cuts LaTeX into pieces by heading, and BibTeX by entry."""

import re

from codequarry.ingest.chunking.pieces import Piece, Sizes
from codequarry.ingest.chunking.sections import (
    BLANK_ROW,
    LIST_ITEM,
    MAX_TITLE_CHARACTERS,
    PARAGRAPH_ROW,
    Heading,
    Label,
    SectionedText,
    last_parts,
    section_pieces,
)
from codequarry.ingest.chunking.text import SourceText

_LEVELS = {
    "part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5, "paragraph": 6, "subparagraph": 7,
}  # fmt: skip
_FRAME_LEVEL = 8
_HEADING = re.compile(r"\\(part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?[ \t]*(?=[\[{])")
_FRAME = re.compile(r"\\begin\{frame\}(?:<[^>]*>)?(?:\[[^\]]*\])?(?=\{)")
_VERBATIM = re.compile(r"\\begin\{(verbatim\*?|lstlisting|minted|Verbatim|comment|filecontents\*?)\}")
_BLOCK = re.compile(r"\\(begin|end)\{[^}]{0,80}\}")
# Its bounds keep a row of unclosed braces from taking quadratic time.
_DEFINITION = re.compile(
    r"\\(?:label|bibitem(?:\[[^\]]{0,200}\])?)\{([^}]{1,200})\}"
    r"|\\(?:re|provide)?newcommand\*?[ \t]*\{?\\([A-Za-z@]+)"
    r"|\\(?:New|Renew|Provide|Declare)DocumentCommand[ \t]*\{?\\([A-Za-z@]+)"
    r"|\\[egx]?def[ \t]*\\([A-Za-z@]+)"
    r"|\\(?:newenvironment|newtheorem|newcounter|DeclareOption)\*?\{([^}]{1,200})\}"
)
_ENTRY = re.compile(r"@(\w+)[ \t]*[{(][ \t]*([^\s,={}]+)[ \t]*,?")
_CODE = re.compile(r"\\(?:texttt|code|lstinline|verb)[{|!]([A-Za-z_][\w.:\\]{0,200})(?:\(\))?[}|!]")
_COMMAND = re.compile(r"\\[A-Za-z@]+\*?(?:\[[^\]]*\])?|[{}$~]")
# A title for bookmarks, which has no formulas.
_PLAIN_TITLE = re.compile(r"\\texorpdfstring\{[^{}]{0,200}\}\{([^{}]{0,200})\}")
# A title may go on in the next rows.
_TITLE_ROWS = 3
_BIBTEX_LEVEL = 1
_DEEPEST = 4


def latex_pieces(text: SourceText, sizes: Sizes, path: str) -> list[Piece]:
    """Cut a LaTeX file at its headings, or a BibTeX file at its entries."""
    rows = [line.rstrip() for line in text.lines]
    costs, verbatim = _row_costs(rows)
    if path.lower().endswith(".bib"):
        entries = [(index, found) for index, row in enumerate(rows) if (found := _ENTRY.match(row.lstrip()))]
        headings = [Heading(index, _BIBTEX_LEVEL, found[2]) for index, found in entries]
        labels = [Label(index, found[2][:MAX_TITLE_CHARACTERS]) for index, found in entries]
    else:
        found_at = (_heading(rows, index) for index in range(len(rows)) if not verbatim[index])
        headings = [heading for heading in found_at if heading is not None]
        labels = _labels(rows, verbatim)
    return section_pieces(SectionedText(headings, costs, _mentions, labels), text, sizes)


def _mentions(text: str) -> list[str]:
    return last_parts([name.replace("\\_", "_") for name in _CODE.findall(text)])


def _heading(rows: list[str], index: int) -> Heading | None:
    row = rows[index].lstrip()
    if found := _HEADING.match(row):
        level = _LEVELS[found[1]]
    elif found := _FRAME.match(row):
        level = _FRAME_LEVEL
    else:
        return None
    rest = " ".join([row[found.end() :], *rows[index + 1 : index + _TITLE_ROWS]])
    return Heading(index, level, _title(rest[: 2 * MAX_TITLE_CHARACTERS]))


def _title(rest: str) -> str:
    """Return the first braced argument as plain text; an optional argument before it is a short title."""
    if rest.startswith("["):
        rest = rest[rest.find("]") + 1 :].lstrip()
    rest = _PLAIN_TITLE.sub(r"\1", rest)
    depth = 0
    for index, char in enumerate(rest):
        depth += (char == "{") - (char == "}")
        if depth == 0:
            rest = rest[:index]
            break
    return " ".join(_COMMAND.sub(" ", rest).replace("\\", "").split())[:MAX_TITLE_CHARACTERS]


def _labels(rows: list[str], verbatim: list[bool]) -> list[Label]:
    labels = []
    for index, row in enumerate(rows):
        if "\\" not in row or verbatim[index] or row.lstrip().startswith("%"):
            continue
        for found in _DEFINITION.finditer(row):
            labels.append(Label(index, next(filter(None, found.groups()))[:MAX_TITLE_CHARACTERS]))
    return labels


def _row_costs(rows: list[str]) -> tuple[list[int], list[bool]]:
    """Return the cost of each row by its nesting in environments, and whether it is verbatim or a comment."""
    costs: list[int] = []
    verbatim: list[bool] = []
    depth = 0
    closing = ""
    for index, row in enumerate(rows):
        above = rows[index - 1] if index else ""
        stripped = row.lstrip()
        nested = LIST_ITEM * min(depth, _DEEPEST)
        verbatim.append(bool(closing) or stripped.startswith("%"))
        costs.append(nested + (PARAGRAPH_ROW if above else 0) if stripped else BLANK_ROW)
        if closing:
            if closing in row:
                closing, depth = "", max(depth - 1, 0)
            continue
        for found in _BLOCK.finditer(row) if "\\" in row and not verbatim[-1] else ():
            if "{document}" not in found[0]:
                depth = max(depth + (1 if found[1] == "begin" else -1), 0)
        if (opened := _VERBATIM.search(row)) and not verbatim[-1]:
            closing = f"\\end{{{opened[1]}}}"
            if closing in row[opened.end() :]:
                closing = ""
    return costs, verbatim
