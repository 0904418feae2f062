"""Collects the names that a file calls, mentions, defines, imports and exports, each with its place."""

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from codequarry.ingest.chunking.declarations import Declaration
from codequarry.ingest.chunking.language_spec import ImportedModule, LanguageSpec, Role
from codequarry.ingest.chunking.text import SourceText
from codequarry.shared.identifiers import names_of

# Generated tables have thousands of names; the first few hundred show what the chunk is about.
MAX_CALLS = 200
MAX_REFERENCES = 300
MAX_DEFINES = 300
MAX_IMPORTS = 100
MAX_FILE_IMPORTS = 2_000
# Longer names are mangled or minified.
_MAX_NAME = 200

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Marks:
    """The captures of one kind in file order: the first byte and the text of each."""

    starts: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def between(self, start: int, end: int) -> tuple[str, ...]:
        """Return the distinct names that begin in a byte range."""
        return tuple(dict.fromkeys(self.names[bisect_left(self.starts, start) : bisect_left(self.starts, end)]))

    def places(self, start: int, end: int) -> list[tuple[int, str]]:
        """Return the first byte and the name of each capture that begins in a byte range."""
        first, last = bisect_left(self.starts, start), bisect_left(self.starts, end)
        return list(zip(self.starts[first:last], self.names[first:last], strict=True))

    def count(self, start: int, end: int) -> int:
        """Count the captures that begin in a byte range."""
        return bisect_left(self.starts, end) - bisect_left(self.starts, start)


@dataclass(frozen=True, slots=True)
class Import:
    """An imported module, the first byte of its statement, and the byte range in which it is in scope."""

    start: int
    module: str
    names: tuple[str, ...]
    scope: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Facts:
    """The captures and imports of a file."""

    calls: Marks
    references: Marks
    definitions: Marks
    exports: Marks
    branches: Marks
    imports: tuple[Import, ...]
    importing: Mapping[str, tuple[Import, ...]]
    """The imports that bind a name."""

    def imports_in(self, start: int, end: int, text: str) -> list[Import]:
        """Return the imports in a byte range, and other imports that ``text`` uses, with only the names it uses."""
        if not self.imports:
            return []
        first, last = (bisect_left(self.imports, at, key=lambda found: found.start) for at in (start, end))
        written = list(self.imports[first:last])
        used: dict[tuple[int, str], Import] = {}
        # In text order: the order of a set differs between processes, and it would show in the chunk's context.
        for name in filter(self.importing.__contains__, dict.fromkeys(names_of(text))):
            for found in self.importing[name]:
                if not start <= found.start < end and found.scope[0] < end and start < found.scope[1]:
                    known = used.get((found.start, found.module))
                    used[found.start, found.module] = replace(found, names=(*known.names, name) if known else (name,))
        return [*written, *(used[key] for key in sorted(used))][:MAX_IMPORTS]


def _by_name(imports: Iterable[Import]) -> dict[str, tuple[Import, ...]]:
    """Index imports by the names that they bind; a repeated import counts once per scope."""
    found: dict[str, dict[tuple[str, tuple[int, int]], Import]] = {}
    for item in imports:
        for name in item.names:
            found.setdefault(name, {}).setdefault((item.module, item.scope), item)
    return {name: tuple(known.values()) for name, known in found.items()}


def last_part(module: str) -> str:
    """Return the last word of a module's path."""
    return _WORD.findall(module)[-1] if _WORD.search(module) else module


