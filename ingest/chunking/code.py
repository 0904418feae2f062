"""Cuts source code into pieces by the syntax tree."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from codequarry.ingest.chunking.comments import MAX_DOC_CHARACTERS, MAX_SENTENCE, shorten, summary
from codequarry.ingest.chunking.declarations import Declaration
from codequarry.ingest.chunking.facts import (
    MAX_CALLS,
    MAX_DEFINES,
    MAX_REFERENCES,
    Facts,
    Import,
    collect_facts,
    last_part,
)
from codequarry.ingest.chunking.grammar import load_grammar
from codequarry.ingest.chunking.language_spec import LanguageSpec, Role
from codequarry.ingest.chunking.names_without_rules import names_without_rules
from codequarry.ingest.chunking.outline import Outliner
from codequarry.ingest.chunking.outline_items import Family, OutlineItem, items_of
from codequarry.ingest.chunking.pieces import Cut, Piece, Sizes, cut_rows
from codequarry.ingest.chunking.text import SourceText
from codequarry.ingest.symbols.file_definitions import DefinitionFacts
from codequarry.ingest.symbols.file_references import Captures
from codequarry.ingest.symbols.file_symbols import FileNames, read_names
from codequarry.shared.model import SymbolType
from codequarry.shared.relations import defined_names, encode

# Cost of a row in which no statement begins: a part begins there only as a last resort.
_NO_BORDER = 1_000
# A file comment about the licence is not documentation.
_LICENSE = re.compile(r"\b(?:copyright|licen[cs]ed?|SPDX-License-Identifier|all rights reserved)\b", re.IGNORECASE)
# Further imports used in a chunk add no information.
_MAX_USES = 12


def code_pieces(spec: LanguageSpec, path: str, text: SourceText, sizes: Sizes) -> list[Piece] | None:
    """Cut a source file along its declarations; return None if no grammar can parse it in time."""
    grammar = load_grammar(spec)
    tree = grammar.parse(text.data) if grammar is not None else None
    if grammar is None or tree is None:
        return None
    root = tree.root_node
    spec, captures = grammar.read(root, text.data)
    declarations = Outliner(spec, text, sizes.target).declarations(root)
    facts = collect_facts(captures, spec, text, declarations)
    package = spec.package(root, text.data, path)
    names = _names(captures, spec, text, path, package, declarations, facts)
    items = items_of(declarations, text, sizes)
    file = _File(spec, text, sizes, root, facts, names, package)
    ends = [item.row for item in items[1:]] + [text.rows]
    return [piece for item, end in zip(items, ends, strict=True) for piece in file.pieces(item, end)]


def _names(
    captures: Captures,
    spec: LanguageSpec,
    text: SourceText,
    path: str,
    package: str | None,
    declarations: Sequence[Declaration],
    facts: Facts,
) -> FileNames:
    if spec.naming is None:
        return names_without_rules(facts, declarations, text)
    return read_names(captures, spec.naming, text.data, path, package, dict(_described(declarations)))


def _described(declarations: Sequence[Declaration]) -> Iterator[tuple[tuple[str, int], DefinitionFacts]]:
    """Yield what the outline knows about each declaration, by its name and the byte at which it ends."""
    for declaration in declarations:
        if declaration.name:
            about = DefinitionFacts(declaration.signature, summary(declaration.doc, MAX_SENTENCE), declaration.exported)
            yield (declaration.name[-1], declaration.end_byte), about
        yield from _described(declaration.members)


@dataclass(frozen=True, slots=True)
class _File:
    """The data shared by all pieces of a file."""

    spec: LanguageSpec
    text: SourceText
    sizes: Sizes
    root: Node
    facts: Facts
    names: FileNames
    package: str | None

    def pieces(self, item: OutlineItem, end: int) -> list[Piece]:
        """Return an item as one piece, or as several parts if it is too large."""
        whole = self._identity(item, end)
        if self.text.tokens(item.row, end) <= self.sizes.maximum:
            return [self._filled(whole, item)]
        cost = _border_costs(self.root, self.text, (item.row, end))
        cuts = cut_rows(self.text, item.row, end, self.sizes, lambda row: cost[row - item.row], overlap=True)
        if len(cuts) == 1:
            return [self._filled(whole, item)]
        parts = ((start, until, f"{index}/{len(cuts)}") for index, (start, until) in enumerate(cuts, 1))
        return [self._filled(replace(whole, start=start, end=until, part=part), item) for start, until, part in parts]

    def _identity(self, item: OutlineItem, end: int) -> Piece:
        context = _headers(item, self.package if self.spec.names_package else None)
        piece = Piece(item.row, end, _symbol_type(item), package=self.package, context=context)
        if item.family is Family.PROLOGUE or not item.declarations:
            docs = (declaration.doc for declaration in item.declarations)
            doc = next((doc for doc in docs if doc and not _LICENSE.search(doc)), "")
            return replace(piece, kind="prologue" if item.declarations else None, doc=doc)
        kinds = {declaration.rule.kind for declaration in item.declarations}
        if len(item.declarations) > 1:
            docs = (declaration.doc for declaration in item.declarations)
            doc = shorten("\n".join(filter(None, docs)), MAX_DOC_CHARACTERS)
            return replace(piece, kind=kinds.pop() if len(kinds) == 1 else None, doc=doc)
        only = item.declarations[0]
        name = only.name[-1] if only.name else self._value_name(only)
        path = (*_scope_path(item.enclosing), *(only.name or ((name,) if name else ())))
        return replace(
            piece,
            kind=_kind(only, item.enclosing),
            name=name,
            qualified=".".join(path) if name else None,
            signature=only.signature if name or only.role is Role.BLOCK else None,
            exported=self._exported(name, only, item) if name else None,
            body_byte=only.body_byte,
            doc=only.doc,
            complexity=self._complexity(only),
        )

    def _value_name(self, value: Declaration) -> str | None:
        """Return the name that a constant or variable defines, or None if it defines several names side by side."""
        if value.role is not Role.VALUE:
            return None
        places = self.facts.definitions.places(value.start_byte, value.end_byte)
        if not places:
            return None
        depths = [_indentation(self.text.data, start) for start, _ in places]
        return places[0][1] if all(depth > depths[0] for depth in depths[1:]) else None

    def _exported(self, name: str, declaration: Declaration, item: OutlineItem) -> bool | None:
        """Apply the language's rule; if modules list their exports, a name that is not listed is not exported."""
        answer = self.spec.exported(name, declaration.signature, bool(declaration.exported))
        if answer is not None or item.enclosing or len(declaration.name) > 1 or not self.spec.export_wrappers:
            return answer
        return name in self.facts.exports.names

    def _complexity(self, declaration: Declaration) -> float | None:
        if declaration.role is not Role.CALLABLE:
            return None
        return 1.0 + self.facts.branches.count(declaration.start_byte, declaration.end_byte)

    def _filled(self, piece: Piece, item: OutlineItem) -> Piece:
        start, end = self.text.byte_starts[piece.start], self.text.byte_starts[piece.end]
        facts = self.facts
        imports = facts.imports_in(start, end, self.text.between(piece.start, piece.end))
        calls = facts.calls.between(start, end)
        used = [found for found in imports if not start <= found.start < end]
        mentioned = (*facts.references.between(start, end), *(name for found in imports for name in found.names))
        modules = dict.fromkeys(found.module for found in imports)
        dependencies = dict.fromkeys(filter(None, map(self.spec.dependency, modules)))
        body = piece.body_byte
        symbols = self.names.between(start, end)
        mentioned += tuple(reference.name for reference in symbols.references)
        return replace(
            piece,
            body_byte=body if body is not None and start <= body < end else None,
            context="\n".join(filter(None, (piece.context, _uses(used)))),
            defines=facts.definitions.between(start, end)[:MAX_DEFINES],
            calls=calls[:MAX_CALLS],
            references=tuple(dict.fromkeys(mentioned))[:MAX_REFERENCES],
            symbols=defined_names(symbols),
            imports=tuple(modules),
            dependencies=tuple(dependencies),
            exports=self._exports(item, start, end),
            relations=encode(symbols),
        )

    def _exports(self, item: OutlineItem, start: int, end: int) -> tuple[str, ...]:
        """Return the exported names declared in a byte range, outside any type."""
        if any(outer.role is Role.TYPE for outer in item.enclosing):
            return ()
        names: list[str] = []
        for declared in item.declarations:
            if not start <= declared.start_byte < end or declared.role in {Role.IMPORT, Role.BLOCK}:
                continue
            own = declared.name[-1:] or self.facts.definitions.between(declared.start_byte, declared.end_byte)
            own = () if declared.rule.reopens else own
            names += [name for name in own if self.spec.exported(name, declared.signature, bool(declared.exported))]
        return tuple(dict.fromkeys([*names, *self.facts.exports.between(start, end)]))[:MAX_DEFINES]


