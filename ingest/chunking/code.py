"""Source code to pieces, by the syntax tree."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from codequarry.ingest.chunking.comments import MAX_DOC_CHARACTERS, shorten
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
from codequarry.ingest.chunking.outline import Declaration, Outliner
from codequarry.ingest.chunking.outline_items import Family, OutlineItem, items_of
from codequarry.ingest.chunking.pieces import Cut, Piece, Sizes, cut_rows
from codequarry.ingest.chunking.text import SourceText
from codequarry.shared.model import SymbolType

# No statement begins in such a row: a part begins there only when nothing else is left.
_NO_BORDER = 1_000
# A file's comment that is only its licence documents nothing.
_LICENSE = re.compile(r"\b(?:copyright|licen[cs]ed?|SPDX-License-Identifier|all rights reserved)\b", re.IGNORECASE)
# More imports used in one chunk say no more of what it is about.
_MAX_USES = 12


def code_pieces(spec: LanguageSpec, path: str, text: SourceText, sizes: Sizes) -> list[Piece] | None:
    """Cut a source file along its declarations; None when its grammar gives no tree in time."""
    grammar = load_grammar(spec)
    tree = grammar.parse(text.data) if grammar is not None else None
    if grammar is None or tree is None:
        return None
    root = tree.root_node
    declarations = Outliner(spec, text, sizes.target).declarations(root)
    facts = collect_facts(grammar.captures(root), spec, text, declarations)
    items = items_of(declarations, text, sizes)
    file = _File(spec, text, sizes, root, facts, spec.package(root, text.data, path))
    ends = [item.row for item in items[1:]] + [text.rows]
    return [piece for item, end in zip(items, ends, strict=True) for piece in file.pieces(item, end)]


@dataclass(frozen=True, slots=True)
class _File:
    """What all pieces of one file share."""

    spec: LanguageSpec
    text: SourceText
    sizes: Sizes
    root: Node
    facts: Facts
    package: str | None

    def pieces(self, item: OutlineItem, end: int) -> list[Piece]:
        """Return an item as one piece, or as several parts when it is too large."""
        whole = self._identity(item, end)
        if self.text.tokens(item.row, end) <= self.sizes.maximum:
            return [self._filled(whole, item)]
        cost = _border_costs(self.root, self.text, (item.row, end))
        cuts = cut_rows(self.text, item.row, end, self.sizes, lambda row: cost[row - item.row], overlap=True)
        return [
            self._filled(replace(whole, start=start, end=until, part=f"{index}/{len(cuts)}"), item)
            if len(cuts) > 1
            else self._filled(whole, item)
            for index, (start, until) in enumerate(cuts, 1)
        ]

    def _identity(self, item: OutlineItem, end: int) -> Piece:
        """Say what an item is: the one declaration in it, or a group."""
        context = _headers(item, self.package if self.spec.names_package else None)
        piece = Piece(item.row, end, _symbol_type(item), package=self.package, context=context)
        if item.family is Family.PROLOGUE or not item.declarations:
            doc = next((one.doc for one in item.declarations if one.doc and not _LICENSE.search(one.doc)), "")
            return replace(piece, kind="prologue" if item.declarations else None, doc=doc)
        kinds = {one.rule.kind for one in item.declarations}
        if len(item.declarations) > 1:
            doc = shorten("\n".join(one.doc for one in item.declarations if one.doc), MAX_DOC_CHARACTERS)
            return replace(piece, kind=kinds.pop() if len(kinds) == 1 else None, doc=doc)
        one = item.declarations[0]
        name = one.name[-1] if one.name else self._value_name(one)
        path = (*_scope_path(item.enclosing), *(one.name or ((name,) if name else ())))
        return replace(
            piece,
            kind=_kind(one, item.enclosing),
            name=name,
            qualified=".".join(path) if name else None,
            signature=one.signature if name or one.role is Role.BLOCK else None,
            exported=self._exported(name, one, item) if name else None,
            body_byte=one.body_byte,
            doc=one.doc,
            complexity=self._complexity(one),
        )

    def _value_name(self, one: Declaration) -> str | None:
        """Return what a constant or variable defines, unless it defines several names side by side."""
        if one.role is not Role.VALUE:
            return None
        places = self.facts.definitions.places(one.start_byte, one.end_byte)
        if not places:
            return None
        depths = [_indentation(self.text.data, start) for start, _ in places]
        return places[0][1] if all(depth > depths[0] for depth in depths[1:]) else None

    def _exported(self, name: str, one: Declaration, item: OutlineItem) -> bool | None:
        """Ask the language's rule; where modules list their exports, what is on no list is not exported."""
        answer = self.spec.exported(name, one.signature, bool(one.exported))
        if answer is not None or item.enclosing or len(one.name) > 1 or not self.spec.export_wrappers:
            return answer
        return name in self.facts.exports.names

    def _complexity(self, one: Declaration) -> float | None:
        if one.role is not Role.CALLABLE:
            return None
        return 1.0 + self.facts.branches.count(one.start_byte, one.end_byte)

    def _filled(self, piece: Piece, item: OutlineItem) -> Piece:
        """Add what the code between the piece's rows says."""
        start, end = self.text.byte_starts[piece.start], self.text.byte_starts[piece.end]
        facts = self.facts
        imports = facts.imports_in(start, end, self.text.between(piece.start, piece.end))
        calls = facts.calls.between(start, end)
        used = [one for one in imports if not start <= one.start < end]
        mentioned = (*facts.references.between(start, end), *(name for one in imports for name in one.names))
        modules = dict.fromkeys(one.module for one in imports)
        dependencies = dict.fromkeys(filter(None, map(self.spec.dependency, modules)))
        body = piece.body_byte
        return replace(
            piece,
            body_byte=body if body is not None and start <= body < end else None,
            context="\n".join(filter(None, (piece.context, _uses(used)))),
            defines=facts.definitions.between(start, end)[:MAX_DEFINES],
            calls=calls[:MAX_CALLS],
            references=tuple(dict.fromkeys(mentioned))[:MAX_REFERENCES],
            imports=tuple(modules),
            dependencies=tuple(dependencies),
            exports=self._exports(item, start, end),
        )

    def _exports(self, item: OutlineItem, start: int, end: int) -> tuple[str, ...]:
        """Return the exported names that are declared in a byte range, outside of any type."""
        if any(one.role is Role.TYPE for one in item.enclosing):
            return ()
        names: list[str] = []
        for one in item.declarations:
            if not start <= one.start_byte < end:
                continue
            own = one.name[-1:] or self.facts.definitions.between(one.start_byte, one.end_byte)
            own = () if one.role in {Role.IMPORT, Role.BLOCK} or one.rule.reopens else own
            names += [name for name in own if self.spec.exported(name, one.signature, bool(one.exported))]
        return tuple(dict.fromkeys([*names, *self.facts.exports.between(start, end)]))[:MAX_DEFINES]