def collect_facts(
    captures: dict[str, list[Node]], spec: LanguageSpec, text: SourceText, outline: Sequence[Declaration]
) -> Facts:
    """Return a file's facts, taken from the captures of its query."""
    excluded = _not_defining(outline)
    holders = (node.child_by_field_name("name") for node in captures.get("holder", ()))
    defining = [*captures.get("def", ()), *(name for name in holders if name is not None and name.type == "identifier")]
    named = [node for node in defining if not _is_inside(node.start_byte, excluded)]
    if outside := captures.get("outside"):
        bodies = list(_functions(outline))
        named += [node for node in outside if not _is_inside(node.start_byte, bodies)]
    written = [pair for node in captures.get("definer", ()) for pair in spec.defined_names(node, text.data)]
    definitions = _marks(named, text, frozenset({"_"}), written)
    defined_at = set(definitions.starts)
    mentions = [node for node in captures.get("ref", ()) if node.start_byte not in defined_at]
    mentions += [
        node for node in captures.get("component", ()) if text.data[node.start_byte : node.start_byte + 1].isupper()
    ]
    calls = captures.get("call", [])
    branches = sorted(node.start_byte for node in captures.get("branch", ()))
    imports = tuple(
        Import(node.start_byte, read.module, read.names, _scope(outline, node.start_byte, (0, len(text.data))))
        for node in sorted(captures.get("import", ()), key=lambda node: node.start_byte)
        for read in _read_import(node, spec, text)
        if read.module
    )[:MAX_FILE_IMPORTS]
    return Facts(
        calls=_marks(calls, text),
        references=_marks([*calls, *mentions], text, spec.builtins),
        definitions=definitions,
        exports=_exported(captures.get("export", ()), spec, text),
        branches=Marks(tuple(branches)),
        imports=imports,
        importing=_by_name(imports),
    )


def _not_defining(outline: Sequence[Declaration]) -> list[tuple[int, int]]:
    """Return the ranges in which names are not definitions: imports, and heads of namespaces, which many files open."""
    found: list[tuple[int, int]] = []
    for declaration in outline:
        if declaration.role is Role.SCOPE and declaration.body_byte is not None:
            found.append((declaration.start_byte, declaration.body_byte))
        if declaration.role in {Role.SCOPE, Role.TRANSPARENT}:
            found += _not_defining(declaration.members)
        elif declaration.role is Role.IMPORT:
            found.append((declaration.start_byte, declaration.end_byte))
    return found


def _functions(outline: Sequence[Declaration]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of functions; those inside others are left out."""
    for declaration in outline:
        if declaration.role is Role.CALLABLE:
            yield declaration.start_byte, declaration.end_byte
        else:
            yield from _functions(declaration.members)


def _exported(nodes: Iterable[Node], spec: LanguageSpec, text: SourceText) -> Marks:
    found = sorted((node.start_byte, name) for node in nodes for name in spec.exported_names(node, text.data))
    return Marks(tuple(start for start, _ in found), tuple(name for _, name in found))


def _scope(outline: Sequence[Declaration], at: int, around: tuple[int, int]) -> tuple[int, int]:
    """Return the byte range of the innermost function, type or module around a place, or else ``around``."""
    index = bisect_right(outline, at, key=lambda declaration: declaration.start_byte) - 1
    if index < 0 or at >= outline[index].end_byte:
        return around
    inner = outline[index]
    own = inner.role in {Role.CALLABLE, Role.TYPE, Role.SCOPE}
    return _scope(inner.members, at, (inner.start_byte, inner.end_byte) if own else around)


def _is_inside(at: int, ranges: Sequence[tuple[int, int]]) -> bool:
    """Return whether a place is in one of the ranges, which are sorted and disjoint."""
    index = bisect_right(ranges, (at, sys.maxsize)) - 1
    return index >= 0 and at < ranges[index][1]


def _read_import(node: Node, spec: LanguageSpec, text: SourceText) -> list[ImportedModule]:
    return spec.imports(node, text.data) if node.end_byte - node.start_byte < 100_000 else []


def _marks(
    nodes: Iterable[Node],
    text: SourceText,
    without: frozenset[str] = frozenset(),
    written: Iterable[tuple[int, str]] = (),
) -> Marks:
    data = text.data
    found = list(written)
    for node in nodes:
        start, end = node.start_byte, node.end_byte
        if start < end <= start + _MAX_NAME:
            name = data[start:end].decode("utf-8", "replace")
            found += [(start, name)] if name not in without else []
    found = sorted(set(found))
    return Marks(tuple(start for start, _ in found), tuple(name for _, name in found))
