"""The scopes of a file: which names each binds, and what a name means at a place."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from codequarry.ingest.symbols.naming_rules import ImportedName, NameChain


@dataclass(slots=True)
class Local:
    """A local name or parameter, and the names of its type or value, which are read at byte ``at``.

    ``read`` returns these names if they have not been read; most locals' types are never asked for.
    """

    at: int
    names: NameChain | None = None
    place: Node | None = None
    read: Callable[[], NameChain | None] | None = None

    @property
    def type(self) -> NameChain | None:
        """The names of its type or value, if the file shows them."""
        if self.read is not None:
            self.names, self.read = self.read(), None
        return self.names


@dataclass(frozen=True, slots=True)
class Defined:
    """A name that the file defines, by its path and the node of the name."""

    path: NameChain
    place: Node | None = field(default=None, compare=False)


@dataclass(slots=True)
class Rebound:
    """A name that is bound again and again in one scope, by the bytes from which each local can be used."""

    starts: list[int]
    locals: list[Local]
    before: "Defined | ImportedName | None" = None

    def at(self, at: int) -> "Local | Defined | ImportedName | None":
        """Return what the name means at a byte."""
        index = bisect_right(self.starts, at) - 1
        return self.locals[index] if index >= 0 else self.before


Binding = Local | Defined | ImportedName


@dataclass(slots=True)
class Scope:
    """A byte range that binds names. ``path`` is that of the definition around it; ``of_members`` if it is a type."""

    start: int
    end: int
    path: NameChain
    of_members: bool
    is_module: bool = False
    is_lambda: bool = False
    """It is a function without a name, whose result is not that of the definition around it."""
    parent: "Scope | None" = None
    bindings: dict[str, Binding | Rebound] = field(default_factory=dict)

    def rebind(self, name: str, start: int, local: Local) -> None:
        """Bind a local that can be used from byte ``start``; locals must come in the order of these bytes."""
        known = self.bindings.get(name)
        if isinstance(known, Rebound):
            known.starts.append(start)
            known.locals.append(local)
        elif known is None or not isinstance(known, Local):
            self.bindings[name] = Rebound([start], [local], known)

    def outwards(self) -> "Iterator[Scope]":
        """Yield the scope and those around it, the innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


class ScopeTree:
    """The scopes of a file, found by place."""

    def __init__(self, scopes: Iterable[Scope], end: int) -> None:
        """Nest the scopes below one for the whole file, which ends at byte ``end``."""
        self.file = Scope(0, end, (), of_members=False)
        self._scopes = [self.file, *sorted(scopes, key=lambda scope: (scope.start, -scope.end))]
        open_scopes = [self.file]
        for scope in self._scopes[1:]:
            while open_scopes[-1].end < scope.end:
                open_scopes.pop()
            scope.parent = open_scopes[-1]
            open_scopes.append(scope)
        self._starts = [scope.start for scope in self._scopes]
        self._found = (-1, self.file)
        self._types: dict[NameChain, Scope] | None = None

    @property
    def nested(self) -> list[Scope]:
        """All scopes, each after the scopes around it."""
        return self._scopes

    def members_of(self, path: NameChain) -> Scope | None:
        """Return the first scope of the type with a path."""
        if self._types is None:
            self._types = {scope.path: scope for scope in reversed(self._scopes) if scope.of_members}
        return self._types.get(path)

    def definition_around(self, at: int) -> NameChain:
        """Return the path of the innermost definition around a byte, or nothing at the top of the file."""
        return self.around(at).path

    def around(self, at: int) -> Scope:
        """Return the innermost scope around a byte."""
        known, found = self._found
        if at == known:  # what a name means is asked in several steps
            return found
        # Written as a loop, like `lookup`: both are called for every name, and a generator takes a third more time.
        scope: Scope | None = self._scopes[bisect_right(self._starts, at) - 1]
        while scope is not None and at >= scope.end:
            scope = scope.parent
        self._found = (at, scope or self.file)
        return self._found[1]

    def modules_around(self, at: int) -> NameChain:
        """Return the path of the innermost module inside the file around a byte."""
        return next((scope.path for scope in self.around(at).outwards() if scope.is_module), ())

    def types_around(self, at: int) -> Iterator[Scope]:
        """Yield the types around a byte, the innermost first."""
        return (scope for scope in self.around(at).outwards() if scope.of_members)

    def lookup(self, name: str, at: int, *, in_members: bool, directly: bool = True) -> Binding | None:
        """Return what a name means at a byte; members of types count only ``directly`` inside, or with ``in_members``.

        The other names that a type binds, its type parameters, count everywhere inside.
        """
        scope: Scope | None = self.around(at)
        innermost = directly
        while scope is not None:
            found = scope.bindings.get(name)
            if found is not None:
                bound = found.at(at) if isinstance(found, Rebound) else found
                seen = innermost or in_members or not scope.of_members or isinstance(bound, Local)
                if bound is not None and seen:
                    return bound
            innermost = False
            scope = scope.parent
        return None