def _symbol_type(item: OutlineItem) -> SymbolType:
    if item.family is Family.PROLOGUE or not item.declarations:
        return "file"
    one = item.declarations[0]
    if one.role not in {Role.CALLABLE, Role.TYPE}:
        return one.rule.type if len(item.declarations) == 1 else "block"
    inside = bool(item.enclosing) and item.enclosing[-1].role is Role.TYPE
    return "method" if inside and one.rule.type == "function" else one.rule.type


def _kind(one: Declaration, enclosing: Sequence[Declaration]) -> str | None:
    inside = bool(enclosing) and enclosing[-1].role is Role.TYPE
    return "method" if inside and one.rule.kind == "function" else one.rule.kind or None


def _scope_path(enclosing: Sequence[Declaration]) -> tuple[str, ...]:
    """Return the names around a declaration; an ``impl X for Foo`` counts as Foo."""
    path: list[str] = []
    for one in enclosing:
        path += [one.name[-1].rsplit(" ", 1)[-1]] if one.rule.reopens and one.name else one.name
    return tuple(path)


def _headers(item: OutlineItem, package: str | None) -> str:
    """Return the lines that open what is around an item, after its package."""
    lines = [one.signature for one in item.enclosing if one.signature]
    named = package is not None and not any(package in line for line in lines)
    return "\n".join([f"package {package}", *lines] if named else lines)


def _uses(imports: Sequence[Import]) -> str:
    """Return the imports used in one line, by name, so that an import of something else does not change it."""
    named = [
        one.module if one.names == (last_part(one.module),) else f"{', '.join(one.names)} from {one.module}"
        for one in imports[:_MAX_USES]
    ]
    return f"uses {'; '.join(named)}" if named else ""


def _indentation(data: bytes, at: int) -> int:
    """Return how far the row of a byte offset is indented."""
    begin = data.rfind(b"\n", 0, at) + 1
    row = data[begin:at]
    return len(row) - len(row.lstrip(b" \t"))


def _border_costs(root: Node, text: SourceText, rows: Cut) -> list[int]:
    """Say for each row how good it is to begin a part there: the shallower the statement, the better.

    Each level of nesting costs 4, tearing a statement from the comment above it 2, no blank row above 1.
    """
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
    """Score the rows that begin with a child of ``node``; return the children with rows of their own inside."""
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