def _symbol_type(item: OutlineItem) -> SymbolType:
    if item.family is Family.PROLOGUE or not item.declarations:
        return "file"
    first = item.declarations[0]
    if first.role not in {Role.CALLABLE, Role.TYPE}:
        return first.rule.type if len(item.declarations) == 1 else "block"
    inside = bool(item.enclosing) and item.enclosing[-1].role is Role.TYPE
    return "method" if inside and first.rule.type == "function" else first.rule.type


def _kind(declaration: Declaration, enclosing: Sequence[Declaration]) -> str | None:
    inside = bool(enclosing) and enclosing[-1].role is Role.TYPE
    return "method" if inside and declaration.rule.kind == "function" else declaration.rule.kind or None


def _scope_path(enclosing: Sequence[Declaration]) -> tuple[str, ...]:
    """Return the names around a declaration; ``impl X for Foo`` counts as Foo."""
    path: list[str] = []
    for outer in enclosing:
        path += [outer.name[-1].rsplit(" ", 1)[-1]] if outer.rule.reopens and outer.name else outer.name
    return tuple(path)


def _headers(item: OutlineItem, package: str | None) -> str:
    lines = [outer.signature for outer in item.enclosing if outer.signature]
    named = package is not None and not any(package in line for line in lines)
    return "\n".join([f"package {package}", *lines] if named else lines)


