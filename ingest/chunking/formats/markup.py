"""Reads the elements of HTML, XML and SVG files.

No parser is used, because they refuse or repair what people write, and then give no places. Tags say where elements
are. The patterns never go back, so hostile text takes linear time.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape

from codequarry.ingest.chunking.formats.entries import (
    MAX_ENTRIES_IN_ROW,
    MAX_NAME_CHARACTERS,
    CommentRows,
    Entry,
    qualify,
)
from codequarry.ingest.chunking.formats.entry_pieces import Entries
from codequarry.ingest.chunking.text import SourceText

_TAG = re.compile(
    r"(?P<comment><!--(?:[^-]|-(?!->))*+(?:-->)?)"
    r"|<!\[CDATA\[(?:[^\]]|\](?!\]>))*+(?:\]\]>)?"
    r"|<[!?][^<>]*+>?"
    r"|</(?P<close>[A-Za-z_:][\w:.-]*+)[^<>]*+>?"
    r"""|<(?P<open>[A-Za-z_:][\w:.-]*+)(?P<attributes>(?:[^<>"']|"[^"]*+"|'[^']*+')*+)>?"""
)
_NAME = re.compile(
    r"""(?<![\w-])(?:xml:|android:)?(?:id|name)\s{0,20}=\s{0,20}(?:"([^"<>]{1,200})"|'([^'<>]{1,200})'|([\w.:-]{1,200}))""",
    re.IGNORECASE,
)
_ID = re.compile(
    r"""(?<![\w:-])id\s{0,20}=\s{0,20}(?:"([^"<>]{1,200})"|'([^'<>]{1,200})'|([\w.:-]{1,200}))""", re.IGNORECASE
)
_MARKUP = re.compile(r"<[^<>]{0,500}>")
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "title"})
_TITLE_CHARACTERS = 1_000
# Elements without content, and those whose content is no markup.
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
)
_END_OF_RAW = {tag: re.compile(f"</{tag}", re.IGNORECASE) for tag in ("script", "style", "textarea", "xmp")}
# Elements that end where one of the others begins, if nobody closed them.
_ENDED_BY = {
    "p": frozenset(
        {"address", "article", "blockquote", "div", "dl", "fieldset", "footer", "form", "h1", "h2", "h3", "h4", "h5",
         "h6", "header", "hr", "main", "nav", "ol", "p", "pre", "section", "table", "ul"}
    ),
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "tr": frozenset({"tr", "tbody", "tfoot"}),
    "td": frozenset({"td", "th", "tr"}),
    "th": frozenset({"td", "th", "tr"}),
    "option": frozenset({"option"}),
}  # fmt: skip
# The context of a chunk names only the nearest elements around it.
_SHOWN_TAGS = 6
_SHOWN_CHARACTERS = 60


def html_entries(text: SourceText) -> Entries:
    """Return the elements of an HTML file; ids, anchors and headings are names."""
    return _Reader(text, html=True).read()


def xml_entries(text: SourceText) -> Entries:
    """Return the elements of an XML file; the attributes ``id`` and ``name`` are names."""
    return _Reader(text, html=False).read()


