"""What a file says about its symbols: definitions, and references with what each means as far as its own file says.

Both depend only on the file version, so they are written once with its chunks. Which definition a reference means is
resolved when someone asks, among the definitions of the snapshot asked for.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from codequarry.shared.model import SymbolType

ReferenceKind = Literal["call", "import", "inherits", "implements", "type", "decorates", "link", "data_flow", "mention"]
REFERENCE_KINDS: tuple[ReferenceKind, ...] = (
    "call", "import", "inherits", "implements", "type", "decorates", "link", "data_flow", "mention",
)  # fmt: skip
EdgeKind = ReferenceKind | Literal["co_change"]
EDGE_KINDS: tuple[EdgeKind, ...] = (*REFERENCE_KINDS, "co_change")
"""The kinds of edges: besides references, files that changed in the same commits."""
CALLS: frozenset[ReferenceKind] = frozenset({"call", "data_flow"})
"""The kinds of references whose target is called."""
TargetOrigin = Literal["scope", "import", "package", "name"]
"""Where the first name of a target comes from: this file, an import, the file's own package, or nowhere known."""

KNOWN_ORIGINS: frozenset[TargetOrigin] = frozenset({"scope", "import", "package"})
"""The origins of targets of which the file shows what they mean, not only what they are called."""

SUPER = "^"
"""Among the names of a target: the types that the type before it inherits from."""
OWN_TYPE = "="
"""Before a module of a target: the path of the type around the place, of which the first name may be a member."""
IMPORTED_FILE = "file:"
"""Before the module of an import that names a file: paths that it may have, the likeliest first, separated by ``|``.

A path that begins with ``**/`` may lie in any folder of the repository.
"""
ANYWHERE = "*"
"""As the module of a target by name: nothing is known of where the symbol is, not even whether it is a member."""
UNKNOWN = "?"
"""As the first name of a target: an expression whose type the file does not show."""


PASSED_ON = "export"
"""The kind of a definition that only gives another definition, its ``type``, a name in this file. Its name may be
``*``: every name that the module of ``type`` exports."""


# Targets and references are tuples, because a file has thousands: a frozen dataclass takes three times as long to make.
class Target(NamedTuple):
    """What a reference means as far as its own file says.

    ``names`` leads from ``module`` to the symbol: each is a member of the one before it, or of its type. After an
    import, ``module`` is a path in the language's own notation, with relative paths resolved; for ``package`` it is the
    file's own package. In the file itself it is empty, or says where to look for what the type around a name lacks.
    """

    origin: TargetOrigin
    module: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """A symbol that a file defines; ``path`` is its name after the names that enclose it in the file.

    ``type`` is the declared or evident type: of a function, what it returns; of a variable or field, what it holds.
    ``doc`` is the first sentence of its documentation.
    """

    path: tuple[str, ...]
    symbol_type: SymbolType
    symbol_kind: str
    line: int
    end_line: int
    exported: bool | None = None
    signature: str = ""
    doc: str = ""
    type: Target | None = None

    @property
    def name(self) -> str:
        """The name without what encloses it."""
        return self.path[-1]


class Reference(NamedTuple):
    """A place where a file refers to a symbol; ``within`` is the path of the definition around the place, if any.

    For ``data_flow``, the result of ``target`` goes to ``within``, or to ``into`` if that is set.
    """

    kind: ReferenceKind
    line: int
    target: Target
    within: tuple[str, ...] = ()
    into: Target | None = None
    arguments: int | None = None
    """Of a call, the number of its arguments, which tells overloads apart."""
    argument_types: tuple[str, ...] = ()
    """Of a call, the types of the first arguments, empty where the file does not show them; none if it shows none."""

    @property
    def name(self) -> str:
        """The name as written."""
        return self.target.names[-1]


@dataclass(frozen=True, slots=True)
class Symbols:
    """The definitions and references of a chunk, in file order."""

    definitions: tuple[Definition, ...] = ()
    references: tuple[Reference, ...] = ()