def _uses(imports: Sequence[Import]) -> str:
    """Return one line with the used imports by name; the file's other imports do not change it."""
    named = [
        used.module if used.names == (last_part(used.module),) else f"{', '.join(used.names)} from {used.module}"
        for used in imports[:_MAX_USES]
    ]
    return f"uses {'; '.join(named)}" if named else ""


def _indentation(data: bytes, at: int) -> int:
    begin = data.rfind(b"\n", 0, at) + 1
    row = data[begin:at]
    return len(row) - len(row.lstrip(b" \t"))


def _border_costs(root: Node, text: SourceText, rows: Cut) -> list[int]:
    """Return the cost of each row: 4 per level of nesting, 2 right below a comment, 1 without a blank row above."""
    start, end = rows
    costs = [_NO_BORDER] * (end - start)
    level = [(root, 0)]
    while level:
        deeper: list[tuple[Node, int]] = []
        for node, depth in level:
            deeper += _score_children(node, depth, text, rows, costs)
        level = deeper
    return costs


def _score_children(node: Node, depth: int, text: SourceText, rows: Cut, costs: list[int]) -> list[tuple[Node, int]]:
    """Score the rows that begin with a child of ``node``; return the children that span several rows."""
    start, end = rows
    inside: list[tuple[Node, int]] = []
    commented = -1
    for child in node.children:
        first, last = child.start_point[0], child.end_point[0]
        if last < start or first >= end or not child.is_named:
            continue
        if first >= start and not text.lines[first][: child.start_point[1]].strip():
            above = first == 0 or text.is_blank(first - 1)
            cost = 4 * depth + 2 * (commented == first - 1) + (not above)
            costs[first - start] = min(costs[first - start], cost)
        commented = last if "comment" in child.type else -1
        if last > first:
            inside.append((child, depth + 1))
    return inside
