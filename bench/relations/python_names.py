"""The names that a Python file uses and defines, read with the parser of the standard library."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench.relations.truth import Place

Position = tuple[int, int]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A parsed file: its uses of names, and its definitions that are visible outside of a function."""

    uses: tuple[Place, ...]
    definitions: Mapping[Position, str]
    constructors: Mapping[Position, Position]
    twins: Mapping[Position, tuple[Position, ...]]
    """By position, all definitions of the same name in the same class, function or module."""


def read_source(path: str, text: str) -> SourceFile:
    """Read a file. Raise SyntaxError or ValueError if Python cannot parse it."""
    tree, lines = ast.parse(text), _lines(text)
    definitions = _Definitions(lines)
    definitions.visit(tree)
    kinds = dict(_kinds(tree))
    uses = tuple(sorted(_uses(path, tree, kinds, lines), key=lambda use: (use.line, use.column)))
    return SourceFile(uses, definitions.names, definitions.constructors, definitions.twins())


def _lines(text: str) -> list[bytes]:
    return text.encode().replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")


def _column(lines: list[bytes], line: int, offset: int) -> int:
    """Convert an offset in bytes to characters."""
    return len(lines[line - 1][:offset].decode(errors="replace"))


def _kinds(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the identity of a name's node and its kind; the last kind wins."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield id(node.func), "call"
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from ((id(_without_subscript(base)), "inherits") for base in node.bases)
        for annotation in _annotations(node):
            yield from ((id(part), "type") for part in ast.walk(annotation))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                yield id(decorator.func if isinstance(decorator, ast.Call) else decorator), "decorates"


def _without_subscript(base: ast.expr) -> ast.expr:
    return base.value if isinstance(base, ast.Subscript) else base


def _annotations(node: ast.AST) -> Iterator[ast.expr]:
    annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
    if annotation is not None:
        yield annotation


def _uses(path: str, tree: ast.AST, kinds: Mapping[int, str], lines: list[bytes]) -> Iterator[Place]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            column = _column(lines, node.lineno, node.col_offset)
            yield Place(path, node.lineno, column, node.id, kinds.get(id(node), "other"))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
            column = _column(lines, line, end) - len(node.attr)
            yield Place(path, line, column, node.attr, kinds.get(id(node), "other"))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                name = alias.name.rpartition(".")[2]
                column = _column(lines, alias.lineno, alias.col_offset) + len(alias.name) - len(name)
                if name != "*":
                    yield Place(path, alias.lineno, column, name, "import")


class _Definitions(ast.NodeVisitor):
    """Collect classes, functions, variables of modules and classes, and attributes of instances by their position."""

    def __init__(self, lines: list[bytes]) -> None:
        self.names: dict[Position, str] = {}
        self.constructors: dict[Position, Position] = {}
        self._lines = lines
        self._scopes: list[ast.AST] = []
        self._places: dict[tuple[int, str], list[Position]] = defaultdict(list)

    def twins(self) -> dict[Position, tuple[Position, ...]]:
        return {place: tuple(places) for places in self._places.values() for place in places}

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        place = self._named(node, "class ")
        for child in node.body:
            if isinstance(child, FUNCTIONS) and child.name in ("__init__", "__new__"):
                self.constructors[self._place(child, "def ")] = place
        self._enter(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._named(node, "def ")
        self._enter(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._enter(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.visit(node.iter)

    def visit_Name(self, node: ast.Name) -> None:
        in_function = any(isinstance(scope, (*FUNCTIONS, ast.Lambda)) for scope in self._scopes[-1:])
        if isinstance(node.ctx, ast.Store) and not in_function:
            self._add((node.lineno, _column(self._lines, node.lineno, node.col_offset)), node.id, self._scopes[-1:])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Store):
            line = node.end_lineno or node.lineno
            column = _column(self._lines, line, node.end_col_offset or 0) - len(node.attr)
            of_instance = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            classes: list[ast.AST] = [scope for scope in self._scopes if isinstance(scope, ast.ClassDef)]
            self._add((line, column), node.attr, classes[-1:] if of_instance else [node])
        self.generic_visit(node)

    def _named(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, keyword: str) -> Position:
        place = self._place(node, keyword)
        self._add(place, node.name, self._scopes[-1:])
        return place

    def _add(self, place: Position, name: str, scope: list[ast.AST]) -> None:
        self.names[place] = name
        self._places[id(scope[0]) if scope else 0, name].append(place)

    def _place(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, keyword: str) -> Position:
        text = self._lines[node.lineno - 1].decode(errors="replace")
        return node.lineno, text.find(node.name, text.find(keyword) + len(keyword))

    def _enter(self, node: ast.AST) -> None:
        self._scopes.append(node)
        self.generic_visit(node)
        self._scopes.pop()