def shifted(relations: str, lines: int) -> str:
    """Return encoded symbols with ``lines`` added to the line of each."""
    symbols = decode(relations)
    return encode(
        Symbols(
            tuple(
                replace(found, line=found.line + lines, end_line=found.end_line + lines)
                for found in symbols.definitions
            ),
            tuple(found._replace(line=found.line + lines) for found in symbols.references),
        )
    )


def defined_names(symbols: Symbols) -> tuple[str, ...]:
    """Return the names that a chunk defines, by which definitions are looked up."""
    return tuple(dict.fromkeys(found.name for found in symbols.definitions))


# A kind and a number of arguments are written as one number.
_KINDS = 16
_MOST_ARGUMENTS = 30
_ORIGINS: tuple[TargetOrigin, ...] = ("scope", "import", "package", "name")
# `json.dumps` makes an encoder for each call.
_write = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def encode(symbols: Symbols) -> str:
    """Return one line of JSON; strings that recur, such as modules and paths, are written once."""
    if not symbols.definitions and not symbols.references:
        return ""
    words = _Words()
    definitions = [_definition_row(found, words) for found in symbols.definitions]
    references = [_reference_row(found, words) for found in symbols.references]
    return _write([words.known, definitions, references])


def decode(text: str) -> Symbols:
    """Return what ``encode`` was given."""
    if not text:
        return Symbols()
    words, definitions, references = json.loads(text)
    return Symbols(
        tuple(_definition(row, words) for row in definitions), tuple(_reference(row, words) for row in references)
    )


class _Words:
    """Numbers the distinct strings."""

    def __init__(self) -> None:
        self.known: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        found = self._numbers.get(word)
        if found is None:
            found = self._numbers[word] = len(self.known)
            self.known.append(word)
        return found

    def path(self, names: Iterable[str]) -> int:
        return self.number("\t".join(names))


def _target_row(target: Target | None, words: _Words) -> list[int]:
    if target is None:
        return []
    return [_ORIGINS.index(target.origin), words.number(target.module), words.path(target.names)]


def _definition_row(found: Definition, words: _Words) -> list[Any]:
    exported = 2 if found.exported is None else int(found.exported)
    return [
        words.path(found.path), words.number(found.symbol_type), words.number(found.symbol_kind), found.line,
        found.end_line - found.line, exported, found.signature, found.doc, *_target_row(found.type, words),
    ]  # fmt: skip


def _reference_row(found: Reference, words: _Words) -> list[int]:
    counted = 0 if found.arguments is None else min(found.arguments, _MOST_ARGUMENTS) + 1
    head = [REFERENCE_KINDS.index(found.kind) + _KINDS * counted, found.line, words.path(found.within)]
    types = [words.path(found.argument_types)] if found.argument_types else []
    return head + _target_row(found.target, words) + _target_row(found.into, words) + types


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split("\t")) if text else ()


def _target(row: list[int], words: list[str]) -> Target | None:
    return Target(_ORIGINS[row[0]], words[row[1]], _names(words[row[2]])) if row else None


def _definition(row: list[Any], words: list[str]) -> Definition:
    path, symbol_type, kind, line, rows, exported, signature, doc, *type_ = row
    return Definition(
        path=_names(words[path]),
        symbol_type=words[symbol_type],
        symbol_kind=words[kind],
        line=line,
        end_line=line + rows,
        exported=None if exported == 2 else bool(exported),
        signature=signature,
        doc=doc,
        type=_target(type_, words),
    )


def _reference(row: list[int], words: list[str]) -> Reference:
    target = _target(row[3:6], words)
    assert target is not None
    counted, kind = divmod(row[0], _KINDS)
    # Targets have three numbers; one more number is that of the argument types.
    types = _names(words[row[-1]]) if len(row) % 3 else ()
    within, into = _names(words[row[2]]), _target(row[6:9] if len(row) >= 9 else [], words)
    return Reference(REFERENCE_KINDS[kind], row[1], target, within, into, counted - 1 if counted else None, types)
