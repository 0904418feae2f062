"""The links to definitions in the source pages that rustdoc writes."""

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

ITEM = re.compile(
    r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:default|const|async|unsafe|safe|auto|extern(?:\s+\"[^\"]*\")?)\s+)*"
    r"(fn|struct|enum|trait|type|const|static|mod|union|macro|macro_rules!)\s+(?:mut\s+|r#)?(\w+)"
)
SOURCE_LINK = re.compile(r'<a class="src[^"]*" href="([^"]+\.rs\.html)#(\d+)(?:-(\d+))?"')


@dataclass(frozen=True, slots=True)
class Link:
    """A linked name in a source page: its line from 1, its column from 0, and where the link leads."""

    line: int
    column: int
    text: str
    address: str


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a source page that declare something."""

    page: Path
    first: int
    last: int


def read_links(page: Path) -> list[Link]:
    """Return the links of a source page to definitions, in the page's order."""
    reader = _SourcePage()
    reader.feed(page.read_text(encoding="utf-8"))
    return reader.links


class _SourcePage(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[Link] = []
        self._line, self._column = 0, 0
        self._address: str | None = None
        self._in_number = False
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag != "a":
            return
        self._in_number = "data-nosnippet" in attributes
        if self._in_number:
            self._line, self._column = int(attributes["id"] or 0), 0
        else:
            self._address, self._text = attributes.get("href"), ""

    def handle_endtag(self, tag: str) -> None:
        if tag != "a":
            return
        if self._address and self._line and "\n" not in self._text:
            start = self._column - len(self._text)
            self.links.append(Link(self._line, start, self._text, self._address))
        self._address, self._in_number = None, False

    def handle_data(self, data: str) -> None:
        if not self._in_number:
            self._text += data
            self._column = len(data) - data.rfind("\n") - 1 if "\n" in data else self._column + len(data)


def follow(page: Path, address: str) -> Lines | None:
    """Return the lines that a link in a page leads to, or None if they are not among the pages."""
    name, _, fragment = address.partition("#")
    target = (page.parent / name).resolve() if name else page
    if target.name.endswith(".rs.html") or not name:
        first, _, last = fragment.partition("-")
        return Lines(target, int(first), int(last or first)) if first.isdigit() else None
    return _documented(target, fragment) if target.is_file() else None


def _documented(target: Path, fragment: str) -> Lines | None:
    """Return the source lines of the item that a page of the documentation describes, or of its method."""
    text = target.read_text(encoding="utf-8")
    start = max(text.find(f'id="{fragment}"'), 0) if fragment and not fragment.startswith("variant.") else 0
    found = SOURCE_LINK.search(text, start)
    if not found:
        return None
    page, first, last = found.groups()
    return Lines((target.parent / page).resolve(), int(first), int(last or first))


def declared(source: list[str], lines: Lines, name: str) -> tuple[int, str, str] | None:
    """Return the line, the name and the keyword of the item or variant that the lines declare; None for a variable."""
    item = ITEM.match(source[lines.first - 1])
    if item and (item[2] == name or not _is_variant(source, lines, name)) and not _is_variable(source, lines, name):
        return lines.first, item[2], item[1]
    for number in range(lines.first, lines.last + 1):
        if _names_variant(source[number - 1], name):
            return number, name, "variant"
    return None


def _is_variant(source: list[str], lines: Lines, name: str) -> bool:
    return any(_names_variant(source[number - 1], name) for number in range(lines.first + 1, lines.last + 1))


def _names_variant(line: str, name: str) -> bool:
    return name[:1].isupper() and bool(re.match(rf"\s*{re.escape(name)}\s*(?:[({{,=]|$)", line))


def _is_variable(source: list[str], lines: Lines, name: str) -> bool:
    """Return whether one line is linked for a variable in it: a parameter, or a binding on the line of an item."""
    line = source[lines.first - 1].rstrip()
    item = ITEM.match(line)
    if lines.first != lines.last or item is None:
        return False
    return item[2] != name or (item[1] == "fn" and not line.endswith(("}", ";")))
