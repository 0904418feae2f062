"""What a file's code says: the names it calls, mentions, defines, imports and exports, each at its place."""

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from codequarry.ingest.chunking.language_spec import ImportedModule, LanguageSpec, Role
from codequarry.ingest.chunking.outline import Declaration
from codequarry.ingest.chunking.text import SourceText

# Generated tables call thousands of names; the first hundreds say what the chunk is about.
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
    """The captures of one name, in file order: where each begins and its text."""

    starts: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def between(self, start: int, end: int) -> tuple[str, ...]:
        """Return the names that begin in a byte range, each once."""
        return tuple(dict.fromkeys(self.names[bisect_left(self.starts, start) : bisect_left(self.starts, end)]))

    def places(self, start: int, end: int) -> list[tuple[int, str]]:
        """Return where each name in a byte range begins, and the name."""
        first, last = bisect_left(self.starts, start), bisect_left(self.starts, end)
        return list(zip(self.starts[first:last], self.names[first:last], strict=True))

    def count(self, start: int, end: int) -> int:
        """Count the captures that begin in a byte range."""
        return bisect_left(self.starts, end) - bisect_left(self.starts, start)


@dataclass(frozen=True, slots=True)
class Import:
    """An imported module with the byte where its statement begins, and the bytes between which it can be used."""

    start: int
    module: str
    names: tuple[str, ...]
    scope: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Facts:
    """All marks of one file."""

    calls: Marks
    references: Marks
    definitions: Marks
    exports: Marks
    branches: Marks
    imports: tuple[Import, ...]
    importing: Mapping[str, tuple[Import, ...]]
    """The imports that bind a name."""

    def imports_in(self, start: int, end: int, text: str) -> list[Import]:
        """Return the imports written in a byte range, and those whose names ``text`` uses, reduced to these names."""
        if not self.imports:
            return []
        first, last = (bisect_left(self.imports, at, key=lambda one: one.start) for at in (start, end))
        written = list(self.imports[first:last])
        used: dict[tuple[int, str], Import] = {}
        # In the order of the text, which is the same in every process: a set's is not, and a chunk's context says it.
        for name in dict.fromkeys(_WORD.findall(text)):
            for one in self.importing.get(name, ()):
                if not start <= one.start < end and one.scope[0] < end and start < one.scope[1]:
                    known = used.get((one.start, one.module))
                    used[one.start, one.module] = replace(one, names=(*known.names, name) if known else (name,))
        return [*written, *(used[key] for key in sorted(used))][:MAX_IMPORTS]


def _by_name(imports: Iterable[Import]) -> dict[str, tuple[Import, ...]]:
    """Index imports by the names that they bind; the same one twice in one scope counts once."""
    found: dict[str, dict[tuple[str, tuple[int, int]], Import]] = {}
    for one in imports:
        for name in one.names:
            found.setdefault(name, {}).setdefault((one.module, one.scope), one)
    return {name: tuple(known.values()) for name, known in found.items()}


def last_part(module: str) -> str:
    """Return the part of a module's path that names it."""
    return _WORD.findall(module)[-1] if _WORD.search(module) else module


def collect_facts(
    captures: dict[str, list[Node]], spec: LanguageSpec, text: SourceText, outline: Sequence[Declaration]
) -> Facts:
    """Sort the captures of a file's query by place."""
    others = _not_defining(outline)
    holders = (node.child_by_field_name("name") for node in captures.get("holder", ()))
    defining = [*captures.get("def", ()), *(name for name in holders if name is not None and name.type == "identifier")]
    named = [node for node in defining if not _is_inside(node.start_byte, others)]
    definitions = _marks(named, text, frozenset({"_"}))
    defined_at = set(definitions.starts)
    mentions = [node for node in captures.get("ref", ()) if node.start_byte not in defined_at]
    mentions += [
        node for node in captures.get("component", ()) if text.data[node.start_byte : node.start_byte + 1].isupper()
    ]
    calls = captures.get("call", [])
    branches = sorted(node.start_byte for node in captures.get("branch", ()))
    imports = tuple(
        Import(node.start_byte, one.module, one.names, _scope(outline, node.start_byte, (0, len(text.data))))
        for node in sorted(captures.get("import", ()), key=lambda node: node.start_byte)
        for one in _read_import(node, spec, text)
        if one.module
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
    """Return where names are no definitions: in imports, and in the heads of namespaces, which many files open."""
    found: list[tuple[int, int]] = []
    for one in outline:
        if one.role is Role.SCOPE and one.body_byte is not None:
            found.append((one.start_byte, one.body_byte))
        if one.role in {Role.SCOPE, Role.TRANSPARENT}:
            found += _not_defining(one.members)
        elif one.role is Role.IMPORT:
            found.append((one.start_byte, one.end_byte))
    return found


def _exported(nodes: Iterable[Node], spec: LanguageSpec, text: SourceText) -> Marks:
    found = sorted((node.start_byte, name) for node in nodes for name in spec.exported_names(node, text.data))
    return Marks(tuple(start for start, _ in found), tuple(name for _, name in found))


def _scope(outline: Sequence[Declaration], at: int, around: tuple[int, int]) -> tuple[int, int]:
    """Return the bytes of the innermost function, type or module around a place; of the whole file if there is none."""
    index = bisect_right(outline, at, key=lambda one: one.start_byte) - 1
    if index < 0 or at >= outline[index].end_byte:
        return around
    one = outline[index]
    own = one.role in {Role.CALLABLE, Role.TYPE, Role.SCOPE}
    return _scope(one.members, at, (one.start_byte, one.end_byte) if own else around)


def _is_inside(at: int, ranges: Sequence[tuple[int, int]]) -> bool:
    """Tell whether a place is in one of the ranges, which are in order and apart."""
    index = bisect_right(ranges, (at, sys.maxsize)) - 1
    return index >= 0 and at < ranges[index][1]


def _read_import(node: Node, spec: LanguageSpec, text: SourceText) -> list[ImportedModule]:
    return spec.imports(node, text.data) if node.end_byte - node.start_byte < 100_000 else []


def _marks(nodes: Iterable[Node], text: SourceText, without: frozenset[str] = frozenset()) -> Marks:
    data = text.data
    found = []
    for node in nodes:
        start, end = node.start_byte, node.end_byte
        if start < end <= start + _MAX_NAME:
            name = data[start:end].decode("utf-8", "replace")
            found += [(start, name)] if name not in without else []
    found = sorted(set(found))
    return Marks(tuple(start for start, _ in found), tuple(name for _, name in found))