@dataclass(slots=True)
class _Reader:
    """Reads tags in order. ``open`` has the tag, the label and the qualified name of each element that is open."""

    text: SourceText
    html: bool
    entries: list[Entry] = field(default_factory=list)
    open: list[tuple[str, str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    row: int = 0
    indent: int = -1
    in_row: int = 0

    def read(self) -> Entries:
        """Return the elements that begin a row or have a name, and the rows of comments."""
        comments = CommentRows.of(self.text)
        for found in self._tags():
            self._move_to(found.start())
            if found["comment"]:
                comments.note(found.start(), found.end(), self.row)
            elif found["close"]:
                self._close(self._cased(found["close"]))
            elif found["open"]:
                self._begin(found)
        return Entries(self.entries, comments.rows, "block", "file")

    def _tags(self) -> Iterator[re.Match[str]]:
        """Yield the tags outside scripts and styles."""
        at = 0
        source = self.text.text
        missing: set[str] = set()
        while found := _TAG.search(source, at):
            at = found.end()
            yield found
            tag = self._cased(found["open"] or "")
            if self.html and tag in _END_OF_RAW and tag not in missing:
                end = _END_OF_RAW[tag].search(source, at)
                at = end.start() if end else at
                # Looking for it once more would read to the end of the file again.
                missing |= set() if end else {tag}

    def _cased(self, tag: str) -> str:
        return tag.lower() if self.html else tag

    def _move_to(self, character: int) -> None:
        starts = self.text.char_starts
        if self.indent < 0 or starts[self.row + 1] <= character:
            while starts[self.row + 1] <= character:
                self.row += 1
            line = self.text.lines[self.row]
            self.indent, self.in_row = len(line) - len(line.lstrip()), 0

    def _begins_row(self, character: int) -> bool:
        return character == self.text.char_starts[self.row] + self.indent

    def _begin(self, found: re.Match[str]) -> None:
        tag, attributes = self._cased(found["open"]), found["attributes"]
        if self.html:
            while self.open and tag in _ENDED_BY.get(self.open[-1][0], ()):
                self._pop()
        name = self._name_of(tag, attributes, found.end())
        outer_label, outer_name = self.open[-1][1:] if self.open else ("", "")
        qualified = (name if self.html else qualify(outer_name, name)) if name else ""
        label = _label(outer_label, tag, name if tag not in _HEADINGS else "")
        if (name or self._begins_row(found.start())) and self.in_row < MAX_ENTRIES_IN_ROW:
            self.in_row += 1
            heading = self.html and tag in _HEADINGS
            kind = "heading" if heading else tag
            self.entries.append(Entry(self.row, len(self.open), name, qualified, kind, label, heading))
            if heading and (id_ := _attribute(_ID, attributes)):
                self.entries.append(Entry(self.row, len(self.open) + 1, id_, id_, "id", label))
        is_empty = attributes.endswith("/") or not found[0].endswith(">") or (self.html and tag in _VOID)
        if not is_empty:
            self.open.append((tag, label, qualified or outer_name))
            self.counts[tag] += 1

    def _name_of(self, tag: str, attributes: str, end: int) -> str:
        if self.html and tag in _HEADINGS:
            return self._title(tag, end)
        if "=" not in attributes:
            # Maven's properties are elements named by their tag.
            in_properties = not self.html and bool(self.open) and self.open[-1][0] == "properties"
            return tag[:MAX_NAME_CHARACTERS] if in_properties else ""
        return _attribute(_ID if self.html and tag != "a" else _NAME, attributes)

    def _title(self, tag: str, start: int) -> str:
        head = self.text.text[start : start + _TITLE_CHARACTERS]
        end = head.lower().find(f"</{tag}")
        title = unescape(_MARKUP.sub("", head[: max(end, 0)]))
        return " ".join(title.replace("¶", " ").split())[:MAX_NAME_CHARACTERS]

    def _close(self, tag: str) -> None:
        """Close the nearest open element with a tag; one that none opened closes nothing."""
        if not self.counts[tag]:
            return
        while self.open:
            if self._pop() == tag:
                break

    def _pop(self) -> str:
        tag, _, _ = self.open.pop()
        self.counts[tag] -= 1
        return tag


def _attribute(pattern: re.Pattern[str], attributes: str) -> str:
    found = pattern.search(attributes)
    return (found[1] or found[2] or found[3]).strip() if found else ""


def _label(outer: str, tag: str, name: str) -> str:
    """Return the tags around an element and its own, nearest last."""
    own = f"{tag[:_SHOWN_CHARACTERS]}#{name}" if name and len(name) <= _SHOWN_CHARACTERS else tag[:_SHOWN_CHARACTERS]
    tags = [*outer.split(" > "), own] if outer else [own]
    return " > ".join(tags[-_SHOWN_TAGS:])
