"""Reads the declarations of a file from the captures of a query file, for languages without hand-written rules."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Literal

from tree_sitter import Node, Query, QueryCursor

from codequarry.ingest.chunking.language_spec import ImportedModule, LanguageSpec, NamePath, Role, Rule
from codequarry.ingest.symbols.nodes import node_text
from codequarry.shared.model import SymbolType

# The binding evaluates these predicates on the text of the tree, which is not kept, so every match would pass. Under
# another name they reach the predicate of this module.
_STANDARD = re.compile(r"\(#((?:not-)?(?:eq|match|any-of)\?)")
_OWN = "text-"
# Characters around names and modules that are not part of them.
_QUOTES = "\"'`<>"
_SEPARATORS = re.compile(r"::|[.:]")
# The doc string is among the first entries of a body.
_DOC_ENTRIES = 8

_ROLES: Mapping[str, tuple[Role, SymbolType]] = {
    "function": (Role.CALLABLE, "function"),
    "method": (Role.CALLABLE, "method"),
    "constructor": (Role.CALLABLE, "method"),
    "macro": (Role.CALLABLE, "function"),
    "class": (Role.TYPE, "class"),
    "struct": (Role.TYPE, "class"),
    "interface": (Role.TYPE, "interface"),
    "enum": (Role.TYPE, "enum"),
    "module": (Role.TYPE, "class"),
    "extension": (Role.TYPE, "class"),
    "namespace": (Role.SCOPE, "class"),
    "prototype": (Role.VALUE, "function"),
    "type": (Role.VALUE, "class"),
    "test": (Role.BLOCK, "block"),
    "block": (Role.TYPE, "block"),
    "rule": (Role.TYPE, "block"),
    "stage": (Role.TYPE, "block"),
}
_OTHER: tuple[Role, SymbolType] = (Role.VALUE, "block")
# An extension and a namespace repeat a name that is defined elsewhere or in many files.
_NOT_DEFINING = {"extension", "namespace"}
_OUTLINED = {
    "import": Role.IMPORT,
    "scope": Role.TRANSPARENT,
    "leading": Role.LEADING,
    "continued": Role.CONTINUED,
    "skip": Role.SKIP,
    "statement": Role.BLOCK,
}


def query_source(name: str) -> str:
    """Return the query file of a language, with predicates that this module evaluates."""
    text = files(__package__).joinpath("queries", f"{name}.scm").read_text(encoding="utf-8")
    return own_predicates(text)


def own_predicates(query: str) -> str:
    """Rename the standard predicates of a query to those that ``read_tags`` evaluates on the bytes of a file."""
    return _STANDARD.sub(rf"(#{_OWN}\1", query)


@dataclass(slots=True)
class _Reading:
    """What the matches of a file say, by node."""

    rules: dict[int, tuple[Node, Rule]] = field(default_factory=dict)
    patterns: dict[int, int] = field(default_factory=dict)
    captures: dict[str, list[Node]] = field(default_factory=dict)
    imports: dict[int, ImportedModule] = field(default_factory=dict)
    docs: dict[int, str] = field(default_factory=dict)
    inside: set[int] = field(default_factory=set)
    package: str | None = None

    def capture(self, name: str, nodes: Iterable[Node]) -> None:
        self.captures.setdefault(name, []).extend(nodes)

    def decides(self, node: Node, pattern: int) -> bool:
        """Return whether ``pattern`` is the first that matches a node; the same pattern may match it repeatedly."""
        return self.patterns.setdefault(node.id, pattern) == pattern


def read_tags(spec: LanguageSpec, query: Query, root: Node, data: bytes) -> tuple[LanguageSpec, dict[str, list[Node]]]:
    """Return the rules for one tree, found by its query, and the captures that the facts of a file are read from."""
    reading = _Reading()
    matches = QueryCursor(query).matches(root, _Predicates(data))
    # Patterns are written from special to general: the first that matches a node decides.
    for pattern, captured in sorted(matches, key=lambda match: match[0]):
        _read_match(reading, pattern, captured, query.pattern_settings(pattern), data)
    # The head of a definition looks like a call in languages such as Elixir and Julia.
    heads = {node.start_byte for node in reading.captures.get("def", ())}
    reading.captures["call"] = [node for node in reading.captures.get("call", ()) if node.start_byte not in heads]
    types = {node.type for node, _ in reading.rules.values()}

    def resolve(node: Node, data: bytes) -> tuple[Node, Rule] | None:
        return reading.rules.get(node.id)

    own = replace(
        spec,
        resolvers=dict.fromkeys(types, resolve),
        imports=lambda node, data: [reading.imports[node.id]] if node.id in reading.imports else [],
        package=lambda root, data, path: reading.package,
        docstring=_docstring_reader(reading) if reading.inside else None,
        leading_doc=lambda node: reading.docs.get(node.id, ""),
    )
    return own, reading.captures


def _docstring_reader(reading: _Reading) -> Callable[[Node, bytes], str]:
    def read(body: Node, data: bytes) -> str:
        entries = body.named_children[:_DOC_ENTRIES]
        return next((reading.docs.get(entry.id, "") for entry in entries if entry.id in reading.inside), "")

    return read


def _read_match(
    reading: _Reading,
    pattern: int,
    captured: Mapping[str, Sequence[Node]],
    settings: Mapping[str, str | None],
    data: bytes,
) -> None:
    for capture, nodes in captured.items():
        group, _, word = capture.partition(".")
        if group == "definition" and reading.decides(nodes[0], pattern):
            _read_definition(reading, nodes[0], word, captured, settings, data)
        elif group == "reference":
            reading.capture("call" if word == "call" else "ref", captured.get("name", nodes))
        elif group in {"branch", "export"}:
            reading.capture(group, nodes)
        elif group == "package":
            reading.package = reading.package or _clean(nodes[0], data)
        elif group in _OUTLINED and reading.decides(nodes[0], pattern):
            _read_outlined(reading, nodes[0], group, word, captured, data)


def _read_definition(
    reading: _Reading,
    node: Node,
    word: str,
    captured: Mapping[str, Sequence[Node]],
    settings: Mapping[str, str | None],
    data: bytes,
) -> None:
    names = captured.get("name", ())
    if word not in _NOT_DEFINING:
        reading.capture("def", names)
    if node.id in reading.rules:
        return
    role, type_ = _ROLES.get(word, _OTHER)
    kinds = captured.get("kind", ())
    kind = settings.get("kind") or (node_text(kinds[0], data) if kinds else word)
    owners = captured.get("receiver", ())
    path = [part for owner in owners for part in _SEPARATORS.split(_clean(owner, data)) if part]
    path += [_clean(name, data) for name in names[:1]]
    body = next(iter(captured.get("body", ())), None) or node.child_by_field_name("body")
    if body is None and role in {Role.TYPE, Role.SCOPE}:
        body = node
    together = settings.get("head") == "row" or (
        body is not None and any(body.start_byte <= name.start_byte < body.end_byte for name in names[:1])
    )
    rule = Rule(
        role,
        kind,
        type_,
        name=_constant_name(tuple(path)),
        body=_constant_body(body),
        reopens=word == "extension",
        opens=word != "test",
        one_row=together,
    )
    reading.rules[node.id] = (node, rule)


def _read_outlined(
    reading: _Reading, node: Node, group: str, word: str, captured: Mapping[str, Sequence[Node]], data: bytes
) -> None:
    if group == "import" and "module" in captured:
        module = _clean(captured["module"][0], data)
        known = reading.imports.get(node.id, ImportedModule(module))
        names = (*known.names, *(_clean(name, data) for name in captured.get("name", ())))
        if node.id not in reading.imports:
            reading.capture("import", [node])
        reading.imports[node.id] = ImportedModule(known.module, tuple(dict.fromkeys(names)))
    if "doc" in captured:
        reading.docs.setdefault(node.id, "\n".join(node_text(doc, data).strip() for doc in captured["doc"]))
    if word == "inside":
        reading.inside.add(node.id)
    body = next(iter(captured.get("body", ())), node)
    rule = Rule(_OUTLINED[group], group, name=_constant_name(()), body=_constant_body(body))
    reading.rules.setdefault(node.id, (node, rule))


def _constant_name(path: NamePath) -> Callable[[Node, bytes], NamePath]:
    return lambda node, data: path


def _constant_body(body: Node | None) -> Callable[[Node], Node | None]:
    return lambda node: body


def _clean(node: Node, data: bytes) -> str:
    return node_text(node, data).strip().strip(_QUOTES)


class _Predicates:
    """Evaluates the standard text predicates on the bytes of a file."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __call__(
        self,
        predicate: str,
        args: list[tuple[str, Literal["capture", "string"]]],
        pattern_index: int,
        captures: dict[str, list[Node]],
    ) -> bool:
        word = predicate.removeprefix(_OWN)
        holds = _TESTS.get(word.removeprefix("not-"))
        if holds is None:
            return True
        first, *others = args
        values = [text for other in others for text in self._texts(other, captures)]
        result = all(holds(text, values) for text in self._texts(first, captures))
        return result != word.startswith("not-")

    def _texts(self, argument: tuple[str, str], captures: Mapping[str, list[Node]]) -> Iterator[str]:
        value, kind = argument
        if kind == "capture":
            yield from (node_text(node, self._data) for node in captures.get(value, ()))
        else:
            yield value


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


_TESTS: Mapping[str, Callable[[str, Sequence[str]], bool]] = {
    "eq?": lambda text, values: text in values,
    "any-of?": lambda text, values: text in values,
    "match?": lambda text, values: any(_pattern(value).search(text) for value in values),
}
