"""What a file's code says: the names it calls, mentions, defines, imports and exports, each at its place."""

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from tree_sitter import Node

from codequarry.ingest.chunking.spec import ImportedModule, LanguageSpec
from codequarry.ingest.chunking.text import SourceText

# Generated tables call thousands of names; the first hundreds say what the chunk is about.
MAX_CALLS = 200
MAX_REFERENCES = 300
MAX_DEFINES = 300
MAX_IMPORTS = 100
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

    def count(self, start: int, end: int) -> int:
        """Count the captures that begin in a byte range."""
        return bisect_left(self.starts, end) - bisect_left(self.starts, start)


@dataclass(frozen=True, slots=True)
class Import:
    """An imported module with the byte where its statement begins."""

    start: int
    module: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """All marks of one file."""

    calls: Marks
    references: Marks
    definitions: Marks
    exports: Marks
    branches: Marks
    imports: tuple[Import, ...]

    def imports_in(self, start: int, end: int, text: str) -> list[Import]:
        """Return the imports written in a byte range, and those whose names ``text`` uses, reduced to these names."""
        words = set(_WORD.findall(text)) if self.imports else set()
        found = []
        for one in self.imports:
            if start <= one.start < end:
                found.append(one)
            elif used := tuple(name for name in one.names if name in words):
                found.append(Import(one.start, one.module, used))
        return found[:MAX_IMPORTS]


def last_part(module: str) -> str:
    """Return the part of a module's path that names it."""
    return _WORD.findall(module)[-1] if _WORD.search(module) else module


def collect_facts(captures: dict[str, list[Node]], spec: LanguageSpec, text: SourceText) -> Facts:
    """Sort the captures of a file's query by place."""
    definitions = _marks(captures.get("def", ()), text)
    defined_at = set(definitions.starts)
    mentions = [node for node in captures.get("ref", ()) if node.start_byte not in defined_at]
    calls = captures.get("call", [])
    branches = sorted(node.start_byte for node in captures.get("branch", ()))
    imports = [
        Import(node.start_byte, one.module, one.names)
        for node in sorted(captures.get("import", ()), key=lambda node: node.start_byte)
        for one in _read_import(node, spec, text)
    ]
    return Facts(
        calls=_marks(calls, text),
        references=_marks([*calls, *mentions], text),
        definitions=definitions,
        exports=_marks(captures.get("export", ()), text),
        branches=Marks(tuple(branches)),
        imports=tuple(one for one in imports if one.module),
    )


def _read_import(node: Node, spec: LanguageSpec, text: SourceText) -> list[ImportedModule]:
    return spec.imports(node, text.data) if node.end_byte - node.start_byte < 100_000 else []


def _marks(nodes: Iterable[Node], text: SourceText) -> Marks:
    data = text.data
    found = []
    for node in nodes:
        start, end = node.start_byte, node.end_byte
        if start < end <= start + _MAX_NAME:
            found.append((start, data[start:end].decode("utf-8", "replace")))
    found.sort()
    return Marks(tuple(start for start, _ in found), tuple(name for _, name in found))
