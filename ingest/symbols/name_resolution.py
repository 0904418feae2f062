"""Finds what a name means as far as its own file says."""

from collections.abc import Sequence

from codequarry.ingest.symbols.naming_rules import ImportedName, Names, NamingRules
from codequarry.ingest.symbols.scopes import Binding, Defined, Local, ScopeTree
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
        self, scopes: ScopeTree, rules: NamingRules, path: str, own_module: str, stars: Sequence[str]
    ) -> None:
        """``stars`` are the modules of which the file at ``path`` imports every name."""
        self._path = path
        self.scopes = scopes
        self._rules = rules
        self._own_module = own_module
        self._stars = "|".join(stars[:_MAX_STARS])

    def reference(self, names: Names, at: int) -> Target | None:
        """Return what a reference at a byte means, or None if it is to a local value, or to a built-in name."""
        target = self._reference(names, at)
        return None if target is not None and target.module == _BUILT_IN else target

    def _reference(self, names: Names, at: int) -> Target | None:
        head = names[0]
        if len(names) > 1 or head in self._rules.self_names or head in self._rules.super_names:
            return self.resolve(names, at)
        found = self._lookup(head, at)
        is_qualifier = isinstance(found, ImportedName) and found.package
        return None if is_qualifier or isinstance(found, Local) else self._meaning(found, names, at, 0)

    def resolve(self, names: Names, at: int, depth: int = 0) -> Target | None:
        """Return the target of an expression at a byte; a local value counts as its type, or else as the value."""
        head, rest = names[0], names[1:]
        if len(names) > _MAX_NAMES or depth > _MAX_LOCALS or head == UNKNOWN:
            return self._unknown(rest)
        if head in self._rules.self_names or head in self._rules.super_names:
            return self._of_own_type(head, rest, at)
        if head in self._rules.module_words:
            return self._in_written_module(names, at)
        return self._meaning(self._lookup(head, at), names, at, depth)

    def _meaning(self, found: Binding | None, names: Names, at: int, depth: int) -> Target | None:
        rest = names[1:]
        if isinstance(found, Local):
            return self._of_local(found, rest, depth)
        if isinstance(found, Defined):
            return Target("scope", "", (*found.path, *rest))
        if isinstance(found, ImportedName):
            return _imported(found, rest)
        return self._of_free_name(names, at)

    def _lookup(self, name: str, at: int) -> Binding | None:
        rules = self._rules
        return self.scopes.lookup(name, at, in_members=rules.sees_members, directly=not rules.qualifies_members)

    def _of_own_type(self, head: str, rest: Names, at: int) -> Target | None:
        own = self.scopes.type_around(at)
        if own is None or not own.path:
            return self._unknown(rest)
        bound = self._lookup(own.path[-1], at) if head in self._rules.self_names else None
        if isinstance(bound, ImportedName):
            # A block that adds to a type from elsewhere.
            return _imported(bound, rest)
        if isinstance(bound, Local):
            # One that adds to every type with a trait.
            return self._of_local(bound, rest, 0)
        up = (SUPER,) if head in self._rules.super_names else ()
        return Target("scope", "", (*own.path, *up, *rest) if rest else own.path)

    def _in_written_module(self, names: Names, at: int) -> Target | None:
        found = self._rules.written_module(names, self.scopes.modules_around(at), self._path)
        return Target("import", *found) if found is not None and found[1] else None

    def _of_local(self, local: Local, rest: Names, depth: int) -> Target | None:
        if local.type is None:
            return self._unknown(rest)
        target = self.resolve(local.type, local.at, depth + 1)
        # The local itself is a value, not a symbol; its members are.
        if target is None or not rest:
            return self._unknown(rest) if target is None else target
        return Target(target.origin, target.module, (*target.names, *rest))

    def _of_free_name(self, names: Names, at: int) -> Target | None:
        """Return what a name means that nothing in the file binds."""
        if names[0] in self._rules.runtime:
            return None
        if names[0] in self._rules.builtin_types:
            return Target("import", _BUILT_IN, names)
        if names[0] in self._rules.builtins:
            return self._unknown(names[1:])
        own = self.scopes.type_around(at) if self._rules.sees_members else None
        if self._rules.sees_included:
            mark = OWN_TYPE + "::".join(own.path) if own is not None and own.path else ""
            return Target("import", "|".join(filter(None, (mark, self._stars))), names)
        if own is not None and own.path and len(names) == 1:
            return Target("scope", "", (*own.path, *names))
        found = self._in_written_module(names, at)
        if found is not None:
            return found
        if self._rules.sees_package:
            return Target("package", self._own_module, names)
        if self._stars:
            return Target("import", self._stars, names)
        return Target("name", "", names)

    def _unknown(self, rest: Names) -> Target | None:
        return Target("name", "", (UNKNOWN, *rest[-_MAX_NAMES:])) if rest else None


def _imported(found: ImportedName, rest: Names) -> Target:
    if found.member:
        return Target("import", found.module, (found.member, *rest))
    return Target("import", found.module, rest) if rest else Target("import", "", (found.module,))
