"""Finds what a name means as far as its own file says."""

from collections.abc import Sequence

from codequarry.ingest.symbols.naming_rules import ImportedName, NameChain, NamingRules
from codequarry.ingest.symbols.scopes import Binding, Defined, Local, Scope, ScopeTree
from codequarry.shared.relations import OWN_TYPE, SUPER, UNKNOWN, Target

# `a = b.c(); d = a.e(); f = d.g()`: a longer chain of locals says little that is certain.
_MAX_LOCALS = 5
# A longer path is not resolved when someone asks either.
_MAX_NAMES = 8
# Targets list the modules of which every name is imported; more say little.
_MAX_STARS = 20
# No file of a repository is this module.
_BUILT_IN = "<built-in>"


class NameResolution:
    """Resolves the names of one file."""

    def __init__(
        self, scopes: ScopeTree, rules: NamingRules, data: bytes, path: str, own_module: str, stars: Sequence[str]
    ) -> None:
        """``stars`` are the modules of which the file at ``path`` imports every name."""
        self._data = data
        self._path = path
        self.scopes = scopes
        self._rules = rules
        self._stars = "|".join(stars[:_MAX_STARS])
        self._seen = "|".join(filter(None, (own_module, self._stars)))

    def reference(self, names: NameChain, at: int, *, of_head: bool = False) -> Target | None:
        """Return what a reference at a byte means, or None if it is to a local value, or to a built-in name.

        With ``of_head``, it stands in the head of a type, where the members of the type are not yet known.
        """
        target = self._reference(names, at, of_head=of_head)
        return None if target is not None and target.module == _BUILT_IN else target

    def _reference(self, names: NameChain, at: int, *, of_head: bool) -> Target | None:
        head, rules = names[0], self._rules
        if len(names) > 1:
            return self.resolve(names, at, of_head=of_head)
        if head in rules.self_names or head in rules.super_names:
            # A bare `self` is a value; Rust's `Self` is a type.
            return self.resolve(names, at) if head in rules.self_names and not head.islower() else None
        found = self._lookup(head, at)
        is_qualifier = isinstance(found, ImportedName) and found.package
        if is_qualifier or isinstance(found, Local):
            return None
        return self._meaning(found, names, at, 0, of_head=of_head)

    def resolve(self, names: NameChain, at: int, depth: int = 0, *, of_head: bool = False) -> Target | None:
        """Return the target of an expression at a byte; a local value counts as its type, or else as the value."""
        head, rest = names[0], names[1:]
        if len(names) > _MAX_NAMES or depth > _MAX_LOCALS or head == UNKNOWN:
            return self._unknown(rest)
        if head in self._rules.self_names or head in self._rules.super_names:
            return self._of_own_type(head, rest, at, depth)
        if head in self._rules.module_words:
            return self._in_written_module(names, at)
        return self._meaning(self._lookup(head, at), names, at, depth, of_head=of_head)

    def declared_type(self, name: str, at: int) -> str:
        """Return the type with which the local or member that a name means at a byte is declared, or nothing."""
        found = self._lookup(name, at)
        if isinstance(found, ImportedName) or found is None or found.place is None:
            return ""
        return self._rules.declared_type(found.place, self._data)

    def _meaning(self, found: Binding | None, names: NameChain, at: int, depth: int, *, of_head: bool) -> Target | None:
        rest = names[1:]
        if isinstance(found, Local):
            return self._of_local(found, rest, depth)
        if isinstance(found, Defined):
            return Target("scope", "", (*found.path, *rest))
        if isinstance(found, ImportedName):
            return _imported(found, rest)
        return self._of_free_name(names, at, of_head=of_head)

    def _lookup(self, name: str, at: int) -> Binding | None:
        rules = self._rules
        return self.scopes.lookup(name, at, in_members=rules.sees_members, directly=not rules.qualifies_members)

    def _of_own_type(self, head: str, rest: NameChain, at: int, depth: int) -> Target | None:
        own = self._type_around(at, of_head=False)
        beside = self.scopes.file.bindings.get(rest[0]) if own is None and rest else None
        if isinstance(beside, Defined):
            # A method of an object that has no name, such as the exports of a module.
            return Target("scope", "", (*beside.path, *rest[1:]))
        if own is None or not own.path:
            return self._unknown(rest)
        bound = self._lookup(own.path[-1], at) if head in self._rules.self_names else None
        if isinstance(bound, ImportedName):
            # A block that adds to a type from elsewhere.
            return _imported(bound, rest)
        if isinstance(bound, Local):
            # One that adds to every type with a trait.
            return self._of_local(bound, rest, depth)
        up = (SUPER,) if head in self._rules.super_names else ()
        return Target("scope", "", (*own.path, *up, *rest) if rest else own.path)

    def _in_written_module(self, names: NameChain, at: int) -> Target | None:
        found = self._rules.written_module(names, self.scopes.modules_around(at), self._path)
        return Target("import", *found) if found is not None and found[1] else None

    def _of_local(self, local: Local, rest: NameChain, depth: int) -> Target | None:
        if local.type is None:
            return self._unknown(rest)
        target = self.resolve(local.type, local.at, depth + 1)
        # The local itself is a value, not a symbol; its members are.
        if target is None or not rest:
            return self._unknown(rest) if target is None else target
        return Target(target.origin, target.module, (*target.names, *rest))

    def _of_free_name(self, names: NameChain, at: int, *, of_head: bool) -> Target | None:
        """Return what a name means that nothing in the file binds."""
        if names[0] in self._rules.runtime:
            return None
        if names[0] in self._rules.builtin_types:
            return Target("import", _BUILT_IN, names)
        if names[0] in self._rules.builtins:
            return self._unknown(names[1:])
        own = self._type_around(at, of_head=of_head) if self._rules.sees_members else None
        if self._rules.sees_included:
            mark = OWN_TYPE + "::".join(own.path) if own is not None and own.path else ""
            return Target("import", "|".join(filter(None, (mark, self._stars))), names)
        modules = self._modules_of(names) if self._rules.sees_package else ""
        if own is not None and own.path and (modules or len(names) == 1):
            return Target("scope", modules, (*own.path, *names))
        found = self._in_written_module(names, at)
        if found is not None:
            return found
        if self._rules.sees_package:
            return Target("package", modules, names)
        if self._stars:
            return Target("import", self._stars, names)
        return Target("name", "", names)

    def _type_around(self, at: int, *, of_head: bool) -> Scope | None:
        """Return the type around a place; the head of a type is outside of it."""
        scope: Scope | None = self.scopes.around(at)
        while scope is not None and (of_head or not scope.of_members):
            of_head = of_head and not scope.of_members
            scope = scope.parent
        return scope

    def _modules_of(self, names: NameChain) -> str:
        """Return the modules whose names a file sees; no module at all if the names may begin with one."""
        return f"{self._seen}|" if self._seen and len(names) > 2 and names[0].islower() else self._seen

    def _unknown(self, rest: NameChain) -> Target | None:
        return Target("name", "", (UNKNOWN, *rest[-_MAX_NAMES:])) if rest else None


def _imported(found: ImportedName, rest: NameChain) -> Target:
    if found.member:
        return Target("import", found.module, (found.member, *rest))
    return Target("import", found.module, rest) if rest else Target("import", "", (found.module,))
